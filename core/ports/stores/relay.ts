import type { ChainSlug } from '../../chains/chains.js';
import type { Draft, PlacedWith } from './orders.js';
import type { Address, Hex } from '../../types.js';
import type { ExchangeLeg, ExchangeRecord } from './exchange.js';
import type { Lease } from './tracking.js';

/** What can keep a lane from sending. Each is cleared by what disproves it, not by another one's end. */
export const FENCE_CAUSES = ['fees', 'funds', 'key', 'node', 'nonce', 'stuck'] as const;
export type FenceCause = (typeof FENCE_CAUSES)[number];

/** A lane that cannot send. Whoever asks for something new is refused; what is queued waits, or lapses when its time is over. */
export interface Fence {
  /** Half a sentence, fit for the eyes of traders. */
  readonly reason: string;
  readonly since: number;
}

/** As the lane's owner tells it. */
export interface ToldFence extends Fence {
  readonly cause: FenceCause;
}

export interface LaneHealth {
  readonly wallet: Address;
  readonly state: 'ok' | 'fenced';
  /** Since when it is fenced, and why. */
  readonly since: number | null;
  readonly reason: string | null;
  /** Not over yet, and when the oldest of them was queued. */
  readonly openJobs: number;
  readonly oldestOpenAt: number | null;
  /** Null while the wallet was never used. */
  readonly nextNonce: number | null;
}

/** Why the relayer may sign at all: the closed list. Everything but a no-op names the signed action it stands for. */
export const RELAY_PURPOSES = ['action', 'scheduled-cancel', 'reclaim', 'no-op'] as const;
export type RelayPurpose = (typeof RELAY_PURPOSES)[number];

/** Why a job was never sent, in words that stay few: they are counted. */
export const REFUSAL_REASONS = [
  'too-late',
  'gas-cap',
  'policy',
  'paused',
  'rules',
  'quota',
  'budget',
  'nonce-used-elsewhere',
  'canceled',
] as const;
export type RefusalReason = (typeof REFUSAL_REASONS)[number];

export interface Refusal {
  readonly reason: RefusalReason;
  /** For people. */
  readonly note: string;
}

/**
 * queued: stored, no nonce yet · numbered: a nonce is taken, nothing is signed · signed: the raw transaction is stored, no node has
 * answered for it · unknown: it was sent and the answer did not say whether it arrived · accepted: a node has it ·
 * mined, reverted: in a block · refused: not sent, and never will be · replaced: its nonce went to a no-op.
 */
export const RELAY_STATES = ['queued', 'numbered', 'signed', 'unknown', 'accepted', 'mined', 'reverted', 'refused', 'replaced'] as const;
export type RelayState = (typeof RELAY_STATES)[number];
export const isOver = (state: RelayState): boolean =>
  state === 'mined' || state === 'reverted' || state === 'refused' || state === 'replaced';

/** An action as its owner signed it, kept for ever: what the relayer may sign follows from it. */
export interface SignedAction {
  readonly id: bigint;
  readonly chain: ChainSlug;
  readonly signer: Address;
  readonly trader: Address;
  /** The body as it arrived. */
  readonly envelope: string;
  readonly actionHash: Hex;
  /** Which reading of the action the signature is over. */
  readonly form: 'canonical' | 'as-sent';
  readonly network: 'a' | 'b';
  readonly nonce: bigint;
  readonly receivedAt: number;
  /** The approval of its signer as the trader signed it, where it was read with the action; null where none is stored. */
  readonly approval?: string | null;
}

export interface RelayRequest {
  readonly chain: ChainSlug;
  readonly wallet: Address;
  readonly trader: Address | null;
  readonly purpose: RelayPurpose;
  readonly parent: bigint | null;
  /** The order it creates or changes; null for what concerns none. */
  readonly orderId: bigint | null;
  /** Sent to the Diamond; empty for a no-op, which goes to the wallet itself. */
  readonly data: Hex;
  readonly gas: bigint;
  /** What the translation of the action stood on (block, netted trades, leverage, mark), so that anybody can repeat it. */
  readonly context: unknown;
  /** Epoch ms after which it must not be sent for the first time any more; null = whenever. */
  readonly notAfter: number | null;
}

export interface Attempt {
  /** A no-op gives the job's nonce away when it must not be sent any more. */
  readonly isNoOp: boolean;
  readonly hash: Hex;
  readonly raw: Hex;
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
  readonly signedAt: number;
}

export interface RelayJob extends RelayRequest {
  readonly id: bigint;
  readonly state: RelayState;
  readonly nonce: number | null;
  /** Of the same nonce, oldest first: at most one of them can ever be mined. */
  readonly attempts: readonly Attempt[];
  readonly createdAt: number;
  /** When a node first answered for it. */
  readonly acceptedAt: number | null;
  /** Why it was refused, or what the node said last. */
  readonly note: string | null;
  readonly mined: Mined | null;
}

export interface Mined {
  readonly hash: Hex;
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
  readonly gasUsed: bigint;
  /** Wei, all of it: execution and, on rollups, data. */
  readonly costWei: bigint;
}

export interface NewAttempt {
  readonly id: bigint;
  readonly attempt: Attempt;
}

/** What could not be reclaimed is tried again after this, and after longer each time up to an hour. */
export const RECLAIM_AGAIN_MS = 30_000;
export const RECLAIM_LONGEST_MS = 3_600_000;

/** Transactions of one trader that a wallet has under way at a time, and how many more where they take risk away. */
export const JOBS_PER_TRADER = 40;
export const MORE_FOR_EXITS = 20;

export interface Settled {
  readonly id: bigint;
  readonly state: 'mined' | 'reverted' | 'replaced';
  readonly mined: Mined;
}

export interface MinedBlock {
  readonly number: bigint;
  readonly hash: Hex;
}

/** Collateral that waits in the contract for somebody to ask for it. */
export interface Unreclaimed {
  readonly orderId: bigint;
  readonly trader: Address;
  readonly agent: Address;
  readonly action: bigint;
  readonly requestIndex: number;
}

/** An order of a bot that is one request on chain, with the bot's record of it and what sends it. All of them bear the new order's id. */
export interface RelayedOrder {
  readonly draft: Draft;
  readonly request: Omit<RelayRequest, 'chain' | 'orderId'>;
  readonly record: Omit<ExchangeRecord, 'oid' | 'legs'> & {
    readonly leg: Omit<ExchangeLeg, 'orderId'>;
    /** The number of the bot's order that goes on with it; absent where it is a new one. */
    readonly continues?: bigint;
  };
}

/** What is not placed is not sent either. */
export type PlacedJob = PlacedWith<{ readonly job: RelayJob }>;

/** A nonce that keeps those above it from being mined. */
export interface Hole {
  readonly nonce: number;
  /** Whether a job had it and was given up; otherwise none ever had it. */
  readonly isGivenUp: boolean;
}

/** What the relayer remembers. Every step is stored before the next one is taken, so that a kill between any two loses and doubles nothing. */
export interface RelayStore {
  action(chain: ChainSlug, id: bigint): Promise<SignedAction | null>;
  /** Those of them that are stored. */
  actions(chain: ChainSlug, ids: readonly bigint[]): Promise<SignedAction[]>;
  /** The order, its record and the job in one step. */
  placeAndQueue(relayed: RelayedOrder): Promise<PlacedJob>;
  /** In one step with the record of the order it sends, where one is given. */
  queue(request: RelayRequest, at: number, record?: ExchangeRecord): Promise<RelayJob>;
  /** Of something that is taken back: what takes it back already is the job, where there is one. */
  queueOnce(request: RelayRequest, at: number): Promise<{ readonly job: RelayJob; readonly isNew: boolean }>;
  /**
   * Requests of bots that the oracle did not answer in time and that nothing is taking back; one just tried is left alone for a while, and
   * all of a trader for whom it failed for longer each time. Those of the trader whose last try is the oldest come first.
   */
  unreclaimed(chain: ChainSlug, now: number): Promise<Unreclaimed[]>;
  /** What was tried for a trader was done, or failed: then it is tried again later. */
  reclaimTried(chain: ChainSlug, trader: Address, at: number, isDone: boolean): Promise<void>;
  /** Jobs of the wallet that are not over: numbered ones by nonce, then queued ones by age. */
  open(chain: ChainSlug, wallet: Address): Promise<RelayJob[]>;
  /**
   * Those of them that have no nonce yet and may be begun, so many at a time: what takes risk away first, then one of each trader after
   * the other, oldest first.
   */
  queued(chain: ChainSlug, wallet: Address, limit: number): Promise<RelayJob[]>;
  job(chain: ChainSlug, id: bigint): Promise<RelayJob | null>;
  /** Those of them that exist. */
  jobs(chain: ChainSlug, ids: readonly bigint[]): Promise<RelayJob[]>;
  /** What was queued for an order, oldest first. */
  jobsOfOrder(chain: ChainSlug, orderId: bigint): Promise<RelayJob[]>;
  /** By the hash of any attempt. */
  jobByHash(chain: ChainSlug, hash: Hex): Promise<RelayJob | null>;
  /**
   * Takes the next nonces of the wallet for those of these jobs that are queued, in the order of their ids; `atLeast` is what the chain
   * says, for a lane that was never used or fell behind. The jobs as they are now, in that order.
   */
  number(chain: ChainSlug, wallet: Address, ids: readonly bigint[], atLeast: number): Promise<RelayJob[]>;
  /** Nonces of a range that no job is going to use. The lowest of them. */
  holes(chain: ChainSlug, wallet: Address, from: number, below: number): Promise<Hole[]>;
  /** A no-op for a nonce that no job has, so that those above it can be mined. A job that was given up is opened again, to give the nonce away; null when a job has it after all. */
  fillGap(chain: ChainSlug, wallet: Address, nonce: number, gas: bigint, at: number): Promise<RelayJob | null>;
  /** A lane with nothing open goes back to what the chain says. */
  resetLane(chain: ChainSlug, wallet: Address, nonce: number): Promise<void>;
  /** The lane of a wallet; a wallet never used has one too. */
  lane(chain: ChainSlug, wallet: Address): Promise<LaneHealth>;
  /** Kept for all replicas to see; null takes it away. */
  fenceLane(chain: ChainSlug, wallet: Address, fence: ToldFence | null): Promise<void>;
  /** One for each job; all of them or none. */
  addAttempt(chain: ChainSlug, attempts: readonly NewAttempt[]): Promise<RelayJob[]>;
  /** A job that is over stays as it is. */
  setState(chain: ChainSlug, id: bigint, state: RelayState, at: number, note: string | null, reason?: RefusalReason): Promise<RelayJob>;
  /** A node has them; those that are over stay as they are. */
  accept(chain: ChainSlug, ids: readonly bigint[], at: number): Promise<RelayJob[]>;
  /** Null when it has a nonce by now, from whoever: then it is too late. */
  refuse(chain: ChainSlug, id: bigint, refusal: Refusal): Promise<RelayJob | null>;
  /** They are in blocks, each in its own way. */
  settle(chain: ChainSlug, settled: readonly Settled[]): Promise<RelayJob[]>;
  /** A block that held it is gone. */
  unsettle(chain: ChainSlug, id: bigint, at: number): Promise<RelayJob>;
  /** The blocks that hold the wallet's jobs, from the newest of them down to so many below it. */
  minedBlocks(chain: ChainSlug, wallet: Address, blocks: number): Promise<MinedBlock[]>;
  /** Jobs in these blocks, and jobs from `nonce` on that were given up because somebody else's transaction was seen in their place. */
  settledIn(chain: ChainSlug, wallet: Address, blocks: readonly MinedBlock[], nonce: number): Promise<RelayJob[]>;
  /** Keeps the wallet's highest balance of the UTC day; says what it is, and what transactions mined on that day cost. Wei. */
  budgetDay(
    chain: ChainSlug,
    wallet: Address,
    seen: { readonly day: number; readonly balance: bigint },
  ): Promise<{ readonly highest: bigint; readonly spent: bigint }>;
  walletOf(chain: ChainSlug, trader: Address): Promise<Address | null>;
  /** Keeps the first assignment. */
  assignWallet(chain: ChainSlug, trader: Address, wallet: Address): Promise<Address>;
  /** While it is held, no other replica sends for this wallet. */
  lease(chain: ChainSlug, wallet: Address): Promise<Lease | null>;
}
