import type { Crypto } from '../../core/access/signature.js';
import { loadNativeSigning } from '../../core/adapters/crypto/load-crypto.js';
import type { ChainDefinition, ChainSlug } from '../../core/chains/chains.js';
import { ConfigError } from '../../core/config/config.js';
import type { ChainConfig } from '../../core/config/chain.js';
import type { FacadeSettings } from '../../core/config/facade.js';
import { GatewayError } from '../../core/errors.js';
import { isOutdated } from '../../core/domain/contract-doubt.js';
import { haltOfOpenings, isServed, onVenue, type Gateway, type Venue, type VenueState } from '../../core/gateway.js';
import { type Metrics, measureRelay } from '../../core/observability/metrics.js';
import type { Chain } from '../../core/ports/chain.js';
import type { MarketFeed } from '../../core/ports/feed.js';
import type { Store } from '../../core/ports/store.js';
import type { Logger } from '../../core/ports/log.js';
import type { Clock } from '../../core/ports/clock.js';
import type { Alerts } from '../../core/observability/alerts/alerts.js';
import {
  alertBudget,
  alertForeign,
  alertForgedJob,
  alertKeys,
  alertQuota,
  alertUnexplained,
  recoverBudget,
} from '../../core/observability/alerts/raise.js';
import { traceRelay } from '../../core/observability/trace-relay.js';
import { setClosingSlippages } from '../../facade/trade/background/set-closing-slippages.js';
import { GWEI, LANE_DEFAULTS, type RelayerConfig } from '../../core/config/relayer.js';
import { reclaimLost } from '../../facade/trade/background/reclaim-lost.js';
import { runScheduledCancels } from '../../facade/trade/background/schedule-cancels.js';
import type { Relayer, RelayNode, WalletAdoption } from '../../core/ports/relayer.js';
import type { Tracer } from '../../core/observability/tracing.js';
import type { OpeningFacts } from '../../facade/trade/opening-bounds.js';
import { standingJobs } from '../../facade/trade/standing-jobs.js';
import { createSigningPolicy } from '../../facade/trade/signing-policy.js';
import { policyOf } from '../../core/config/summary.js';
import type { RelayStore } from '../../core/ports/stores/relay.js';
import { createRelayer, followOrders, type RunningRelayer } from '../../relayer/create-relayer.js';
import { openWallets } from '../../relayer/open-wallets.js';
import { createWalletAdoption, type WalletAdoptionOptions } from '../../relayer/wallet-adoption.js';
import { createSigningGuard } from '../../relayer/policy.js';
import type { Wallet } from '../../relayer/wallet.js';

export type WalletsOfChains = ReadonlyMap<ChainSlug, readonly Wallet[]>;

/** Opens the wallets of every chain before anything is started; all problems are reported at once. */
export async function openRelayers(
  chains: readonly ChainConfig[],
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
): Promise<WalletsOfChains> {
  const curve = await loadNativeSigning();
  const opened = await Promise.all(
    chains.map(async ({ chain: { slug }, relayer }) => {
      for (const warning of relayer?.warnings ?? []) log.warn('relay.config', { chain: slug, warning });
      const own = log.child({ chain: slug });
      return { slug, ...(relayer ? await openWallets(relayer, { clock, log: own, curve }) : { wallets: [], problems: [] }) };
    }),
  );
  const problems = opened.flatMap((each) => each.problems);
  if (problems.length > 0) throw new ConfigError(problems);
  return new Map(opened.map(({ slug, wallets }) => [slug, wallets]));
}

interface Parts {
  readonly chain: ChainDefinition & { readonly slug: ChainSlug };
  readonly wallets: readonly Wallet[];
  readonly node: Chain;
  readonly store: Store;
  /** Market data and the configured referrer, with which openings are measured again. */
  readonly opening: OpeningFacts & { readonly feed: Pick<MarketFeed, 'price'> };
  /** The configured rules for traders, and what a scheduled cancel may do. */
  readonly facade: Pick<FacadeSettings, 'rules' | 'flattens'>;
  readonly alerts: Alerts;
  readonly metrics: Pick<Metrics, 'took'>;
  readonly tracer: Tracer | null;
  /** Recovers signers of stored actions. */
  readonly crypto: Crypto;
  readonly clock: Clock;
  readonly log: Logger;
  /** What is known of the contract. */
  readonly state: VenueState;
}

/** More than any trading call takes, far less than would empty a wallet. */
const MAX_GAS = 8_000_000n;

export function composeRelayer(
  { maxFeePerGas, dailyBudget = 'unlimited', lane = LANE_DEFAULTS, areDrillsAllowed = false }: RelayerConfig,
  { chain, wallets, node, store, opening, facade, alerts, metrics, tracer, crypto, clock, log, state }: Parts,
): RunningRelayer {
  const { slug } = chain;
  log.info('relay.policy', policyOf(facade.rules, { maxFeePerGas, dailyBudget }));
  return createRelayer({
    definition: chain,
    dailyBudget,
    budgetEvents: {
      onReached: (used) => alertBudget(alerts, chain, used),
      onLeft: (wallet) => recoverBudget(alerts, chain, wallet),
    },
    ...tracedParts(wallets, measureRelay(alertKeys(store.relay, alerts), metrics, clock), node.relay, tracer),
    delegateOf: (trader) => node.delegateOf(trader),
    onForged: (job, { note }) => alertForgedJob(alerts, chain, job, { note, at: clock.now() }),
    onUnexplained: (wallet, nonces) => alertUnexplained(alerts, chain, wallet, { nonces, at: clock.now() }),
    onForeign: (wallet, transactions) => alertForeign(alerts, chain, wallet, { transactions, at: clock.now() }),
    standing: (jobs) => standingJobs(node, jobs, (pairIndex) => currentPrice(opening.feed, pairIndex)),
    switches: store.switches,
    continuity: store.continuity,
    recovery: { store: store.recovery, history: node.sent, index: store.tracking },
    areDrillsAllowed,
    clock,
    log,
    settings: {
      maxFeePerGas,
      maxTipPerGas: BigInt(chain.maxTipGwei) * GWEI,
      maxGas: MAX_GAS,
      ...lane.waits,
      isUncertain: () => state.contract === null || isOutdated(state.contract, state.checked),
      haltOfOpenings: () => haltOfOpenings({ state }),
      serves: (selector) => isServed(state, selector),
      guard: createSigningGuard({
        store: store.rules,
        rules: facade.rules,
        onQuota: (trader, reached) => alertQuota(alerts, chain, trader, reached),
      }),
      ...createSigningPolicy({ store, chain, crypto, flattens: facade.flattens, opening, clock }),
    },
    ...followOrders(store.orders, slug, clock),
  });
}

/** Null where the feed has none or a stale one: a close is not refused for that. */
function currentPrice(feed: Pick<MarketFeed, 'price'>, pairIndex: number): bigint | null {
  try {
    return feed.price(pairIndex).oracle;
  } catch (error) {
    if (error instanceof GatewayError) return null;
    throw error;
  }
}

/** The relayer's dependencies; with a tracer each step is a span below the request that caused it. */
function tracedParts(wallets: readonly Wallet[], store: RelayStore, node: RelayNode, tracer: Tracer | null) {
  if (tracer === null) return { wallets, store, node };
  const steps = traceRelay(store, node, tracer);
  const signing = wallets.map((wallet): Wallet => ({
    ...wallet,
    sign: (transaction) => steps.sign(wallet.address, transaction.nonce, () => wallet.sign(transaction)),
  }));
  return { wallets: signing, store: steps.store, node: steps.node };
}

const isRunning = (relayer: Relayer | null): relayer is RunningRelayer => relayer !== null && 'start' in relayer;

export function adoptWallets({
  chain: { slug, diamond },
  wallets,
  node,
  store,
  ...rest
}: Pick<WalletAdoptionOptions, 'adoptsAll' | 'clock' | 'log'> & Pick<Parts, 'chain' | 'wallets' | 'node' | 'store'>): WalletAdoption {
  const addresses = wallets.map(({ address }) => address);
  return createWalletAdoption({
    ...rest,
    slug,
    wallets: addresses,
    store: store.relay,
    node: node.relay,
    history: node.sent,
    diamond,
  });
}

/** Runs the relayer as soon as no wallet waits to be adopted. */
export function runRelayer(gateway: Gateway, venue: Venue, settings = LANE_DEFAULTS): () => Promise<void> {
  let stop = (): Promise<void> => Promise.resolve();
  const cancel = venue.adoption?.whenSettled(() => (stop = sendUntilStopped(gateway, venue, settings)));
  return async () => {
    cancel?.();
    await stop();
  };
}

/** Checks for receipts with every block. */
function sendUntilStopped(gateway: Gateway, venue: Venue, { isReclaiming }: typeof LANE_DEFAULTS): () => Promise<void> {
  const { relayer } = venue;
  if (!isRunning(relayer)) return () => Promise.resolve();
  relayer.start();
  const stopHeads = onVenue(gateway, venue, 'head', relayer.onHead);
  const stopLooks = onVenue(gateway, venue, 'due', relayer.onDue);
  const stopSchedules = runScheduledCancels(gateway, venue);
  const stopReclaims = isReclaiming ? reclaimLost(gateway, venue) : () => undefined;
  const stopClosingSlippages = setClosingSlippages(gateway, venue);
  return async () => {
    stopHeads();
    stopLooks();
    stopSchedules();
    stopReclaims();
    stopClosingSlippages();
    await relayer.stop();
  };
}
