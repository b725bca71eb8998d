import type { Address, BlockHead, Hex } from '../types.js';
import type { PlacedWith } from './stores/orders.js';
import type { ExchangeRecord } from './stores/exchange.js';
import type { Mined, RelayedOrder, RelayJob, RelayRequest, Fence, LaneHealth } from './stores/relay.js';
import type { WalletStanding } from './stores/switches.js';

/** What the relayer asks of a node. */
export interface RelayNode {
  /** The wallet's next nonce in the newest block, and its balance in wei. */
  account(wallet: Address): Promise<{ readonly nonce: number; readonly balance: bigint }>;
  fees(): Promise<NodeFees>;
  /** Hands a raw transaction over; what the node says against it comes back as a verdict, only silence throws. */
  send(raw: Hex): Promise<SendVerdict>;
  /** Receipts of these transactions, null where there is none. */
  receipts(hashes: readonly Hex[]): Promise<readonly (Receipt | null)[]>;
  /** Of the blocks at these heights, null where there is none. */
  blockHashes(numbers: readonly bigint[]): Promise<readonly (Hex | null)[]>;
  /** Whether the node knows the transaction, mined or not. */
  knows(hash: Hex): Promise<boolean>;
}

export interface Receipt extends Mined {
  readonly succeeded: boolean;
}

export interface NodeFees {
  readonly baseFee: bigint;
  readonly priorityFee: bigint;
}

export const SEND_VERDICTS = ['accepted', 'nonce-too-low', 'underpriced', 'no-funds', 'invalid', 'unknown'] as const;
export interface SendVerdict {
  readonly verdict: (typeof SEND_VERDICTS)[number];
  /** The node's own words, scrubbed; null when it took it. */
  readonly note: string | null;
}

export interface RequestToSend extends Omit<RelayRequest, 'chain' | 'wallet'> {
  /** The one it was tried with; otherwise the trader's. */
  readonly wallet?: Address;
  /** Stored with the job, in one step. */
  readonly record?: ExchangeRecord;
  /** It takes something back: where that is under way already, its job is the answer. */
  readonly isOnce?: boolean;
}

/** In the queue. */
export interface QueuedJob {
  readonly job: RelayJob;
  /** When a node has it or it is refused, at the latest after some seconds. */
  readonly handedOver: Promise<RelayJob>;
}

/** The relayer of one chain, as the facade sees it. */
export interface Relayer {
  /** At least one, in lower case; the first is the one `GET /v1/{chain}` publishes as `relayer`. */
  wallets(): readonly Address[];
  /** The wallet that serves a trader, and therefore has to be its trading delegate. Once assigned it stays. `known` is what the books say, where they were just asked. */
  walletFor(trader: Address, known?: Address | null): Promise<Address>;
  /** Stores the job, and sends it as soon as the lane's turn comes. Resolves when it is stored. */
  send(request: RequestToSend): Promise<QueuedJob>;
  /** The same for an order that is stored in the same step. What is not placed is not sent. */
  place(relayed: RelayedOrder): Promise<PlacedWith<QueuedJob>>;
  /** What the wallet's lane met last, when nothing has got through since; null while it sends. */
  trouble(wallet: Address): string | null;
  /** A wallet for which nothing is to be asked now, and why; null while it sends. On every replica, within a second. */
  fence(wallet: Address): Fence | null;
  /** What the operator has set for the wallet; at most half a second old. */
  standing(wallet: Address): WalletStanding;
  /** A switch was just set: it counts here from now on. */
  lookAtSwitches(): Promise<void>;
  /** Whether its lanes may be disturbed on purpose. */
  areDrillsAllowed(): boolean;
  /** The lanes of all wallets as the database knows them, so that every replica says the same. */
  lanes(): Promise<readonly LaneHealth[]>;
  /** A new head: the moment to look for receipts. */
  onHead(block: BlockHead): void;
}
