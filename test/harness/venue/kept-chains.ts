import { createRequire } from 'node:module';
import type * as Edr from '@nomicfoundation/edr';
import { systemClock } from '../../../core/adapters/system/clock.js';
import { sandboxAccounts } from '../../../sandbox/accounts.js';
import { createChainNode } from '../../../sandbox/chain/node.js';
import { SANDBOX_MARKETS } from '../../../sandbox/markets.js';
import { seedChain } from '../../../sandbox/seed-chain.js';
import { createSender } from '../../../sandbox/sender.js';
import type { SandboxSettings } from '../../../sandbox/settings.js';
import { createRecordedLog } from '../checks/recorded-log.js';

type Definition = SandboxSettings['SANDBOX_CHAINS'][number];

/** A chain of the engine with the contracts on it; the snapshot is the state in which every venue gets it. */
interface KeptChain {
  readonly provider: Edr.Provider;
  snapshot: string;
}

/**
 * The venues of a worker use the same chains one after the other: putting the contracts on a new one takes longer than the rest of a start.
 * Each venue finds its chain as it was before any other used it.
 */
const idle = new Map<string, KeptChain[]>();
/** The chains that the venue which is being started takes, in order; null: it makes new ones. */
let handedOut: Edr.Provider[] | null = null;
let made: Edr.Provider | null = null;
let starts: Promise<unknown> = Promise.resolve();

const edr = createRequire(import.meta.url)('@nomicfoundation/edr') as typeof Edr;
// oxlint-disable-next-line typescript/unbound-method -- called as a method of a context
const create = edr.EdrContext.prototype.createProvider;
edr.EdrContext.prototype.createProvider = async function takeOrCreate(this: Edr.EdrContext, ...given) {
  return handedOut?.shift() ?? (made = await create.apply(this, given));
};

export interface OnKeptChains<Started> {
  readonly started: Started;
  /** After the venue has ended. */
  readonly giveBack: () => Promise<void>;
}

/** Starts a venue on chains that are kept. Starts wait for each other, so that each gets its own. */
export function onKeptChains<Started>(settings: SandboxSettings, start: () => Promise<Started>): Promise<OnKeptChains<Started>> {
  const turn = starts.then(async () => {
    const taken: { readonly key: string; readonly chain: KeptChain }[] = [];
    for (const definition of settings.SANDBOX_CHAINS) {
      const key = `${settings.SANDBOX_SEED} ${definition.slug}`;
      taken.push({ key, chain: idle.get(key)?.pop() ?? (await makeChain(definition, settings.SANDBOX_SEED)) });
    }
    handedOut = taken.map(({ chain }) => chain.provider);
    // A chain whose last block is old counts as one that has stopped.
    for (const provider of handedOut) await request(provider, 'evm_mine', [`0x${Math.floor(systemClock.now() / 1000).toString(16)}`]);
    try {
      const started = await start();
      const giveBack = async (): Promise<void> => {
        for (const { key, chain } of taken.splice(0)) {
          await goBack(chain);
          idle.set(key, [...(idle.get(key) ?? []), chain]);
        }
      };
      return { started, giveBack };
    } finally {
      handedOut = null;
    }
  });
  starts = turn.catch(() => undefined);
  return turn;
}

async function makeChain(definition: Definition, seed: string): Promise<KeptChain> {
  const [accounts, clock, log] = [sandboxAccounts(seed), systemClock, createRecordedLog()];
  const node = await createChainNode({ chainId: definition.chainId, balances: new Map(), clock, log, paused: true });
  try {
    const operator = createSender(node, definition.chainId, accounts.operator.signer, 'rich');
    await seedChain({ definition, accounts, clock, progress: { step: () => undefined }, markets: SANDBOX_MARKETS, node, operator });
  } finally {
    await node.close();
  }
  if (made === null) throw new Error('the node has made no chain');
  return { provider: made, snapshot: (await request(made, 'evm_snapshot')) as string };
}

/** A snapshot that was gone back to is used up. */
async function goBack(chain: KeptChain): Promise<void> {
  await request(chain.provider, 'evm_revert', [chain.snapshot]);
  chain.snapshot = (await request(chain.provider, 'evm_snapshot')) as string;
}

async function request(provider: Edr.Provider, method: string, params: readonly unknown[] = []): Promise<unknown> {
  const { data } = await provider.handleRequest(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
  const answer = (typeof data === 'string' ? JSON.parse(data) : data) as { readonly result?: unknown };
  if (answer.result === undefined || answer.result === false) throw new Error(`${method}: ${JSON.stringify(answer)}`);
  return answer.result;
}
