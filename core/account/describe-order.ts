import { marketName, type Collateral, type MarketConfig } from '../domain/market.js';
import { decimal, divide, round, type Decimal } from '../domain/decimal.js';
import type { ListedOrder } from '../ports/stores/account.js';
import type { Order as StoredOrder, OrderFill, OrderReason, OrderStatus, OrderType } from '../domain/order.js';
import { positionSizeCollateral, tokensAtOpen } from '../domain/pricing/size.js';
import { E8 } from '../domain/pricing/units.js';
import type { Address, Hex } from '../types.js';

/** An order in API format. */
export interface Order {
  id: string;
  trader: Address;
  market: string;
  side: 'long' | 'short';
  type: OrderType;
  size: Decimal;
  price: Decimal | null;
  leverage: Decimal;
  collateral: string;
  sl: Decimal | null;
  tp: Decimal | null;
  reduceOnly: boolean;
  slippage: Decimal;
  clientId: string | null;
  status: OrderStatus;
  txHash: Hex | null;
  expiresAt: number | null;
  fill: Fill | null;
  reason: OrderReason | null;
  createdAt: number;
  updatedAt: number;
}

export interface Fill {
  price: Decimal;
  size: Decimal;
  collateral: Decimal;
  feeCollateral: Decimal;
  txHash: Hex;
  timestamp: number;
  positionId: string | null;
}

/** Finer than the token units of any collateral. */
export const SIZE_SCALE = 10;
const PRICE_SCALE = 10;
export const LEVERAGE_SCALE = 3;
const NO_HASH: Hex = '0x';

export const priceOf = (units: bigint): Decimal => decimal(units, PRICE_SCALE);
const optionalPrice = (units: bigint): Decimal | null => (units === 0n ? null : priceOf(units));

export const collateralOf = (config: MarketConfig, index: number): Collateral | undefined =>
  config.collaterals.find((collateral) => collateral.index === index);

/** Base units of a size in the contract's tokens. */
export const baseSize = (sizeToken: bigint, priceUsd: bigint): Decimal => round(decimal(sizeToken * priceUsd, 26), SIZE_SCALE, 'half-up');

export function describeOrder(
  config: MarketConfig,
  { id, order }: Pick<ListedOrder, 'id' | 'order'>,
  positionIds: ReadonlyMap<number, bigint>,
): Order {
  const collateral = collateralOf(config, order.collateralIndex);
  return {
    id: id.toString(),
    trader: order.trader,
    market: marketName(config, order.pairIndex),
    side: order.long ? 'long' : 'short',
    type: order.type,
    size: sizeOf(order, collateral),
    price: optionalPrice(order.price),
    leverage: decimal(order.leverage, LEVERAGE_SCALE),
    collateral: collateral?.symbol ?? `#${order.collateralIndex}`,
    sl: optionalPrice(order.sl),
    tp: optionalPrice(order.tp),
    reduceOnly: order.reduceOnly,
    slippage: decimal(order.slippageP, 3),
    clientId: order.clientId,
    status: order.status,
    txHash: order.txHash,
    expiresAt: order.expiresAt,
    fill: order.fill && describeFill(order.fill, collateral, positionIds),
    reason: order.reason,
    createdAt: order.createdAt,
    updatedAt: order.updatedAt,
  };
}

/** The requested size; if it is not stored, computed from tokens or from the order's price, with the collateral's price at the fill or now. */
function sizeOf(order: StoredOrder, collateral: Collateral | undefined): Decimal {
  const { asked } = order;
  if (asked?.sizeCollateral === order.sizeCollateral) return decimal(asked.sizeBase, 18);
  const priceUsd = order.fill?.collateralPriceUsd ?? collateral?.priceUsd ?? E8;
  if (order.sizeToken !== null) return baseSize(order.sizeToken, priceUsd);
  if (order.price === 0n || !collateral) return decimal(0n, 0);
  return divide(decimal(order.sizeCollateral * priceUsd, 8 + collateral.decimals), priceOf(order.price), SIZE_SCALE, 'half-up');
}

function describeFill(fill: OrderFill, collateral: Collateral | undefined, positionIds: ReadonlyMap<number, bigint>): Fill {
  const decimals = collateral?.decimals ?? 18;
  return {
    price: priceOf(fill.price),
    size: baseSize(fill.sizeToken, fill.collateralPriceUsd ?? collateral?.priceUsd ?? E8),
    collateral: decimal(fill.collateral, decimals),
    feeCollateral: decimal(fill.fee, decimals),
    txHash: fill.txHash ?? NO_HASH,
    timestamp: fill.at,
    positionId: positionIds.get(fill.tradeIndex)?.toString() ?? null,
  };
}

/** Base units of a trade; for trades from before the contract stored tokens, computed from the opening. */
export function tradeSize(
  trade: { readonly sizeToken: bigint; readonly collateralAmount: bigint; readonly leverage: bigint; readonly openPrice: bigint },
  collateral: Pick<Collateral, 'precision' | 'priceUsd'>,
): Decimal {
  if (trade.sizeToken > 0n || trade.openPrice === 0n) return baseSize(trade.sizeToken, collateral.priceUsd);
  const sizeCollateral = positionSizeCollateral(trade);
  return baseSize(tokensAtOpen({ ...trade, sizeCollateral, precision: collateral.precision }), collateral.priceUsd);
}
