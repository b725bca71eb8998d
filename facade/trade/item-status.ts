import { divideInteger } from '../../core/domain/decimal.js';
import type { Order } from '../../core/domain/order.js';
import { HUNDRED_PERCENT } from '../../core/domain/pricing/units.js';
import type { GatewayError } from '../../core/errors.js';
import type { Venue } from '../../core/gateway.js';
import type { ItemOutcome } from '../../core/relay/plan-items.js';
import type { BeyondCap } from '../../core/relay/stop-beyond-cap.js';
import { formatExact, formatSize, formatTick } from '../format.js';
import type { ItemStatus } from '../reply.js';
import { coinPrice, coinSize, type Asset } from '../universe.js';
import { guardText } from './guard-texts.js';
import { beyondCapText, errorText, REASON_TEXTS, refusalText, withAsset } from './item-texts.js';

/**
 * What concerns more than one item is thrown on, as long as it is all there is to say: beside an item that was done it must not hide
 * what became of that one.
 */
export function throwIfAll(outcomes: readonly { readonly kind: string; readonly error?: GatewayError }[]): void {
  const errors = outcomes.flatMap(({ error }) => (error !== undefined && errorText(error) === null ? [error] : []));
  const [first] = errors;
  if (first && errors.length === outcomes.length) throw first;
}

/** One outcome in Hyperliquid's words. */
export function statusOf(venue: Venue, asset: Asset, outcome: ItemOutcome, cloid: string | null): ItemStatus {
  const named = cloid === null ? {} : { cloid };
  switch (outcome.kind) {
    case 'filled':
      return { filled: { ...totals(venue, asset, outcome.orders), oid: Number(outcome.oid), ...named } };
    case 'resting':
      return { resting: { oid: Number(outcome.oid), ...named } };
    case 'rejected':
      return itemError(REASON_TEXTS[outcome.reason ?? 'OTHER'], asset.id);
    case 'refused':
      return itemError(refusalText(outcome.why, bestPrices(venue, asset)), asset.id);
    case 'stop-beyond-cap':
      return itemError(beyondCapText(nearestText(asset, outcome)), asset.id);
    case 'guarded':
      return itemError(guardText(outcome.refusal), asset.id);
    case 'failed':
      return itemError(errorText(outcome.error) ?? outcome.error.message, asset.id);
  }
}

/** On the tick, rounded towards the position: the price that is named is taken as it stands. */
const nearestText = (asset: Asset, { nearest, long }: BeyondCap): string | null =>
  nearest === null ? null : formatTick(coinPrice(asset, nearest), asset.szDecimals, long ? 'ceil' : 'floor');

export const itemError = (text: string, asset: number): ItemStatus => ({ error: withAsset(text, asset) });

/** Base units, 1e18, of what the contract calls tokens. */
const baseOf = (venue: Venue, { fill, collateralIndex }: Order): bigint => {
  const priceUsd = fill?.collateralPriceUsd ?? venue.feed.config().collaterals.find(({ index }) => index === collateralIndex)?.priceUsd;
  return ((fill?.sizeToken ?? 0n) * (priceUsd ?? 10n ** 8n)) / 10n ** 8n;
};

function totals(venue: Venue, asset: Asset, orders: readonly Order[]): { totalSz: string; avgPx: string } {
  const parts = orders.map((order) => ({ base: baseOf(venue, order), price: order.fill?.price ?? 0n }));
  const base = parts.reduce((sum, part) => sum + part.base, 0n);
  const paid = parts.reduce((sum, part) => sum + part.base * part.price, 0n);
  const average = base === 0n ? (parts[0]?.price ?? 0n) : divideInteger(paid, base, 'half-up');
  return {
    totalSz: formatSize(coinSize(asset, base), asset.szDecimals, 'half-up'),
    avgPx: formatExact(coinPrice(asset, average)),
  };
}

/** `bid@ask`, half a spread to either side of the oracle's price. */
function bestPrices(venue: Venue, asset: Asset): string {
  const price = coinPrice(asset, venue.feed.lastPrice(asset.id)?.oracle ?? 0n);
  const away = (price * (asset.pair?.spreadP ?? 0n)) / 2n / HUNDRED_PERCENT;
  return `${formatTick(price - away, asset.szDecimals, 'floor')}@${formatTick(price + away, asset.szDecimals, 'ceil')}`;
}
