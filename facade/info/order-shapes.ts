import { describeOrder } from '../../core/account/describe-order.js';
import { formatDecimal, decimal, toUnits } from '../../core/domain/decimal.js';
import type { MarketConfig } from '../../core/domain/market.js';
import type { Order } from '../../core/domain/order.js';
import type { SeenOrder } from '../../core/facade/history-store.js';
import type { KnownProtection } from '../../core/facade/protection-store.js';
import { BASE_SCALE, PRICE_SCALE, ZERO_TEXT, formatExact, formatSize } from '../format.js';
import { coinPrice, coinSize, type Asset } from '../universe.js';

export type OrderType = 'Market' | 'Limit' | 'Stop Market' | 'Take Profit Market';
export type TimeInForce = 'Gtc' | 'Ioc' | 'FrontendMarket';
export type HlStatus = 'open' | 'filled' | 'canceled' | 'rejected' | 'reduceOnlyRejected';

/** An order as `frontendOpenOrders` tells it. */
export interface FrontendOrder {
  readonly coin: string;
  readonly side: 'B' | 'A';
  readonly limitPx: string;
  readonly sz: string;
  readonly oid: number;
  readonly timestamp: number;
  readonly origSz: string;
  readonly triggerCondition: string;
  readonly isTrigger: boolean;
  readonly triggerPx: string;
  readonly children: readonly FrontendOrder[];
  readonly isPositionTpsl: boolean;
  readonly reduceOnly: boolean;
  readonly orderType: OrderType;
  readonly tif: TimeInForce | null;
  readonly cloid: string | null;
}

/** Changes of leverage and withdrawals of profit trade nothing. */
export const isTrade = ({ action }: Order): boolean => action !== 'leverage' && action !== 'withdraw';

const CLOID = /^0x[0-9a-f]{32}$/;
/** Client ids of the native door are nobody's business here. */
export const cloidOf = ({ order, isRelayed }: SeenOrder): string | null =>
  isRelayed && order.clientId !== null && CLOID.test(order.clientId) ? order.clientId : null;

/** What a client may rely on: an order that can still be filled is open, whatever keeps it waiting. */
export function statusOf({ status, reason }: Order): HlStatus {
  if (status === 'filled') return 'filled';
  if (status === 'canceled' || status === 'expired') return 'canceled';
  if (status !== 'rejected') return 'open';
  return reason === 'NO_TRADE' || reason === 'WRONG_TRADE' ? 'reduceOnlyRejected' : 'rejected';
}

export function showOrder(
  config: MarketConfig,
  asset: Asset,
  seen: SeenOrder,
  protections: readonly KnownProtection[] = [],
): FrontendOrder {
  const { order } = seen;
  const base = sizeOf(config, seen);
  const size = formatSize(coinSize(asset, base), asset.szDecimals, 'half-up');
  const isStop = order.type === 'stop';
  return {
    coin: asset.coin,
    side: order.long ? 'B' : 'A',
    limitPx: formatExact(coinPrice(asset, order.type === 'limit' ? order.price : worstPrice(order))),
    sz: order.status === 'filled' ? ZERO_TEXT : size,
    oid: Number(seen.id),
    timestamp: order.createdAt,
    origSz: size,
    triggerCondition: isStop ? condition(asset, order.price, order.long) : 'N/A',
    isTrigger: isStop,
    triggerPx: isStop ? formatExact(coinPrice(asset, order.price)) : ZERO_TEXT,
    children: protections.map((own) => showProtection(asset, own, { base, long: order.long })),
    isPositionTpsl: false,
    reduceOnly: order.reduceOnly,
    ...KINDS[order.type],
    ...(seen.isRelayed && order.type === 'market' ? RELAYED_MARKET : {}),
    cloid: cloidOf(seen),
  };
}

/** 1e18 base units. */
export const sizeOf = (config: MarketConfig, seen: SeenOrder): bigint =>
  toUnits(describeOrder(config, seen, new Map()).size, BASE_SCALE, 'half-up');

const KINDS = {
  market: { orderType: 'Market', tif: 'FrontendMarket' },
  limit: { orderType: 'Limit', tif: 'Gtc' },
  stop: { orderType: 'Stop Market', tif: null },
} as const satisfies Record<Order['type'], Pick<FrontendOrder, 'orderType' | 'tif'>>;

/** Clients have no market orders: they send a limit that must be met at once. */
const RELAYED_MARKET = { orderType: 'Limit', tif: 'Ioc' } as const;

const HUNDRED_PERCENT = 100_000n;

/** The price named, and the slippage allowed from it against the trader. */
function worstPrice({ price, slippageP, long }: Order): bigint {
  return (price * (long ? HUNDRED_PERCENT + slippageP : HUNDRED_PERCENT - slippageP)) / HUNDRED_PERCENT;
}

const condition = (asset: Asset, price: bigint, isAbove: boolean): string =>
  `Price ${isAbove ? 'above' : 'below'} ${formatDecimal(decimal(coinPrice(asset, price), PRICE_SCALE))}`;

/** `long` is the side of what it protects. */
export interface Protected {
  readonly base: bigint;
  readonly long: boolean;
}

/** It closes all of its trade at the market once its price is reached. */
export function showProtection(asset: Asset, { id, kind, price, seenAt }: KnownProtection, { base, long }: Protected): FrontendOrder {
  const px = formatExact(coinPrice(asset, price));
  const size = formatSize(coinSize(asset, base), asset.szDecimals, 'down');
  return {
    coin: asset.coin,
    side: long ? 'A' : 'B',
    limitPx: px,
    sz: size,
    oid: Number(id),
    timestamp: seenAt,
    origSz: size,
    triggerCondition: condition(asset, price, (kind === 'tp') === long),
    isTrigger: true,
    triggerPx: px,
    children: [],
    isPositionTpsl: true,
    reduceOnly: true,
    orderType: kind === 'tp' ? 'Take Profit Market' : 'Stop Market',
    tif: null,
    cloid: null,
  };
}

/** The short form of `openOrders`; flags are there only when they are set. */
export const plainOrder = ({ coin, side, limitPx, sz, oid, timestamp, origSz, cloid, reduceOnly }: FrontendOrder) => ({
  coin,
  side,
  limitPx,
  sz,
  oid,
  timestamp,
  origSz,
  ...(cloid === null ? {} : { cloid }),
  ...(reduceOnly ? { reduceOnly } : {}),
});
