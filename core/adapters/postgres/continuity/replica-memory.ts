import type { Address } from '../../../types.js';
import type { ChainSlug } from '../../../chains/chains.js';
import { walletKey } from '../../../ports/stores/continuity.js';

/** What the database acknowledged to this replica. Nothing else outlives a database that forgets. */
export interface ReplicaMemory {
  action(id: bigint, hash: string, at: number): void;
  signerNonce(signer: Address, nonce: bigint, at: number): void;
  /** A nonce of the native API, which the database keeps until `keepUntil`. */
  nativeNonce(nonce: RememberedNonce, at: number): void;
  /** It was given back: its request may come again. */
  dropNativeNonce(nonce: Pick<RememberedNonce, 'chain' | 'credential' | 'nonce'>): void;
  /** A registration or revocation of an agent of the native API. */
  agent(agent: RememberedAgent, at: number): void;
  /** It was removed, or may have been. */
  dropAgent(agent: Pick<RememberedAgent, 'chain' | 'agent'>): void;
  /** An order that was placed, by the tag of its call data, which no other order ever has. */
  order(order: RememberedOrder, at: number): void;
  /** A job of the relayer, with its nonce if it has one. */
  job(job: RememberedJob, at: number): void;
  journalEntry(entry: RememberedEntry, at: number): void;
  /** Whether anything that was acknowledged lately could be lost. */
  isEmpty(now: number): boolean;
  /** The next value of this replica's counter row. */
  nextCounter(): bigint;
  counted(counter: bigint, at: number): void;
  /** The last acknowledged counter; 0 before the first. */
  counter(): bigint;
  /** When the first counter above this was acknowledged; null if none is remembered. */
  countedAfter(counter: bigint): number | null;
  /** Of each wallet, by `walletKey`. */
  walletNonces(): Record<string, number>;
  newest(): Remembered;
  /** What was lost is over: the database is believed as it is now. */
  forget(): void;
}

export interface RememberedJob {
  readonly id: bigint;
  readonly chain: ChainSlug;
  readonly wallet: Address;
  readonly nonce: number | null;
  readonly hash: string | null;
}

export interface RememberedEntry {
  readonly chain: ChainSlug;
  readonly trader: Address;
  readonly cursor: bigint;
  /** The entry's own time: after a loss another entry may have the cursor. */
  readonly entryAt: number;
}

export interface RememberedOrder {
  readonly chain: ChainSlug;
  readonly tag: string;
}

export interface RememberedNonce {
  readonly chain: ChainSlug;
  readonly credential: string;
  readonly nonce: string;
  readonly keepUntil: number;
}

export interface RememberedAgent {
  readonly chain: ChainSlug;
  readonly agent: Address;
  readonly version: bigint;
  readonly createdAt: number;
}

type At<Kept> = Kept & { readonly at: number };

export interface Remembered {
  readonly actions: readonly At<{ readonly id: bigint; readonly hash: string }>[];
  readonly signerNonces: readonly At<{ readonly signer: Address; readonly nonce: bigint }>[];
  readonly nativeNonces: readonly At<RememberedNonce>[];
  readonly agents: readonly At<RememberedAgent>[];
  readonly orders: readonly At<RememberedOrder>[];
  readonly jobs: readonly At<RememberedJob>[];
  readonly entries: readonly At<RememberedEntry>[];
}

const KEPT_MS = 600_000;
/**
 * Of each kind. A server that lost a commit lost every later one as well, so the newest show whether any is missing; since when commits are
 * missing, to a second, the counters show.
 */
const KEPT_NEWEST = 1_000;

export function createReplicaMemory(): ReplicaMemory {
  let given = 0n;
  let highest = 0n;
  let counters: At<{ readonly counter: bigint }>[] = [];
  const nonces = new Map<string, number>();
  const kept = { actions: newest<Remembered['actions'][number]>(), signerNonces: newest<Remembered['signerNonces'][number]>() };
  const native = { nonces: newest<Remembered['nativeNonces'][number]>(), agents: newest<Remembered['agents'][number]>() };
  const more = { jobs: newest<Remembered['jobs'][number]>(), entries: newest<Remembered['entries'][number]>() };
  const orders = newest<Remembered['orders'][number]>();

  const lists = [kept.actions, kept.signerNonces, native.nonces, native.agents, orders, more.jobs, more.entries];

  return {
    isEmpty: (now) => lists.every((list) => now - list.lastAt() > KEPT_MS),
    action: (id, hash, at) => kept.actions.add({ id, hash, at }),
    signerNonce: (signer, nonce, at) => kept.signerNonces.add({ signer, nonce, at }),
    nativeNonce: (nonce, at) => native.nonces.add({ ...nonce, at }),
    dropNativeNonce: ({ chain, credential, nonce }) =>
      native.nonces.drop((each) => each.nonce === nonce && each.credential === credential && each.chain === chain),
    agent: (agent, at) => native.agents.add({ ...agent, at }),
    dropAgent: ({ chain, agent }) => native.agents.drop((each) => each.agent === agent && each.chain === chain),
    order: (order, at) => orders.add({ ...order, at }),
    job(job, at) {
      more.jobs.add({ ...job, at });
      if (job.nonce === null) return;
      const key = walletKey(job.chain, job.wallet);
      nonces.set(key, Math.max(nonces.get(key) ?? 0, job.nonce));
    },
    journalEntry: (entry, at) => more.entries.add({ ...entry, at }),
    nextCounter: () => (given += 1n),
    counted(counter, at) {
      if (counter <= highest) return;
      highest = counter;
      counters.push({ counter, at });
      if (counters[0] !== undefined && at - counters[0].at > 2 * KEPT_MS) counters = counters.filter((each) => at - each.at <= KEPT_MS);
    },
    counter: () => highest,
    countedAfter: (counter) => counters.find((each) => each.counter > counter)?.at ?? null,
    walletNonces: () => Object.fromEntries(nonces),
    newest: () => ({
      actions: kept.actions.all(),
      signerNonces: kept.signerNonces.all(),
      nativeNonces: native.nonces.all(),
      agents: native.agents.all(),
      orders: orders.all(),
      jobs: more.jobs.all(),
      entries: more.entries.all(),
    }),
    forget() {
      counters = [];
      highest = 0n;
      for (const list of lists) list.clear();
    },
  };
}

interface Newest<Kept> {
  add(kept: Kept): void;
  drop(isDropped: (kept: Kept) => boolean): void;
  all(): readonly Kept[];
  lastAt(): number;
  clear(): void;
}

/** Cut to the newest whenever it is twice as long. */
function newest<Kept extends { readonly at: number }>(): Newest<Kept> {
  let list: Kept[] = [];
  return {
    add(kept) {
      list.push(kept);
      if (list.length >= 2 * KEPT_NEWEST) list = list.slice(-KEPT_NEWEST);
    },
    drop: (isDropped) => void (list = list.filter((each) => !isDropped(each))),
    all() {
      const since = (list.at(-1)?.at ?? 0) - KEPT_MS;
      return list.slice(-KEPT_NEWEST).filter(({ at }) => at >= since);
    },
    lastAt: () => list.at(-1)?.at ?? Number.NEGATIVE_INFINITY,
    clear: () => void (list = []),
  };
}
