import type { ChainSlug } from '../../chains/chains.js';
import type { Draft, KnownOrder, NotPlaced } from './orders.js';
import type { Address, Hex } from '../../types.js';
import type { ChildRecord, ExchangeLeg, ExchangeRecord } from './exchange.js';
import type { WantedTrigger } from './triggers.js';
import type { Lease } from './tracking.js';

/** Causes that keep a lane from sending. Each is cleared by its own recovery, not by that of another cause. */
export const LANE_PROBLEM_CAUSES = ['database', 'fees', 'funds', 'key', 'node', 'nonce', 'stuck'] as const;
export type LaneProblemCause = (typeof LANE_PROBLEM_CAUSES)[number];

/** A lane that cannot send. New requests are refused; queued jobs wait, or expire at their deadline. */
export interface LaneProblem {
  /** Half a sentence that may be shown to traders. */
  readonly reason: string;
  readonly since: number;
}

/** A lane problem with its cause, as the lane's owner reports it. */
export interface StoredLaneProblem extends LaneProblem {
  readonly cause: LaneProblemCause;
}

export interface LaneHealth {
  readonly wallet: Address;
  readonly state: 'ok' | 'blocked';
  /** Since when it is blocked, and why. */
  readonly since: number | null;
  readonly reason: string | null;
  /** Jobs that are not final, and when the oldest of them was queued. */
  readonly openJobs: number;
  readonly oldestOpenAt: number | null;
  /** Null for a wallet whose transactions were never counted for this database. */
  readonly nextNonce: number | null;
}

/** The closed list of reasons to sign. Everything but a no-op refers to a signed action. */
export const RELAY_PURPOSES = ['action', 'scheduled-cancel', 'reclaim', 'no-op'] as const;
export type RelayPurpose = (typeof RELAY_PURPOSES)[number];

/** Why a job was never sent; a metric label, so the list must stay short. */
export const REFUSAL_REASONS = [
  'too-late',
  'gas-cap',
  'policy',
  'outdated',
  'paused',
  'rules',
  'quota',
  'budget',
  'nonce-used-elsewhere',
  'foreign-transactions',
  'canceled',
] as const;
export type RefusalReason = (typeof REFUSAL_REASONS)[number];

export interface Refusal {
  readonly reason: RefusalReason;
  /** For people. */
  readonly note: string;
}

/** Its owner took it back. */
export const CANCELED: Refusal = { reason: 'canceled', note: 'it was canceled before it was sent' };

/** Starts the notes about transactions of the wallet that its database does not know. */
export const FOREIGN_FOUND = "the relayer's wallet sent transactions that its database does not know";

/** The note of a queued job that gets no nonce until it was compared with the chain. */
export const UNCOMPARED = `${FOREIGN_FOUND}, and what this is to change cannot be read from the chain yet`;

/**
 * queued: stored, no nonce yet · assigned: has a nonce, not signed · signed: raw transaction stored, not yet accepted by a node ·
 * unknown: sent, the answer did not show whether it arrived · accepted: a node has it · mined, reverted: in a block ·
 * refused: never sent · replaced: its nonce was used by a no-op.
 */
export const RELAY_STATES = ['queued', 'assigned', 'signed', 'unknown', 'accepted', 'mined', 'reverted', 'refused', 'replaced'] as const;
export type RelayState = (typeof RELAY_STATES)[number];
export const isOver = (state: RelayState): boolean =>
  state === 'mined' || state === 'reverted' || state === 'refused' || state === 'replaced';

/** An action as its owner signed it, kept forever: the signing policy derives from it what the relayer may sign. */
export interface SignedAction {
  readonly id: bigint;
  readonly chain: ChainSlug;
  readonly signer: Address;
  readonly trader: Address;
  /** The body as received. */
  readonly envelope: string;
  readonly actionHash: Hex;
  /** The encoding of the action that the signature covers. */
  readonly form: 'canonical' | 'as-sent';
  readonly network: 'a' | 'b';
  readonly nonce: bigint;
  readonly receivedAt: number;
  /** The signer's approval as the trader signed it, if it was read with the action; null where none is stored. */
  readonly approval?: string | null;
}

/** An `approveAgent` as a trader signed it. */
export interface StoredApproval {
  readonly trader: Address;
  readonly envelope: string;
  readonly approvedAt: number;
}

export interface RelayRequest {
  readonly chain: ChainSlug;
  readonly wallet: Address;
  readonly trader: Address | null;
  readonly purpose: RelayPurpose;
  readonly parent: bigint | null;
  /** The order it creates or changes; null otherwise. */
  readonly orderId: bigint | null;
  /** Sent to the Diamond; empty for a no-op, which goes to the wallet itself. */
  readonly data: Hex;
  readonly gas: bigint;
  /** Inputs of the action's translation (block, netted trades, leverage, mark), so that it can be repeated. */
  readonly context: unknown;
  /** Epoch ms after which it must not be sent for the first time; null = no deadline. */
  readonly notAfter: number | null;
}

export interface Attempt {
  /** A no-op uses up the nonce of a job that must no longer be sent. */
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
  /** All of the same nonce, oldest first: at most one of them can ever be mined. */
  readonly attempts: readonly Attempt[];
  readonly createdAt: number;
  /** When a node first accepted it. */
  readonly acceptedAt: number | null;
  /** Why it was refused, or the node's last message. */
  readonly note: string | null;
  readonly mined: Mined | null;
}

export interface Mined {
  readonly hash: Hex;
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
  readonly gasUsed: bigint;
  /** Wei, total: execution and, on rollups, data. */
  readonly costWei: bigint;
}

export interface NewAttempt {
  readonly id: bigint;
  readonly attempt: Attempt;
}

/** Delay before a failed reclaim is tried again; it grows up to an hour. */
export const RECLAIM_AGAIN_MS = 30_000;
export const RECLAIM_LONGEST_MS = 3_600_000;

/** Limit of a trader's open transactions per wallet, and the extra allowance for those that reduce risk. */
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

/** Collateral that stays in the contract until it is reclaimed. */
export interface Unreclaimed {
  readonly orderId: bigint;
  readonly trader: Address;
  readonly agent: Address;
  readonly action: bigint;
  readonly requestIndex: number;
}

/** One request of a relayed order. */
export interface RelayedLeg {
  /** Null for a TP/SL of an open trade, which is not an order. */
  readonly draft: Draft | null;
  /** Null for a leg that is held back: it is stored and gets its job later. */
  readonly request: Omit<RelayRequest, 'chain' | 'orderId'> | null;
  /** For a leg that opens or protects a trade whose closing slippage is set afterwards. */
  readonly owed?: { readonly closingSlippageP: bigint; readonly dueAt: number };
}

/** What is stored of a bot's order besides the orders it became. */
export interface BotOrder extends Omit<ExchangeRecord, 'oid' | 'legs'> {
  /** One for each request, in the same order. */
  readonly legs: readonly Omit<ExchangeLeg, 'orderId'>[];
  /** That of the order that it continues; absent: the id of its first order, or a new one if it consists of triggers only. */
  readonly oid?: bigint | undefined;
  /** The bot's order exists and gets these legs. */
  readonly isContinued: boolean;
  /** One for each leg: the trigger that it sets on an open trade; null for a leg that is an order. */
  readonly triggers: readonly (WantedTrigger | null)[];
  /** TP/SL that came with it; their parent is the leg that opens. */
  readonly children: readonly Omit<ChildRecord, 'parentOrder'>[];
  /** Cloids of TP/SL that no live order may have, which is checked in the same transaction; those of other orders are their clientId. */
  readonly newCloids?: readonly string[];
}

/** An order that the relayer sends, with all of its requests. */
export interface RelayedOrder {
  /** At least one, in the order in which they must be mined. */
  readonly legs: readonly RelayedLeg[];
  /** Null for a request that no order of a bot stands for: a change of margin, a close by a schedule. */
  readonly record: BotOrder | null;
}

export type PlacedOrder =
  | {
      readonly kind: 'placed';
      readonly oid: bigint;
      /** The order of each leg; null for a leg that is none. */
      readonly orders: readonly (KnownOrder | null)[];
      /** In the order of the legs, without those held back. */
      readonly jobs: readonly RelayJob[];
    }
  /** The order of this leg was refused, so that nothing is stored. */
  | { readonly kind: 'refused'; readonly at: number; readonly why: NotPlaced };

/** A change of a resting order. The contract overwrites the whole order, so the change repeats what was read of it. */
export interface Amendment {
  readonly tradeIndex: number;
  /** As it was read. */
  readonly amended: Pick<KnownOrder, 'id' | 'order'>;
  /** The TP/SL that the change sets; null if it removes one. */
  readonly child: ChildRecord | null;
  /** The cloid of that TP/SL, unless it keeps that of the one it replaces: no live order may have it, checked in the same transaction. */
  readonly newCloid?: string | null;
  /** What that TP/SL needs; absent if the contract's default is enough. */
  readonly closingSlippageP?: bigint;
}

export interface AmendQueued {
  readonly job: RelayJob;
  /** The id of the TP/SL that it sets; null if it sets none. */
  readonly oid: bigint | null;
}

/** A missing nonce that keeps higher ones from being mined. */
export interface Hole {
  readonly nonce: number;
  /** Whether a given-up job has the nonce; otherwise no job ever had it. */
  readonly isGivenUp: boolean;
}

/** Every step is stored before the next one, so that a crash between two steps neither loses nor repeats a transaction. */
export interface RelayStore {
  action(chain: ChainSlug, id: bigint): Promise<SignedAction | null>;
  /** Only those that are stored. */
  actions(chain: ChainSlug, ids: readonly bigint[]): Promise<SignedAction[]>;
  /** Of an agent, oldest first, with those that later ones took the place of. */
  approvals(chain: ChainSlug, agent: Address): Promise<StoredApproval[]>;
  /** Orders, record, TP/SL, closing slippages to set, and jobs in one transaction: all of them or nothing. */
  placeAndQueue(relayed: RelayedOrder): Promise<PlacedOrder>;
  queue(request: RelayRequest, at: number): Promise<RelayJob>;
  /** For cancels and reclaims: returns the open job that already does the same, if there is one. */
  queueOnce(request: RelayRequest, at: number): Promise<{ readonly job: RelayJob; readonly isNew: boolean }>;
  /**
   * For a change of a resting order, with the record of its child. Null, with nothing stored, while another change of the order is under
   * way or if the order is not as it was read: based on old values, the change would undo that of another replica.
   */
  queueAmend(request: RelayRequest, amendment: Amendment, at: number): Promise<AmendQueued | 'cloid-taken' | null>;
  /**
   * Requests of bots that the oracle did not answer in time and that no job reclaims yet. A request just tried is skipped for a while, and
   * so are all requests of a trader whose reclaims failed, longer each time. The trader with the oldest last try comes first.
   */
  unreclaimed(chain: ChainSlug, now: number): Promise<Unreclaimed[]>;
  /** Stores the result of a trader's reclaim; a failed one is tried again later. */
  reclaimTried(chain: ChainSlug, trader: Address, at: number, isDone: boolean): Promise<void>;
  /** Open jobs of the wallet: those with a nonce by nonce, then queued ones by age. */
  open(chain: ChainSlug, wallet: Address): Promise<RelayJob[]>;
  /**
   * At most `limit` queued jobs without a nonce that may start: those that reduce risk first, then round-robin over traders, oldest first.
   */
  queued(chain: ChainSlug, wallet: Address, limit: number): Promise<RelayJob[]>;
  job(chain: ChainSlug, id: bigint): Promise<RelayJob | null>;
  /** Only those that exist. */
  jobs(chain: ChainSlug, ids: readonly bigint[]): Promise<RelayJob[]>;
  /** Jobs of an order, oldest first. */
  jobsOfOrder(chain: ChainSlug, orderId: bigint): Promise<RelayJob[]>;
  /** By the hash of any attempt. */
  jobByHash(chain: ChainSlug, hash: Hex): Promise<RelayJob | null>;
  /**
   * Assigns the wallet's next nonces to those of these jobs that are queued and not `UNCOMPARED`, by id; `atLeast` is the chain's nonce, for a lane that was
   * never used or fell behind. Returns the current jobs in that order.
   */
  assignNonces(chain: ChainSlug, wallet: Address, ids: readonly bigint[], atLeast: number): Promise<RelayJob[]>;
  /** Nonces of a range that no job will use, lowest first, limited in number. */
  unusedNonces(chain: ChainSlug, wallet: Address, from: number, below: number): Promise<Hole[]>;
  /** Creates a no-op for a nonce without a job. A given-up job is reopened to use its nonce; null when a job has it after all. */
  fillGap(chain: ChainSlug, wallet: Address, nonce: number, gas: bigint, at: number): Promise<RelayJob | null>;
  /** Wallets whose lanes have begun. `isEmpty`: nothing was ever signed or queued on the chain. */
  knownLanes(chain: ChainSlug): Promise<{ readonly lanes: readonly Address[]; readonly isEmpty: boolean }>;
  /** Resets a lane without open jobs to the chain's nonce. */
  resetLane(chain: ChainSlug, wallet: Address, nonce: number): Promise<void>;
  /** What the wallet sent before this database knew it is no gap: its lane begins at this nonce. A lane that has begun stays as it is. */
  beginLane(chain: ChainSlug, wallet: Address, nonce: number): Promise<void>;
  /** The wallet's lane; also for a wallet never used. */
  lane(chain: ChainSlug, wallet: Address): Promise<LaneHealth>;
  /** Stored for all replicas; null removes it. */
  storeLaneProblem(chain: ChainSlug, wallet: Address, problem: StoredLaneProblem | null): Promise<void>;
  /** One per job; all of them or none. */
  addAttempt(chain: ChainSlug, attempts: readonly NewAttempt[]): Promise<RelayJob[]>;
  /** Final jobs stay unchanged. */
  setState(chain: ChainSlug, id: bigint, state: RelayState, at: number, note: string | null, reason?: RefusalReason): Promise<RelayJob>;
  /** Marks jobs as accepted by a node; final jobs stay unchanged. */
  accept(chain: ChainSlug, ids: readonly bigint[], at: number): Promise<RelayJob[]>;
  /** Why a queued job still waits; null takes the note off. Null when it already has a nonce or is over. */
  noteQueued(chain: ChainSlug, id: bigint, note: string | null): Promise<RelayJob | null>;
  /** Null when it already has a nonce, from any replica: then it is too late. */
  refuse(chain: ChainSlug, id: bigint, refusal: Refusal): Promise<RelayJob | null>;
  /**
   * Gives up the call of a job that has a nonce: from now on only a no-op is sent for it. Null when it is over. The reason is kept although
   * an earlier attempt may still be mined.
   */
  giveUpCall(chain: ChainSlug, id: bigint, refusal: Refusal): Promise<RelayJob | null>;
  /** Marks jobs as mined, each with its own receipt. */
  settle(chain: ChainSlug, settled: readonly Settled[]): Promise<RelayJob[]>;
  /** Reopens a job whose block is no longer on the chain. */
  unsettle(chain: ChainSlug, id: bigint, at: number): Promise<RelayJob>;
  /** The blocks of the wallet's mined jobs, from the newest down to `blocks` below it. */
  minedBlocks(chain: ChainSlug, wallet: Address, blocks: number): Promise<MinedBlock[]>;
  /** Jobs in these blocks, and jobs from `nonce` on that were given up because a foreign transaction used their nonce. */
  settledIn(chain: ChainSlug, wallet: Address, blocks: readonly MinedBlock[], nonce: number): Promise<RelayJob[]>;
  /** Stores the wallet's highest balance of the UTC day; returns it with the cost of transactions mined that day. Wei. */
  budgetDay(
    chain: ChainSlug,
    wallet: Address,
    seen: { readonly day: number; readonly balance: bigint },
  ): Promise<{ readonly highest: bigint; readonly spent: bigint }>;
  walletOf(chain: ChainSlug, trader: Address): Promise<Address | null>;
  /** Keeps the first assignment. */
  assignWallet(chain: ChainSlug, trader: Address, wallet: Address): Promise<Address>;
  /** While it is held, no other replica sends for this wallet. With a signal, as that of `TrackingStore`. */
  lease(chain: ChainSlug, wallet: Address, noLongerWanted?: AbortSignal): Promise<Lease | null>;
}
