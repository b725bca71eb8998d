import type { Caller } from '../access/caller.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Address, Hex } from '../types.js';
import { backfillTrader } from '../indexer/backfill-trader.js';
import type { ListedFill, ListedOrder } from '../ports/stores/account.js';
import { baseSize, collateralOf, describeOrder, LEVERAGE_SCALE, priceOf, type Order } from './describe-order.js';
import { isFillAction, type FillAction } from '../domain/chain-event.js';
import { decimal, type Decimal } from '../domain/decimal.js';
import { symbolOf, type Collateral, type MarketConfig } from '../domain/market.js';
import { tokensAtOpen } from '../domain/pricing/size.js';
import { E8 } from '../domain/pricing/units.js';

interface PageQuery {
  readonly cursor?: string | undefined;
  readonly limit: number;
}

interface Page<Item> {
  data: Item[];
  nextCursor: string | null;
}

/** Orders that are prepared, rest, wait for the oracle or can be reclaimed, newest first. */
export async function listOpenOrders(gateway: Gateway, venue: Venue, trader: Address): Promise<Order[]> {
  await backfillTrader(gateway, venue, trader);
  return describeAll(gateway, venue, trader, await gateway.store.account.liveOrders(venue.definition.slug, trader));
}

/** Every order of the account, newest first. Ids only grow, so pages are stable. */
export async function listOrderHistory(gateway: Gateway, venue: Venue, trader: Address, query: PageQuery): Promise<Page<Order>> {
  const { slug } = venue.definition;
  const scope: PageScope = { kind: 'orders', chain: slug, trader };
  const [before = null] = query.cursor === undefined ? [] : decodeCursor(scope, query.cursor, 1);
  const found = await gateway.store.account.ordersBefore(slug, trader, before, query.limit + 1);
  const page = found.slice(0, query.limit);
  const last = page.at(-1);
  const nextCursor = found.length > query.limit && last ? encodeCursor(scope, [last.id]) : null;
  return { data: await describeAll(gateway, venue, trader, page), nextCursor };
}

const ORDER_ID = /^[1-9]\d{0,15}$/;

/** Orders of another trader are reported as not found. */
export async function getOrder(gateway: Gateway, venue: Venue, caller: Caller, id: string): Promise<Order> {
  const found = ORDER_ID.test(id) ? await gateway.store.account.order(venue.definition.slug, caller.trader, BigInt(id)) : null;
  const [order] = found === null ? [] : await describeAll(gateway, venue, caller.trader, [found]);
  if (!order) throw new GatewayError('ORDER_NOT_FOUND', { id });
  return order;
}

async function describeAll(gateway: Gateway, venue: Venue, trader: Address, orders: readonly ListedOrder[]): Promise<Order[]> {
  const config = venue.feed.config();
  const filled = orders.flatMap(({ order }) => order.fill?.tradeIndex ?? []);
  const ids = await gateway.store.account.positionIds(venue.definition.slug, trader, filled);
  return orders.map((order) => describeOrder(config, order, ids));
}

/** The list and account a cursor is valid for. */
export interface PageScope {
  readonly kind: 'orders' | 'fills';
  readonly chain: string;
  readonly trader: string;
}

const FORM = /^[A-Za-z0-9_-]{1,200}$/;
/** Matches every id and block number, and nothing that the database would reject. */
const NUMBER = /^(?:0|[1-9]\d{0,15})$/;

const prefixOf = ({ kind, chain, trader }: PageScope): string => `1.${kind}.${chain}.${trader}.`;

/** Opaque to clients, but not secret: it contains only values shown on the page. */
export const encodeCursor = (scope: PageScope, mark: readonly bigint[]): string => toBase64Url(prefixOf(scope) + mark.join('.'));

export function decodeCursor(scope: PageScope, cursor: string, parts: number): readonly bigint[] {
  const text = FORM.test(cursor) ? fromBase64Url(cursor) : null;
  const prefix = prefixOf(scope);
  const mark = text?.startsWith(prefix) ? text.slice(prefix.length).split('.') : [];
  if (mark.length !== parts || !mark.every((part) => NUMBER.test(part)) || toBase64Url(text ?? '') !== cursor)
    throw new GatewayError('VALIDATION_ERROR', { issues: [{ path: 'cursor', message: 'is no cursor of this list' }] });
  return mark.map(BigInt);
}

const toBase64Url = (text: string): string => btoa(text).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');

function fromBase64Url(text: string): string | null {
  try {
    return atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  } catch {
    return null;
  }
}

export interface FillHistoryEntry {
  id: number;
  market: string | null;
  action: FillAction;
  /** Of the position. */
  side: 'long' | 'short';
  price: Decimal;
  size: Decimal;
  collateral: Decimal;
  leverage: Decimal;
  /** After all fees, in collateral. */
  pnl: Decimal;
  timestamp: number;
  txHash: Hex;
  positionId: string;
}

/** All fills, newest first in chain order. */
export async function listFills(gateway: Gateway, venue: Venue, trader: Address, query: PageQuery): Promise<Page<FillHistoryEntry>> {
  const { slug } = venue.definition;
  const scope: PageScope = { kind: 'fills', chain: slug, trader };
  const [block, logIndex] = query.cursor === undefined ? [] : decodeCursor(scope, query.cursor, 2);
  const before = block === undefined || logIndex === undefined ? null : { block, logIndex: Number(logIndex) };
  const found = await gateway.store.account.fillsBefore(slug, trader, before, query.limit + 1);
  const page = found.slice(0, query.limit);
  const ids = await gateway.store.account.positionIds(
    slug,
    trader,
    page.map(({ executed }) => executed.tradeIndex),
  );
  const config = venue.feed.config();
  return {
    data: page.flatMap((fill) => describeFill(config, fill, ids) ?? []),
    nextCursor: found.length > query.limit ? cursorAfter(scope, page) : null,
  };
}

function cursorAfter(scope: PageScope, page: readonly ListedFill[]): string | null {
  const place = page.at(-1)?.executed.place;
  return place ? encodeCursor(scope, [place.blockNumber, BigInt(place.logIndex ?? 0)]) : null;
}

/** Computed from the opening where the event has no token size: trades from before v10, and events stored before the collateral was loaded. */
const tokensOf = ({ sizeToken, sizeCollateral, terms }: ListedFill['executed'], collateral: Collateral | undefined): bigint =>
  sizeToken || !collateral
    ? (sizeToken ?? 0n)
    : tokensAtOpen({ sizeCollateral, openPrice: terms.openPrice, precision: collateral.precision });

/** null if the execution is not a fill. */
export function describeFill(
  config: MarketConfig,
  { id, executed }: ListedFill,
  ids: ReadonlyMap<number, bigint>,
): FillHistoryEntry | null {
  const { action, terms, place } = executed;
  const positionId = ids.get(executed.tradeIndex);
  if (!isFillAction(action) || positionId === undefined || place.txHash === null) return null;
  const pair = config.pairs[terms.pairIndex];
  const collateral = collateralOf(config, terms.collateralIndex);
  const decimals = collateral?.decimals ?? 18;
  return {
    id: Number(id),
    market: pair ? symbolOf(pair) : null,
    action,
    side: terms.long ? 'long' : 'short',
    price: priceOf(executed.price),
    size: baseSize(tokensOf(executed, collateral), executed.collateralPriceUsd ?? collateral?.priceUsd ?? E8),
    collateral: decimal(executed.collateral, decimals),
    leverage: decimal(terms.leverage, LEVERAGE_SCALE),
    pnl: decimal(executed.netPnl, decimals),
    timestamp: place.at,
    txHash: place.txHash,
    positionId: positionId.toString(),
  };
}
