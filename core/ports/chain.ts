import { BaseError } from 'viem';
import type {
  AccountFacts,
  ChainTrade,
  OpenOrders,
  OpenTradesQuery,
  ReadTrades,
  TokenFunds,
  Wallet,
  WalletQuery,
  WholeAccount,
} from './account-chain.js';
import type { DiamondLog, RawLog, TransactionReceipt } from '../domain/diamond-log.js';
import type { HistogramCounts } from '../observability/metrics.js';
import type { RelayNode, SentHistory } from './relayer.js';
import type {
  OpeningQuestion,
  OpeningTerms,
  PairOpenInterest,
  Revert,
  SeenTransaction,
  Simulation,
  SimulationResult,
  UpdateFees,
} from './simulation.js';
import type { Address, BlockHead, Cancel, Hex } from '../types.js';
import { GatewayError } from '../errors.js';

/** A token the Diamond accepts as collateral. */
export interface ChainCollateral {
  readonly address: Address;
  readonly decimals: number;
  readonly isActive: boolean;
}

/** Facts read from the node at start and periodically; they override our own tables. */
export interface ChainFacts {
  readonly chainId: number;
  /** They were read at this block or later. */
  readonly block: bigint;
  /** Names of functions we use that this Diamond does not have; null where it cannot be determined. */
  readonly missing: readonly string[] | null;
  /** In the order of their indices, from 1; null where it cannot be determined. */
  readonly collaterals: readonly ChainCollateral[] | null;
  /** Of the requested referrers, those the protocol has not whitelisted: they earn nothing. Absent when none was requested. */
  readonly unlisted?: readonly Address[];
  /** Of the requested referrers, those whose whitelisting the Diamond does not expose. */
  readonly unchecked?: readonly Address[];
}

/** What is checked besides the facts after the contract changed. */
export interface ContractFigures {
  readonly pairs: number;
  readonly groups: number;
  readonly fees: number;
  /** Known events among the newest ones that are not in the form we know, by name. */
  readonly brokenEvents: readonly string[];
}

/** The node serves another chain or has no Diamond at the address, so its answers must not be used. */
export class ForeignChainError extends Error {
  override readonly name = 'ForeignChainError';
}

/** Logs with the headers that prove their chain: at least the first block, the last block and every block with a log. */
export interface LogRange {
  readonly blocks: readonly BlockHead[];
  readonly logs: readonly DiamondLog[];
  /** Inputs of transactions that started an order, by hash, as far as they were fetched; `Chain.inputs` fetches the others. */
  readonly inputs: ReadonlyMap<Hex, Hex>;
  /** Inputs of transactions to the Diamond without a known log, such as failed ones, by hash; null where blocks were not read in full. */
  readonly silent: ReadonlyMap<Hex, Hex> | null;
}

/** The node's answers contradict each other because the chain moved during the read. Reading again helps. */
export class ChainMovedError extends Error {
  override readonly name = 'ChainMovedError';
}

export const ENDPOINT_STATES = ['ok', 'failing', 'resting', 'lagging', 'foreign'] as const;

/** Recent health of one node. */
export interface EndpointHealth {
  /** Host and port; the rest of the URL may be secret. */
  readonly host: string;
  readonly state: (typeof ENDPOINT_STATES)[number];
  /** Consecutive failures; a minute without one resets the count. */
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

/** Calls of one method; a request may batch several calls. */
export interface MethodTraffic {
  readonly method: string;
  readonly answered: number;
  /** Answered with a JSON-RPC error. */
  readonly refused: number;
  readonly failed: number;
  readonly seconds: HistogramCounts;
}

export interface Chain {
  /** The nodes behind this port, in order of preference. */
  endpoints(): readonly EndpointHealth[];
  traffic(): readonly EndpointTraffic[];
  /** Calls used only by the relayer: nonces, fees, sending, receipts. */
  readonly relay: RelayNode;
  readonly sent: SentHistory;
  /** The trader's trading delegate, null when none is set; the contract emits no event when it changes. */
  delegateOf(trader: Address): Promise<Address | null>;
  hasCode(address: Address): Promise<boolean>;
  /**
   * Validates a contract wallet's signature (ERC-1271; ERC-6492 before it is deployed). This runs the wallet's code, which may be hostile:
   * callers go through `core/access/wallet-verdicts.ts`, which limits how often.
   */
  isValidSignature(wallet: Address, digest: Hex, signature: Hex): Promise<boolean>;
  /** Reads the chain id and what the Diamond serves in one round trip; throws ForeignChainError for another chain or a missing Diamond. */
  identify(referrers?: readonly Address[]): Promise<ChainFacts>;
  /** Throws where the contract does not give a figure. `since`: the first block whose events are looked at, if it is not long ago. */
  figures(since: bigint): Promise<ContractFigures>;
  /** Several reads at one block, batched as far as the Diamond allows; fails as a whole. */
  views(calls: readonly { readonly to: Address; readonly data: Hex }[], block: bigint): Promise<readonly Hex[]>;
  head(): Promise<BlockHead>;
  /** New blocks pushed by the node where it supports subscriptions; the caller must keep polling the head. */
  heads(listener: (block: BlockHead) => void): Cancel;
  /** The Diamond's logs of these blocks, in chain order; throws ChainMovedError when the chain moves during the read. */
  logs(from: bigint, to: bigint): Promise<LogRange>;
  /** The Diamond's logs of these transactions, from their receipts; throws ChainMovedError when one is not in its block. */
  receipts(places: readonly TransactionReceipt['place'][]): Promise<readonly TransactionReceipt[]>;
  /** Reads kept logs again, without a node. */
  read(place: TransactionReceipt['place'], raw: readonly RawLog[]): TransactionReceipt;
  /** The revert of a transaction on the state of the block; null when it succeeds. */
  replay(transaction: Pick<SeenTransaction, 'from' | 'to' | 'input'>, block: bigint): Promise<Revert | null>;
  /** Inputs of mined transactions by hash; throws when one of them is no longer on the chain. */
  inputs(hashes: readonly Hex[]): Promise<ReadonlyMap<Hex, Hex>>;
  /** At the block; null = latest. */
  trades(refs: readonly { readonly trader: Address; readonly tradeIndex: number }[], block: bigint | null): Promise<readonly ChainTrade[]>;
  /** Positions, resting orders and orders waiting for the oracle, at the block, null = latest. Null where the contract does not list them. */
  openOrders(trader: Address, block: bigint | null): Promise<OpenOrders | null>;
  openTrades(query: OpenTradesQuery): Promise<ReadTrades>;
  /** Balances, allowances and the collateral of orders, at the block. */
  wallet(query: WalletQuery): Promise<Wallet>;
  /** `openTrades` and `wallet` of one block, from one node. */
  wholeAccount(query: OpenTradesQuery & WalletQuery): Promise<WholeAccount>;
  /** Wei. */
  nativeBalance(address: Address): Promise<bigint>;
  accountFacts(trader: Address, tokens: readonly Address[]): Promise<AccountFacts>;
  /** The trader's first referrer, whitelisted or not; null when there is none or this Diamond does not expose it. */
  referrerOf(trader: Address): Promise<Address | null>;
  /** The trader's balance of a collateral and its allowance to the Diamond. */
  funds(trader: Address, token: Address): Promise<TokenFunds>;
  /** Simulates a write from its sender and reads all that it depends on; one round trip unless it fails with the given gas. */
  simulate(simulation: Simulation): Promise<SimulationResult>;
  /** Trader-specific terms in this market; null where this Diamond does not expose them. */
  openingTerms(trader: Address, pairIndex: number): Promise<OpeningTerms | null>;
  /** Whether the opening stays within the group's open-interest limit; null where this Diamond does not expose it. */
  fitsGroupOi(opening: OpeningQuestion): Promise<boolean | null>;
  /** Null where this Diamond does not expose it. */
  pairOpenInterest(pair: Pick<OpeningQuestion, 'pairIndex' | 'collateralIndex'>): Promise<PairOpenInterest | null>;
  /** Null where this Diamond does not expose it. */
  updateFees(trader: Address, pair: Pick<OpeningQuestion, 'pairIndex' | 'collateralIndex'>): Promise<UpdateFees | null>;
  /** Null when the node does not have it. */
  transaction(hash: Hex): Promise<SeenTransaction | null>;
  /** Its inclusion and success; null while it is not mined. */
  outcome(hash: Hex): Promise<SeenTransaction['mined']>;
  /** Headers by number, ascending. */
  blocks(numbers: readonly bigint[]): Promise<readonly BlockHead[]>;
}

/** Reports a failed node call to the caller as UPSTREAM_UNAVAILABLE instead of an internal error. */
export async function fromNode<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    throw new GatewayError('UPSTREAM_UNAVAILABLE', { upstream: 'chain node' }, { cause: error });
  }
}

/** No node answered. Holds host names only; the rest of the URLs may be secret. */
export class NoNodeError extends BaseError {
  /** The nodes that were tried. */
  readonly hosts: readonly string[];

  constructor(faults: readonly string[], hosts: readonly string[]) {
    const [only = 'the node did not answer'] = faults;
    super(faults.length <= 1 ? only : `no node answered: ${faults.join('; ')}`, { name: 'NoNodeError' });
    this.hosts = hosts;
  }
}
