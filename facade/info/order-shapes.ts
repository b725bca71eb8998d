import type { Address } from '../../core/types.js';
import type { Gateway, Venue } from '../../core/gateway.js';
import { describeOrder } from '../../core/account/describe-order.js';
import { decimal, divideInteger, floorToLot, formatDecimal, toUnits } from '../../core/domain/decimal.js';
import { levelOf } from '../../core/domain/order-machine.js';
import type { Level } from '../../core/domain/chain-event.js';
import type { MarketConfig } from '../../core/domain/market.js';
import type { Order } from '../../core/domain/order.js';
import type { SeenOrder } from '../../core/ports/stores/history.js';
import type { Trigger } from '../../core/ports/stores/triggers.js';
import type { ExchangeRecord } from '../../core/ports/stores/exchange.js';
import { BASE_SCALE, PRICE_SCALE, ZERO_TEXT, formatExact, formatSize, priceDecimals } from '../format.js';
import { coinPrice, coinSize, lotOf, type Asset, type Universe } from '../universe.js';

export type OrderType = 'Market' | 'Limit' | 'Stop Market' | 'Stop Limit' | 'Take Profit Market' | 'Take Profit Limit';
export type HlStatus = 'open' | 'filled' | 'canceled' | 'rejected' | 'reduceOnlyRejected' | UnaskedCancel;

/** Cancels that the owner did not request, as far as the chain shows the cause. */
export const UNASKED_CANCELS = ['siblingFilledCanceled', 'reduceOnlyCanceled', 'liquidatedCanceled', 'scheduledCancel'] as const;
export type UnaskedCancel = (typeof UNASKED_CANCELS)[number];

/** An order in the format of `frontendOpenOrders`. */
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
  /** Only for a stop loss that the contract moved: the trigger its bot asked for. */
  readonly askedTriggerPx?: string;
  readonly children: readonly FrontendOrder[];
  readonly isPositionTpsl: boolean;
  readonly reduceOnly: boolean;
  readonly orderType: OrderType;
  readonly tif: string | null;
  readonly cloid: string | null;
}

export interface OrderWithStatus {
  readonly order: FrontendOrder;
  readonly status: HlStatus;
  readonly statusTimestamp: number;
}

export interface AccountContext {
  readonly gateway: Gateway;
  readonly venue: Venue;
  readonly universe: Universe;
  readonly trader: Address;
}

/** Changes of leverage and withdrawals of profit are no trades. */
export const isTrade = ({ action }: Order): boolean => action !== 'leverage' && action !== 'withdraw';

/** An order that can still be filled is open, whatever delays it. */
export function statusOf({ status, reason }: Pick<Order, 'status' | 'reason'>): HlStatus {
  if (status === 'filled') return 'filled';
  if (status === 'canceled' || status === 'expired') return 'canceled';
  if (status !== 'rejected') return 'open';
  return reason === 'NO_TRADE' || reason === 'WRONG_TRADE' ? 'reduceOnlyRejected' : 'rejected';
}

/** Additional parts of a shown order. */
interface Beside {
  readonly children?: readonly FrontendOrder[];
  /** Base units (1e18) of its fills. */
  readonly filled?: bigint;
}

/** An order that was not sent through the facade; its client id is not shown here. */
export function showOrder(config: MarketConfig, asset: Asset, seen: SeenOrder, { children = [], filled = 0n }: Beside = {}): FrontendOrder {
  const { order } = seen;
  const level = levelOf(order);
  if (level !== null) return showLevel(asset, seen, { level, base: filled === 0n ? sizeOf(config, seen) : filled });
  const asked = shownOrderSize(asset, sizeOf(config, seen));
  const size = formatSize(coinSize(asset, filled > asked ? filled : asked), asset.szDecimals, 'down');
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
    children,
    isPositionTpsl: false,
    reduceOnly: order.reduceOnly,
    ...KINDS[order.type],
    cloid: null,
  };
}

/** A TP/SL that was created as an order, shown like one that was not. */
function showLevel(
  asset: Asset,
  { id, order }: SeenOrder,
  { level, base }: { readonly level: Level; readonly base: bigint },
): FrontendOrder {
  const { price, createdAt, status, long } = order;
  const shown = showTrigger(asset, { owner: id, kind: level, price, askedAt: createdAt }, { base, long: !long });
  return status === 'filled' ? { ...shown, sz: ZERO_TEXT, triggerCondition: 'Triggered' } : shown;
}

/** 1e18 base units. */
export const sizeOf = (config: MarketConfig, seen: Pick<SeenOrder, 'id' | 'order'>): bigint =>
  toUnits(describeOrder(config, seen, new Map()).size, BASE_SCALE, 'half-up');

const KINDS = {
  market: { orderType: 'Market', tif: 'FrontendMarket' },
  limit: { orderType: 'Limit', tif: 'Gtc' },
  stop: { orderType: 'Stop Market', tif: null },
} as const satisfies Record<Order['type'], Pick<FrontendOrder, 'orderType' | 'tif'>>;

const HUNDRED_PERCENT = 100_000n;

/** The order's price with its allowed slippage against the trader. */
const worstPrice = ({ price, slippageP, long }: Order): bigint =>
  (price * (long ? HUNDRED_PERCENT + slippageP : HUNDRED_PERCENT - slippageP)) / HUNDRED_PERCENT;

const condition = (asset: Asset, price: bigint, isAbove: boolean): string => conditionOf(coinPrice(asset, price), isAbove);

/** 1e10, of the coin. */
const conditionOf = (price: bigint, isAbove: boolean): string =>
  `Price ${isAbove ? 'above' : 'below'} ${formatDecimal(decimal(price, PRICE_SCALE))}`;

/** The remainder of a bot's order (1e18 base units), and its children. */
export interface Rest {
  readonly left: bigint;
  /** The price (1e10) of a TP/SL on chain; absent before it is there. */
  readonly held?: bigint | undefined;
  readonly children?: readonly FrontendOrder[];
}

/** The size of an order of the native API or of another client, to the nearest lot; both in base units. */
export const shownOrderSize = (asset: Asset, base: bigint): bigint => divideInteger(base, lotOf(asset), 'half-up') * lotOf(asset);

/** Base units (1e18) as displayed for the market. */
const shownSize = (asset: Asset, base: bigint): string =>
  formatSize(coinSize(asset, floorToLot(base, lotOf(asset))), asset.szDecimals, 'down');

/** Base units, 1e18: the requested size, or without one all that the order covers. */
export const askedSize = ({ order, legs }: Pick<ExchangeRecord, 'order' | 'legs'>): bigint =>
  order.size === 0n ? legs.reduce((sum, { sizeBase }) => sum + sizeBase, 0n) : order.size;

/** An order of the facade, as the bot sent it. */
export function showRecord(asset: Asset, record: ExchangeRecord, { left, held, children = [] }: Rest): FrontendOrder {
  const { order, wire } = record;
  const { style, isBuy } = order;
  const asked = askedSize(record);
  const size = (base: bigint): string => shownSize(asset, base);
  const isTrigger = style.kind === 'trigger';
  const isMoved = isTrigger && held !== undefined && held !== style.trigger;
  const trigger = isMoved ? onTick(asset, held) : coinPrice(asset, isTrigger ? style.trigger : 0n);
  return {
    coin: asset.coin,
    side: isBuy ? 'B' : 'A',
    limitPx: formatExact(coinPrice(asset, order.limit)),
    // A position can be slightly larger than the size its level was requested for.
    sz: size(left < asked ? left : asked),
    oid: Number(record.oid),
    timestamp: record.createdAt,
    origSz: size(asked),
    triggerCondition: isTrigger ? conditionOf(trigger, (style.tpsl === 'sl') === isBuy) : 'N/A',
    isTrigger,
    triggerPx: isTrigger ? formatExact(trigger) : ZERO_TEXT,
    ...(isMoved ? { askedTriggerPx: formatExact(coinPrice(asset, style.trigger)) } : {}),
    children,
    isPositionTpsl: record.manner === 'protection' && (wire.grouping ?? 'positionTpsl') === 'positionTpsl',
    reduceOnly: order.reduceOnly,
    orderType: isTrigger ? triggerType(style.tpsl, wire.isMarket !== false) : wire.tif === 'FrontendMarket' ? 'Market' : 'Limit',
    tif: isTrigger ? null : wire.tif,
    cloid: record.cloid,
  };
}

/** The coin's price, 1e10, on the tick: bots can only send such prices. */
function onTick(asset: Asset, price: bigint): bigint {
  const coin = coinPrice(asset, price);
  const step = 10n ** BigInt(PRICE_SCALE - priceDecimals(coin, asset.szDecimals));
  return divideInteger(coin, step, 'half-up') * step;
}

const triggerType = (tpsl: 'tp' | 'sl', isMarket: boolean): OrderType =>
  `${tpsl === 'tp' ? 'Take Profit' : 'Stop'} ${isMarket ? 'Market' : 'Limit'}`;

/** `long` is the side of the protected position. */
export interface Protected {
  readonly base: bigint;
  readonly long: boolean;
}

/** A trigger that no bot set closes its whole trade at the market once its price is reached. */
export function showTrigger(
  asset: Asset,
  { owner, kind, price, askedAt }: Pick<Trigger, 'owner' | 'kind' | 'price' | 'askedAt'>,
  { base, long }: Protected,
): FrontendOrder {
  const px = formatExact(coinPrice(asset, price));
  const size = shownSize(asset, base);
  return {
    coin: asset.coin,
    side: long ? 'A' : 'B',
    limitPx: px,
    sz: size,
    oid: Number(owner),
    timestamp: askedAt,
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

/** The short form of `openOrders`; flags are present only when set. */
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

/** The format of `orderUpdates`; a stop loss that the contract moved also shows its actual and its requested trigger. */
export const updatedOrder = (order: FrontendOrder) => ({
  ...plainOrder(order),
  ...(order.askedTriggerPx === undefined ? {} : { triggerPx: order.triggerPx, askedTriggerPx: order.askedTriggerPx }),
});
