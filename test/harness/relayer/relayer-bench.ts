import { createPublicClient, http, type PublicClient } from 'viem';
import { generatePrivateKey } from 'viem/accounts';
import { createRelayNode } from '../../../core/adapters/evm/relay-node.js';
import { systemClock } from '../../../core/adapters/system/clock.js';
import type { OpenIntent } from '../../../core/domain/intent.js';
import { encodeIntent, wrapFor } from '../../../core/trading/encode-intent.js';
import type { ChainSlug } from '../../../core/chains/chains.js';
import { LOOK_MS } from '../../../core/trading/due-work.js';
import type { Gateway } from '../../../core/gateway.js';
import type { Clock } from '../../../core/ports/clock.js';
import type { Address, Hex } from '../../../core/types.js';
import type { Refusal, RelayJob, RelayStore, SignedAction } from '../../../core/ports/stores/relay.js';
import type { SwitchStore } from '../../../core/ports/stores/switches.js';
import type { RelayNode, SigningPolicy } from '../../../core/ports/relayer.js';
import { createRelayer, type RunningRelayer } from '../../../relayer/create-relayer.js';
import { LANE_WAITS, type LaneWaits } from '../../../core/config/relayer.js';
import type { LaneOptions, SignedJob } from '../../../relayer/lane-options.js';
import { createWallet } from '../../../relayer/wallet.js';
import type { ChainControls } from '../../../sandbox/controls.js';
import { newTrader, type ChainTrader } from '../traders/chain-trader.js';
import { createRecordedLog, type RecordedLog } from '../checks/recorded-log.js';
import { storeAction } from '../hyperliquid/store-action.js';
import { eventually } from '../time/eventually.js';

/** A relayer wallet of its own on a running sandbox chain, with a trader who has delegated to it. */
export interface RelayBench {
  readonly wallet: Address;
  readonly trader: ChainTrader;
  readonly client: PublicClient;
  readonly node: RelayNode;
  readonly log: RecordedLog;
  readonly store: RelayStore;
  /** Runs until it is stopped; parts may be replaced by faulty ones. */
  start(parts?: Partial<Parts>): BenchRelayer;
  /** A resting order that nothing will trigger; each has a price of its own, so no two calls are alike. */
  orderCall(of?: Address): Hex;
  action(): Promise<SignedAction>;
  nonce(): Promise<number>;
  /** The same key in other hands: a transaction that is none of ours, mined when it resolves unless nothing is mined. */
  outside(nonce: number, maxFeePerGas?: bigint): Promise<Hex>;
  /** Transactions of the wallet in the chain, by nonce. */
  minedHashes(jobs: readonly RelayJob[]): Promise<Hex[]>;
}

interface BenchRelayer extends RunningRelayer {
  /** For a relayer whose calls hang, as in a crashed process: it gets no more reports, and its end is not awaited. */
  abandon(): void;
}

interface Parts {
  readonly node: RelayNode;
  readonly store: RelayStore;
  readonly clock: Clock;
  readonly waits: Partial<LaneWaits>;
  readonly maxFeePerGas: bigint;
  readonly reencode: SigningPolicy['reencode'];
  readonly verify: NonNullable<SigningPolicy['verify']>;
  readonly onForged: (job: RelayJob, refusal: Refusal) => Promise<void>;
  readonly onSigned: (signed: readonly SignedJob[]) => Promise<void>;
  readonly dailyBudget: bigint;
  readonly switches: SwitchStore;
  readonly continuity: NonNullable<LaneOptions['continuity']>;
  readonly recovery: NonNullable<LaneOptions['recovery']>;
  readonly onUnexplained: NonNullable<LaneOptions['onUnexplained']>;
}

const GWEI = 1_000_000_000n;

export async function relayBench(chain: ChainControls, gateway: Pick<Gateway, 'store' | 'bus'>, { eth = '10' } = {}): Promise<RelayBench> {
  const key = generatePrivateKey();
  const signer = createWallet(key);
  if (eth !== '0') await chain.faucet.fund(signer.address, { eth });
  const trader = await newTrader(chain, { delegate: signer.address });
  const address = trader.account.address.toLowerCase() as Address;
  const client = createPublicClient({ transport: http(chain.rpcUrl, { retryCount: 0, timeout: 60_000, batch: true }), cacheTime: 0 });
  const node = createRelayNode(client);
  const log = createRecordedLog();
  const { slug } = chain.definition;
  const { store: books } = gateway;
  const store = books.relay;
  let price = 100_000_000_000_000n;
  let actions = 0n;

  const usdc = chain.collaterals.find(({ symbol }) => symbol === 'USDC')?.index ?? 1;
  const inner = (of = address): Hex => encodeIntent(restingOrder((price += 1_000_000_000n), usdc), of);
  const innerOf = (job: RelayJob): Hex[] => (typeof job.context === 'string' ? [job.context as Hex] : []);

  return {
    wallet: signer.address,
    trader,
    client,
    node,
    log,
    store,
    start: (parts = {}) => {
      const relayer = createRelayer({
        definition: chain.definition,
        wallets: [signer],
        delegateOf: () => Promise.resolve(signer.address),
        node: parts.node ?? node,
        store: parts.store ?? store,
        clock: parts.clock ?? systemClock,
        log,
        settings: {
          ...LANE_WAITS,
          stuckMs: 2_000,
          ...parts.waits,
          maxFeePerGas: parts.maxFeePerGas ?? 500n * GWEI,
          maxGas: 5_000_000n,
          reencode: parts.reencode ?? ((_action, job) => Promise.resolve(innerOf(job))),
          ...(parts.verify && { verify: parts.verify }),
        },
        ...(parts.onForged && { onForged: parts.onForged }),
        onSigned: parts.onSigned ?? (() => Promise.resolve()),
        onRefused: () => Promise.resolve(),
        ...(parts.dailyBudget === undefined ? {} : { dailyBudget: parts.dailyBudget }),
        switches: parts.switches ?? null,
        ...(parts.continuity && { continuity: parts.continuity }),
        ...(parts.recovery && { recovery: parts.recovery }),
        ...(parts.onUnexplained && { onUnexplained: parts.onUnexplained }),
      });
      relayer.start();
      return withReports(relayer, gateway, slug, parts.clock ?? systemClock);
    },
    orderCall: inner,
    action: () =>
      storeAction(books, {
        chain: slug,
        signer: signer.address,
        trader: address,
        envelope: '{}',
        actionHash: `0x${'00'.repeat(32)}`,
        form: 'canonical',
        network: 'a',
        nonce: (actions += 1n),
        receivedAt: systemClock.now(),
      }),
    async outside(nonce, maxFeePerGas = 100n * GWEI) {
      const fees = { maxFeePerGas, maxPriorityFeePerGas: 10n * GWEI };
      const { chainId } = chain.definition;
      const { raw, hash } = await signer.sign({ chainId, nonce, to: signer.address, data: '0x', gas: 100_000n, ...fees });
      expect(await node.send(raw)).toEqual({ verdict: 'accepted', note: null });
      return hash;
    },
    nonce: () => client.getTransactionCount({ address: signer.address }),
    async minedHashes(jobs) {
      const hashes = jobs.flatMap(({ attempts }) => attempts.map(({ hash }) => hash));
      const receipts = await node.receipts(hashes);
      return receipts.flatMap((receipt) => (receipt ? [receipt.hash] : []));
    },
  };
}

/** Reports due work and new blocks to the relayer, as the service does. */
function withReports(relayer: RunningRelayer, { store, bus }: Pick<Gateway, 'store' | 'bus'>, slug: ChainSlug, clock: Clock): BenchRelayer {
  const look = async (): Promise<void> => {
    const askedAt = clock.monotonic();
    const due = await store.due(slug, relayer.wallets(), clock.now()).catch(() => null);
    if (due) relayer.onDue({ askedAt, due });
  };
  let looking = Promise.resolve();
  const cancelLooks = clock.every(LOOK_MS, () => void (looking = looking.then(look)));
  const cancelHeads = bus.on('head', ({ venue }) => {
    if (venue.definition.slug === slug) relayer.onHead();
  });
  const endReports = (): void => {
    cancelLooks();
    cancelHeads();
  };
  return {
    ...relayer,
    abandon() {
      endReports();
      void relayer.stop();
    },
    async stop() {
      endReports();
      await looking;
      await relayer.stop();
    },
  };
}

/** The request for one order call of the bench's trader. */
export async function requestOf(bench: RelayBench, changes: { notAfter?: number | null; inner?: Hex } = {}) {
  const trader = bench.trader.account.address.toLowerCase() as Address;
  const inner = changes.inner ?? bench.orderCall();
  const { id } = await bench.action();
  return {
    trader,
    purpose: 'action' as const,
    parent: id,
    orderId: null,
    data: wrapFor(bench.wallet, trader, inner),
    gas: 3_000_000n,
    context: inner,
    notAfter: changes.notAfter ?? null,
  };
}

const restingOrder = (price: bigint, collateralIndex: number): OpenIntent => ({
  kind: 'open',
  type: 'limit',
  pairIndex: 0,
  collateralIndex,
  long: true,
  leverage: 10_000n,
  collateralAmount: 100_000_000n,
  price,
  tp: 0n,
  sl: 0n,
  slippageP: 1_000n,
});

/** A lane finds that it is well in a round after the one in which its job was mined. */
export async function whenHealed(relayer: Pick<RunningRelayer, 'laneProblem'>, { wallet }: RelayBench): Promise<void> {
  await eventually(
    () => relayer.laneProblem(wallet),
    (problem) => problem === null,
  );
}
