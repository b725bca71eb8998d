import type { SpendAccount } from './spend.js';
import type { ChainSlug } from '../../chains/chains.js';
import type { ChainEvent, OrderKey, PreparationSteps } from '../../domain/chain-event.js';
import type { Decimal } from '../../domain/decimal.js';
import type { Order } from '../../domain/order.js';
import type { Address, Hex } from '../../types.js';
import type { OpeningGuard } from './rules.js';

/** The bytes that were handed out for an order, known again on chain by their tag. */
export interface HandedOut {
  /** 16 random bytes; `core/trading/tag.ts` appends them, with a magic before them, to the call data. */
  readonly tag: Hex;
  /** The whole call data, tag included. */
  readonly data: Hex;
  readonly gas: bigint | null;
  /** How long it took; kept with the order's first event. */
  readonly steps?: PreparationSteps;
}

/** An order about to be handed out, `order.status` = prepared. Stored as a whole or not at all. */
export interface Draft extends HandedOut {
  readonly chain: ChainSlug;
  readonly agent: Address;
  readonly order: Order;
  /** Of what was asked, in canonical form: the same clientId with another fingerprint is a conflict. */
  readonly fingerprint: Hex;
  /** Notional that counts against the agent's day; null for what opens nothing. */
  readonly spend: { readonly account: SpendAccount; readonly usd: Decimal; readonly capUsd: Decimal | null } | null;
  /** Of orders this agent has prepared and not sent. */
  readonly maxUnsent: number;
  /** The trade it closes, where nothing else may be under way for that trade; judged in the same step. */
  readonly soleOn?: number;
  /** Of an opening that the relayer sends: the operator's rules are judged in the same step, which throws GuardrailError. */
  readonly guard?: OpeningGuard;
  /** Of an opening that the relayer sends: what the trader can pay for, minus the openings that are not mined yet. */
  readonly funds?: OpeningFunds;
}

/** What an opening needs and what the trader's wallet held when the chain was asked. Amounts in the collateral's units. */
export interface OpeningFunds {
  readonly collateralIndex: number;
  /** The collateral of the opening: the allowance has to cover it. */
  readonly amount: bigint;
  /** What leaves the wallet: less than `amount` where the same transaction frees the collateral of another order. */
  readonly takes: bigint;
  readonly balance: bigint;
  readonly allowance: bigint;
  /** The database's time before the chain was asked: what was prepared then is not sure to be in the figures. */
  readonly readAt: number;
  /** The database's time when the request came: a later reading serves all its openings. */
  readonly askedAt: number;
}

export type Placed = PlacedWith<unknown>;

/** With what was stored beside it. */
export type PlacedWith<Beside> = ({ readonly kind: 'placed'; readonly stored: KnownOrder } & Beside) | NotPlaced;

export type NotPlaced =
  /** The clientId is taken, by the same order or by another one: compare fingerprints. Nothing was stored. */
  | { readonly kind: 'known'; readonly stored: KnownOrder }
  | { readonly kind: 'over-cap'; readonly spentUsd: Decimal }
  | { readonly kind: 'too-many'; readonly earliestExpiry: number }
  /** Something is under way for the trade it was to be alone on. */
  | { readonly kind: 'busy' }
  /** The trader cannot pay for it beside the openings that are not mined yet; `takes` and `amount` are the sums of those. `askedAt` is the database's time. */
  | { readonly kind: 'short'; readonly takes: bigint; readonly amount: bigint; readonly askedAt: number };

/** An order with all we know of how it got to the chain. Orders made elsewhere have no agent, no transaction and no fingerprint. */
export interface KnownOrder {
  readonly id: bigint;
  readonly order: Order;
  /** Its place on chain now; null before it is there. */
  readonly orderKey: OrderKey | null;
  readonly agent: Address | null;
  readonly fingerprint: Hex | null;
  /** The order whose bytes were mined once more and made this one; null for all others. */
  readonly repeatOf: bigint | null;
  /** What was handed out last. */
  readonly transaction: HandedOut | null;
  /** Call data that was handed out before that, and may still be sent. */
  readonly formerData: readonly Hex[];
  /** Transactions reported for it or seen to carry it, oldest first. */
  readonly hashes: readonly Hex[];
}

export interface OrdersStore {
  /** One atomic step: clientId, number of unsent orders, spending cap, order, first event, journal. */
  place(draft: Draft): Promise<Placed>;
  /** An order that expired unsent is handed out afresh under its old id; false when it is no longer expired, or a hash is known. */
  renew(chain: ChainSlug, id: bigint, draft: Draft): Promise<Placed | { readonly kind: 'moved-on' }>;
  /** Those of the trader that were handed out with one of these tags, in the order of their ids. */
  tagged(chain: ChainSlug, trader: Address, tags: readonly Hex[]): Promise<KnownOrder[]>;
  find(chain: ChainSlug, trader: Address, id: bigint): Promise<KnownOrder | null>;
  findByClientId(chain: ChainSlug, trader: Address, clientId: string): Promise<KnownOrder | null>;
  /** The live order on this place of the chain. */
  findByKey(chain: ChainSlug, trader: Address, orderKey: OrderKey): Promise<KnownOrder | null>;
  /** Orders of the trader that wait for the oracle and concern this trade, oldest first. */
  pendingOnTrade(chain: ChainSlug, trader: Address, tradeIndex: number): Promise<KnownOrder[]>;
  /** A resting order's replacement was handed out: its new slot belongs to the same order. */
  expectReplacement(chain: ChainSlug, id: bigint, transaction: HandedOut, order: Order): Promise<void>;
  /** Repeated calls change nothing. */
  recordHash(chain: ChainSlug, id: bigint, hash: Hex, at: number): Promise<KnownOrder>;
  /** The same for many in one step, and no word about those that are gone. */
  recordHashes(chain: ChainSlug, sent: readonly { readonly id: bigint; readonly hash: Hex }[], at: number): Promise<void>;
  /** The owner gives up an order nobody has sent; false when it is no longer prepared, or a hash is known. */
  giveUp(chain: ChainSlug, trader: Address, id: bigint, at: number): Promise<boolean>;
  /** Prepared orders whose time is up become expired, those with a known hash only where named, none that the relayer may be sending; says how many. */
  lapse(chain: ChainSlug, now: number, sent?: readonly bigint[]): Promise<number>;
  /** Prepared orders with a known hash, oldest first: their transaction may have failed or been forgotten. */
  sent(chain: ChainSlug, limit: number, after?: bigint): Promise<KnownOrder[]>;
  /** Those of them that were handed out with one of these tags. */
  sentWith(chain: ChainSlug, tags: readonly Hex[]): Promise<KnownOrder[]>;
  /** All that ever happened to the order, oldest first; what a reorganisation took back is marked. */
  story(chain: ChainSlug, trader: Address, id: bigint): Promise<OrderStory | null>;
}

export interface OrderStory {
  readonly events: readonly { readonly event: ChainEvent; readonly isTakenBack: boolean }[];
  /** Orders that the same bytes made when they were mined again. */
  readonly repeats: readonly bigint[];
}
