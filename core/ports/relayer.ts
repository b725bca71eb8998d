import type { Address, Cancel, Hex } from '../types.js';
import type { DueWork } from './store.js';
import type {
  Amendment,
  Mined,
  PlacedOrder,
  Refusal,
  RelayedOrder,
  RelayJob,
  RelayRequest,
  SignedAction,
  LaneProblem,
  LaneHealth,
} from './stores/relay.js';
import type { WalletMode } from './stores/switches.js';
import type { DailyBudgetSetting } from '../config/relayer.js';

/** Node calls the relayer uses. */
export interface RelayNode {
  /** The wallet's next nonce at the latest block, and after what waits for a block; its balance in wei. */
  account(wallet: Address): Promise<{ readonly nonce: number; readonly pending: number; readonly balance: bigint }>;
  fees(): Promise<NodeFees>;
  /** Sends a raw transaction. A rejection by the node is returned as a verdict; only a missing answer throws. */
  send(raw: Hex): Promise<SendVerdict>;
  /** Receipts of these transactions, null where there is none. */
  receipts(hashes: readonly Hex[]): Promise<readonly (Receipt | null)[]>;
  /** Hashes of the blocks at these heights, null where there is none. */
  blockHashes(numbers: readonly bigint[]): Promise<readonly (Hex | null)[]>;
  /** Whether the node has the transaction, mined or pending. */
  knows(hash: Hex): Promise<boolean>;
}

export interface Receipt extends Mined {
  readonly succeeded: boolean;
}

/** A mined transaction of a wallet, as the chain has it. */
export interface SentTransaction {
  readonly nonce: number;
  readonly hash: Hex;
  readonly to: Address | null;
  readonly input: Hex;
  /** As it was signed; null for a form that the gateway does not sign. */
  readonly raw: Hex | null;
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
  readonly block: bigint;
}

/** What a wallet sent, read from the chain where the database has forgotten it. */
export interface SentHistory {
  head(): Promise<bigint>;
  /** The wallet's next nonce after this block; null where the node does not have the chain's state of that time. */
  countAt(wallet: Address, block: bigint): Promise<number | null>;
  /** Its next nonce after all that waits for a block; the highest that any of the nodes gives. */
  highestCount(wallet: Address): Promise<number>;
  /** Those of these transactions that are the wallet's and mined. */
  ofWallet(wallet: Address, hashes: readonly Hex[]): Promise<readonly SentTransaction[]>;
  /** The wallet's transactions in these blocks. */
  inBlocks(wallet: Address, blocks: readonly bigint[]): Promise<readonly SentTransaction[]>;
}

export interface NodeFees {
  readonly baseFee: bigint;
  readonly priorityFee: bigint;
}

/** What a job closes, cancels or changes, as the chain has it; outpriced: the market is beyond its bound; unknown: it could not be read. */
export type Standing = 'stands' | 'gone' | 'outpriced' | 'unknown';

export const SEND_VERDICTS = ['accepted', 'nonce-too-low', 'underpriced', 'no-funds', 'invalid', 'unknown'] as const;
export interface SendVerdict {
  readonly verdict: (typeof SEND_VERDICTS)[number];
  /** The node's message with secrets removed; null when it accepted the transaction. */
  readonly note: string | null;
}

export interface RequestToSend extends Omit<RelayRequest, 'chain' | 'wallet'> {
  /** The wallet the write was simulated with; defaults to the trader's. */
  readonly wallet?: Address;
  /** For cancels: if a job for the same cancel is already under way, that job is returned. */
  readonly isOnce?: boolean;
}

/** A stored job. */
export interface QueuedJob {
  readonly job: RelayJob;
  /** Resolves when a node has accepted the job or it is refused, at the latest after some seconds. */
  readonly handedOver: Promise<RelayJob>;
}

export interface QueuedAmend extends QueuedJob {
  /** The id of the TP/SL that it sets; null if it sets none. */
  readonly oid: bigint | null;
}

export type QueuedOrder =
  | (Omit<Extract<PlacedOrder, { kind: 'placed' }>, 'jobs'> & { readonly jobs: readonly QueuedJob[] })
  | Extract<PlacedOrder, { kind: 'refused' }>;

/** What a stored action proves and means. Implemented by the front end that stored it, because it knows the form of the body. */
export interface SigningPolicy {
  /** Why the stored action does not prove the trader's request; null if it does. Absent: no check. */
  readonly verify?: (action: SignedAction, job: RelayJob) => Refusal | null;
  /** Whether the action's expiry, set by the client, has passed. Absent: actions do not expire. */
  readonly isExpired?: (action: SignedAction) => boolean;
  /** The inner calls of the stored action, encoded again from it and the facts its translation used, or why none of them is sent. */
  readonly reencode: (action: SignedAction, job: RelayJob) => Promise<readonly Hex[] | NoLongerMeant>;
}

/**
 * outdated: the order or position that it changes is gone or was changed since · other-referrer: it is what was signed, but for the referrer,
 * which is not that of the settings now · no-price: it is what was signed, if a price that is not known yet shows that its size is.
 */
export type NoLongerMeant = 'outdated' | 'other-referrer' | 'no-price';

/** The relayer of one chain, as the facade uses it. */
export interface Relayer {
  /** At least one, in lower case; the first is the one `GET /v1/{chain}` publishes as `relayer`. */
  wallets(): readonly Address[];
  /** The wallet assigned to a trader, which must be its trading delegate. `known`: the stored assignment, if it was just read. */
  walletFor(trader: Address, known?: Address | null): Promise<Address>;
  /** Stores the job and queues it for its lane. Resolves when it is stored. */
  send(request: RequestToSend): Promise<QueuedJob>;
  /** The same for a change of a resting order; null, with nothing stored, if the order has to be read again first. */
  sendAmend(request: RequestToSend, amendment: Amendment): Promise<QueuedAmend | 'cloid-taken' | null>;
  /** Stores an order with its jobs in one transaction and queues them; an order that is not placed is not sent. */
  place(relayed: RelayedOrder): Promise<QueuedOrder>;
  /** The lane's last send failure, if no send has succeeded since; null otherwise. */
  trouble(wallet: Address): string | null;
  /** Why the wallet takes no new jobs; null while it sends. Current on every replica within a second. */
  laneProblem(wallet: Address): LaneProblem | null;
  /** The operator's settings for the wallet; at most a second old. */
  walletMode(wallet: Address): WalletMode;
  /** Reloads the switches after a change, so that it applies to this replica immediately. */
  lookAtSwitches(): Promise<void>;
  /** Wei that each wallet may spend per UTC day, before only cancels and closes are sent. */
  dailyBudget(): DailyBudgetSetting;
  /** Whether drills may disturb its lanes. */
  areDrillsAllowed(): boolean;
  /** The lanes of all wallets as stored in the database, the same on every replica. */
  lanes(): Promise<readonly LaneHealth[]>;
  /** Checks receipts at a new head. */
  readonly onHead: () => void;
  /** Obeys the switches, sends what other replicas have queued, and adopts the problems of their lanes. `askedAt`: monotonic ms before it was read. */
  readonly onDue: (look: { readonly askedAt: number; readonly due: Pick<DueWork, 'switches' | 'busyWallets' | 'laneProblems'> }) => void;
}

/** A wallet that has traded and that the database does not know: its pause, its rules and its queue may stand in another database. */
export interface WaitingWallet {
  readonly wallet: Address;
  readonly reason: string;
}

/** Whether the relayer of a chain may be used. While one of its wallets waits, none is: the database stays as it is until the operator decides. */
export interface WalletAdoption {
  /** Resolves after a first answer of the database; throws nothing. */
  check(): Promise<void>;
  isSettled(): boolean;
  waiting(): readonly WaitingWallet[];
  /** The operator says that this database is the one of the wallet. */
  adopt(wallet: Address): Promise<void>;
  /** Runs once no wallet waits, at once if none does. */
  whenSettled(task: () => void): Cancel;
}
