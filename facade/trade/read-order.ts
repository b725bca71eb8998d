import { decimalsOf, parseDecimal, toUnits, type Decimal } from '../../core/domain/decimal.js';
import type { ExchangeOrder, ExchangeStyle, TimeInForce } from '../../core/domain/relay/exchange-order.js';
import type { ExchangeItem } from './plan/plan-items.js';
import type { Grouping, WireTerms } from '../../core/ports/stores/exchange.js';
import type { WireOrder } from '../actions/trade.js';
import { BASE_SCALE, PRICE_SCALE } from '../format.js';
import { lotOf, type Asset } from '../universe.js';
import { ITEM_TEXTS } from './item-texts.js';

const SIGNIFICANT = 5;
/** The decimals of a price and of a size add up to six at most. */
const PRICE_AND_SIZE = 6;

export type ReadOrder = { readonly kind: 'order'; readonly item: ExchangeItem } | { readonly kind: 'error'; readonly text: string };

/** Converts a wire order to the contract's units, or returns the text that says what is wrong with it. */
export function readOrder(asset: Asset | undefined, wire: WireOrder, item: number, grouping: Grouping = 'na'): ReadOrder {
  if (!asset?.pair) return error(ITEM_TEXTS.invalidAsset);
  const isWholePosition = 'trigger' in wire.t && wire.r && isZero(wire.s);
  if (isZero(wire.s) && !isWholePosition) return error(ITEM_TEXTS.zeroSize);
  if (decimalsOf(parseDecimal(wire.s)) > asset.szDecimals) return error(ITEM_TEXTS.invalidSize);
  const prices = [wire.p, ...('trigger' in wire.t ? [wire.t.trigger.triggerPx] : [])];
  if (!prices.every((price) => isOnTick(parseDecimal(price), asset.szDecimals))) return error(ITEM_TEXTS.invalidPrice);
  const order = exchangeOrder(asset, wire);
  if (![order.limit, ...(order.style.kind === 'trigger' ? [order.style.trigger] : [])].every(isPrice))
    return error(ITEM_TEXTS.invalidPrice);
  if (order.size > MAX_SIZE) return error(ITEM_TEXTS.invalidSize);
  return {
    kind: 'order',
    item: {
      item,
      symbol: asset.symbol,
      pairIndex: asset.id,
      sizeStep: lotOf(asset),
      order,
      wire: { ...termsOf(wire), grouping },
      cloid: wire.c ?? null,
      tp: 0n,
      sl: 0n,
      closingSlippageP: 0n,
    },
  };
}

/** Above the contracts' limits (64 bits of price, 120 of collateral), with a margin for slippage. */
const MAX_PRICE = 2n ** 62n;
const MAX_SIZE = 10n ** 42n;
const isPrice = (price: bigint): boolean => price > 0n && price <= MAX_PRICE;

const error = (text: string): ReadOrder => ({ kind: 'error', text });
const isZero = (text: string): boolean => parseDecimal(text).units === 0n;

/** Five significant figures, six decimals less those of the size; whole numbers always. */
function isOnTick(price: Decimal, szDecimals: number): boolean {
  const decimals = decimalsOf(price);
  if (decimals === 0) return true;
  return decimals <= PRICE_AND_SIZE - szDecimals && price.units.toString().length <= SIGNIFICANT;
}

/** If the contract has fewer digits, prices are rounded in the trader's favour: a buyer's down, a seller's up. */
export function exchangeOrder(asset: Pick<Asset, 'multiplier'>, wire: WireOrder): ExchangeOrder {
  const rounding = wire.b ? 'floor' : 'ceil';
  const price = (text: string): bigint => {
    const units = toUnits(parseDecimal(text), PRICE_SCALE, rounding);
    return wire.b ? units / asset.multiplier : (units + asset.multiplier - 1n) / asset.multiplier;
  };
  return {
    isBuy: wire.b,
    limit: price(wire.p),
    size: toUnits(parseDecimal(wire.s), BASE_SCALE, 'down') * asset.multiplier,
    reduceOnly: wire.r,
    style: styleOf(wire, price),
  };
}

function styleOf({ t }: WireOrder, price: (text: string) => bigint): ExchangeStyle {
  if ('trigger' in t) {
    const { triggerPx, tpsl, isMarket } = t.trigger;
    return { kind: 'trigger', trigger: price(triggerPx), tpsl, isMarket };
  }
  const tif: TimeInForce = t.limit.tif === 'LiquidationMarket' ? 'Ioc' : t.limit.tif;
  return { kind: 'limit', tif };
}

const termsOf = ({ p, s, t }: WireOrder): WireTerms => ({
  limitPx: p,
  sz: s,
  tif: 'limit' in t ? t.limit.tif : null,
  triggerPx: 'trigger' in t ? t.trigger.triggerPx : null,
  isMarket: 'trigger' in t ? t.trigger.isMarket : null,
  tpsl: 'trigger' in t ? t.trigger.tpsl : null,
});
