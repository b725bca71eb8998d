import type { AccountFacts, ChainTrade, OpenOrders, OpenTrades, OpenTradesQuery } from './account-chain.js';
import type { DiamondLog } from '../domain/diamond-log.js';
import type { HistogramCounts } from '../observability/histogram.js';
import type { RelayNode } from './relayer.js';
import type {
  OpeningQuestion,
  OpeningTerms,
  PairOpenInterest,
  Rehearsal,
  Rehearsed,
  Revert,
  SeenTransaction,
  UpdateFees,
} from './simulation.js';
import type { Address, BlockHead, Cancel, Hex } from '../types.js';

/** What the Diamond takes as collateral. */
export interface ChainCollateral {
  readonly address: Address;
  readonly decimals: number;
  readonly isActive: boolean;
}

/** Facts read from the configured node at the start, and now and then; the chain is the authority over our own tables. */
export interface ChainFacts {
  readonly chainId: number;
  /** Functions of ours that this Diamond does not serve, by name; null where it does not tell. */
  readonly missing: readonly string[] | null;
  /** In the order of their indices, from 1; null where it does not tell. */
  readonly collaterals: readonly ChainCollateral[] | null;
  /** Of the referrers asked about, those that the protocol has not whitelisted: they earn nothing. Absent where none was asked about. */
  readonly unlisted?: readonly Address[];
  /** Of the referrers asked about, those of which the Diamond does not say whether they are whitelisted. */
  readonly unchecked?: readonly Address[];
}

/** The node is not of this chain, or has no Diamond: nothing that it says is about our venue. */
export class ForeignChainError extends Error {
  override readonly name = 'ForeignChainError';
}

/** Logs and the headers that vouch for them: at least those of the first and the last block, and of every block with a log. */
export interface LogRange {
  readonly blocks: readonly BlockHead[];
  readonly logs: readonly DiamondLog[];
  /** Inputs of transactions that began an order, by hash, as far as they came along; `Chain.inputs` has the others. */
  readonly inputs: ReadonlyMap<Hex, Hex>;
  /** Inputs of transactions to the Diamond that left no log we know, as those do that fail, by hash; null where blocks were not read whole. */
  readonly silent: ReadonlyMap<Hex, Hex> | null;
}

/** The node's answers contradict each other: the chain moved while it was read. Reading again helps. */
export class ChainMovedError extends Error {
  override readonly name = 'ChainMovedError';
}

export const ENDPOINT_STATES = ['ok', 'failing', 'resting', 'lagging', 'foreign'] as const;

/** One node of the chain, as it has shown itself lately. */
export interface EndpointHealth {
  /** Host and port, nothing else of its address. */
  readonly host: string;
  readonly state: (typeof ENDPOINT_STATES)[number];
  /** In a row, without a quiet minute in between. */
  readonly failures: number;
  readonly latencyMs: number | null;
  readonly head: bigint | null;
  readonly lastError: { readonly at: number; readonly text: string } | null;
}

/** Requests to one node since the start. */
export interface EndpointTraffic {
  readonly host: string;
  readonly answered: number;
  readonly failed: number;
  readonly methods: readonly MethodTraffic[];
}

/** Calls of one method, which travel several to a request. */
export interface MethodTraffic {
  readonly method: string;
  readonly answered: number;
  /** Answered with an error of the node's own. */
  readonly refused: number;
  readonly failed: number;
  readonly seconds: HistogramCounts;
}

export interface Chain {
  /** The nodes behind this port, in the order in which they are preferred. */
  endpoints(): readonly EndpointHealth[];
  traffic(): readonly EndpointTraffic[];
  /** What only the relayer asks: counters, fees, sending, receipts. */
  readonly relay: RelayNode;
  /** The trader's trading delegate, null when none is set; the contract emits no event for it. */
  delegateOf(trader: Address): Promise<Address | null>;
  hasCode(address: Address): Promise<boolean>;
  /**
   * A contract wallet's verdict on a digest (ERC-1271; ERC-6492 before it is deployed). It runs the wallet's code, which a stranger may have
   * written: callers go through `core/access/wallet-verdicts.ts`, which bounds how often.
   */
  isValidSignature(wallet: Address, digest: Hex, signature: Hex): Promise<boolean>;
  /** Asks the node who it is and what its Diamond serves, in one round trip; throws ForeignChainError when it is another chain or no Diamond is there. */
  identify(referrers?: readonly Address[]): Promise<ChainFacts>;
  /** Several reads at one block, packed as far as the Diamond allows; fails as a whole. */
  views(calls: readonly { readonly to: Address; readonly data: Hex }[], block: bigint): Promise<readonly Hex[]>;
  head(): Promise<BlockHead>;
  /** New blocks as the node tells them, where it can be listened to; the caller goes on asking for the head. */
  heads(listener: (block: BlockHead) => void): Cancel;
  /** The Diamond's logs of these blocks, in chain order; throws when the chain moves meanwhile. */
  logs(from: bigint, to: bigint): Promise<LogRange>;
  /** Why a transaction fails on the state of the block; null when it does not. */
  replay(transaction: Pick<SeenTransaction, 'from' | 'to' | 'input'>, block: bigint): Promise<Revert | null>;
  /** Inputs of mined transactions by hash; throws when the chain does not hold one of them any more. */
  inputs(hashes: readonly Hex[]): Promise<ReadonlyMap<Hex, Hex>>;
  /** As of the block; null = now. */
  trades(refs: readonly { readonly trader: Address; readonly tradeIndex: number }[], block: bigint | null): Promise<readonly ChainTrade[]>;
  /** Positions, what rests and what waits for the oracle, as of the block. */
  openOrders(trader: Address, block: bigint): Promise<OpenOrders>;
  openTrades(query: OpenTradesQuery): Promise<OpenTrades>;
  /** Wei. */
  nativeBalance(address: Address): Promise<bigint>;
  accountFacts(trader: Address, tokens: readonly Address[]): Promise<AccountFacts>;
  /** The first referrer that the trader had, whitelisted still or not; null while there is none, or where this Diamond does not say. */
  referrerOf(trader: Address): Promise<Address | null>;
  /** What the trader holds of a collateral and what the Diamond may take of it. */
  funds(trader: Address, token: Address): Promise<{ readonly balance: bigint; readonly allowance: bigint }>;
  /** Tries a write from its sender and reads all that it depends on, in one round trip unless it fails with the gas it was given. */
  rehearse(rehearsal: Rehearsal): Promise<Rehearsed>;
  /** What the contract grants or imposes on the trader in this market; null where this Diamond does not say. */
  openingTerms(trader: Address, pairIndex: number): Promise<OpeningTerms | null>;
  /** Whether the group of its market has room for it; null where this Diamond does not say. */
  fitsGroupOi(opening: OpeningQuestion): Promise<boolean | null>;
  /** null where this Diamond does not say. */
  pairOpenInterest(pair: Pick<OpeningQuestion, 'pairIndex' | 'collateralIndex'>): Promise<PairOpenInterest | null>;
  /** null where this Diamond does not say. */
  updateFees(trader: Address, pair: Pick<OpeningQuestion, 'pairIndex' | 'collateralIndex'>): Promise<UpdateFees | null>;
  /** null when the node does not know it. */
  transaction(hash: Hex): Promise<SeenTransaction | null>;
  /** What became of it; null while it is in no block. */
  outcome(hash: Hex): Promise<SeenTransaction['mined']>;
  /** Headers by number, ascending. */
  blocks(numbers: readonly bigint[]): Promise<readonly BlockHead[]>;
}
