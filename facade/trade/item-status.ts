import { decimal, divideInteger, floorToLot, formatDecimal, round } from '../../core/domain/decimal.js';
import type { Order } from '../../core/domain/order.js';
import { E8, HUNDRED_PERCENT } from '../../core/domain/pricing/units.js';
import type { GatewayError } from '../../core/errors.js';
import type { Venue } from '../../core/gateway.js';
import type { ItemOutcome, BeyondCap } from './plan/plan-items.js';
import type { ModifyOutcome } from './send/relay-modify.js';
import { BASE_SCALE, formatSize, formatTick } from '../format.js';
import { averagePrice, type ShownFill } from '../info/fills.js';
import { fillsOf, sizeOfFills } from '../info/order-fills.js';
import type { ItemStatus } from '../reply.js';
import { coinPrice, coinSize, lotOf, type Asset } from '../universe.js';
import { causeOfError, causeText, missText } from './cause-texts.js';
import { beyondCapText, errorText, guardText, REASON_TEXTS, refusalText, withAsset } from './item-texts.js';
import type { TradeWork } from './trade-work.js';

/**
 * Throws an error that concerns more than one item, but only if every item failed: otherwise it would hide the results of the items
 * that succeeded.
 */
export function throwIfAll(outcomes: readonly { readonly kind: string; readonly error?: GatewayError }[]): void {
  const errors = outcomes.flatMap(({ error }) => (error !== undefined && errorText(error) === null ? [error] : []));
  const [first] = errors;
  if (first && errors.length === outcomes.length) throw first;
}

/** The fills of a bot's order, oldest first; empty if they could not be read. */
export type FillsOf = (oid: bigint) => readonly ShownFill[];

/** Reads the fills of all items in one query. If the database fails, executed orders are still reported as executed. */
export async function readOutcomes(work: TradeWork, outcomes: readonly (ItemOutcome | ModifyOutcome)[]): Promise<FillsOf> {
  const { gateway, venue, universe, caller } = work;
  const orders = outcomes.flatMap((outcome) => (outcome.kind === 'filled' ? outcome.orders : []));
  if (orders.length === 0) return () => [];
  const account = { gateway, venue, universe, trader: caller.trader };
  const fills = await fillsOf(
    account,
    orders.map((order) => ({ order })),
  ).catch((error: unknown) => {
    venue.log.warn('facade.fills-not-read', { error });
    return null;
  });
  return (oid) => fills?.ofRecord(oid) ?? [];
}

/** One outcome in Hyperliquid's format. */
export function statusOf(venue: Venue, asset: Asset, outcome: ItemOutcome, cloid: string | null, fills: FillsOf): ItemStatus {
  const named = cloid === null ? {} : { cloid };
  switch (outcome.kind) {
    case 'filled':
      return { filled: { ...totals(venue, asset, outcome.orders, fills(outcome.oid)), oid: Number(outcome.oid), ...named } };
    case 'resting':
      return { resting: { oid: Number(outcome.oid), ...named } };
    case 'rejected':
      return itemError(withCause(REASON_TEXTS[outcome.reason ?? 'OTHER'], outcome.cause && causeText(asset, outcome.cause)), asset.id);
    case 'refused': {
      const text = refusalText(outcome.why, { bbo: bestPrices(venue, asset), sizes: sizesText(asset, outcome.sizes ?? []) });
      return itemError(withCause(text, outcome.missed ? missText(asset, outcome.missed) : null), asset.id);
    }
    case 'stop-beyond-cap':
      return itemError(beyondCapText(nearestText(asset, outcome)), asset.id);
    case 'guarded':
      return itemError(guardText(outcome.refusal), asset.id);
    case 'failed':
      return itemError(failureText(asset, outcome.error), asset.id);
  }
}

const withCause = (text: string, cause: string | null): string => (cause === null ? text : `${text} ${cause}`);

/** Hyperliquid's words, and the figures behind them. */
function failureText(asset: Asset, error: GatewayError): string {
  const cause = causeOfError(error);
  return withCause(errorText(error) ?? error.message, cause && causeText(asset, cause));
}

/** How many sizes are listed besides that of the whole position. */
const MOST_SIZES = 5;

function sizesText(asset: Asset, sizes: readonly bigint[]): string {
  const texts = sizes.map((size) => formatDecimal(round(decimal(coinSize(asset, size), BASE_SCALE), asset.szDecimals, 'down')));
  return texts.filter((_, at) => at < MOST_SIZES || at === texts.length - 1).join(', ');
}

/** On the tick, rounded towards the position, so that the named price is accepted as it is. */
const nearestText = (asset: Asset, { nearest, long }: BeyondCap): string | null =>
  nearest === null ? null : formatTick(coinPrice(asset, nearest), asset.szDecimals, long ? 'ceil' : 'floor');

export const itemError = (text: string, asset: number): ItemStatus => ({ error: withAsset(text, asset) });

/** Base units, 1e18, from the contract's token size. */
const baseOf = (venue: Venue, { fill, collateralIndex }: Order): bigint => {
  const priceUsd = fill?.collateralPriceUsd ?? venue.feed.config().collaterals.find(({ index }) => index === collateralIndex)?.priceUsd;
  return ((fill?.sizeToken ?? 0n) * (priceUsd ?? E8)) / E8;
};

/** From the fills; without them, from the orders' own executions. */
function totals(venue: Venue, asset: Asset, orders: readonly Order[], fills: readonly ShownFill[]): { totalSz: string; avgPx: string } {
  const parts = orders.map((order) => ({ base: baseOf(venue, order), price: order.fill?.price ?? 0n }));
  const base = parts.reduce((sum, part) => sum + part.base, 0n);
  const paid = parts.reduce((sum, part) => sum + part.base * part.price, 0n);
  const average = base === 0n ? (parts[0]?.price ?? 0n) : divideInteger(paid, base, 'half-up');
  const size = fills.length === 0 ? floorToLot(base, lotOf(asset)) : sizeOfFills(fills);
  return {
    totalSz: formatSize(coinSize(asset, size), asset.szDecimals, 'down'),
    avgPx: formatTick(coinPrice(asset, fills.length === 0 ? average : averagePrice(fills)), asset.szDecimals, 'half-up'),
  };
}

/** `bid@ask`, half a spread to either side of the oracle price. */
function bestPrices(venue: Venue, asset: Asset): string {
  const price = coinPrice(asset, venue.feed.lastPrice(asset.id)?.oracle ?? 0n);
  const away = (price * (asset.pair?.spreadP ?? 0n)) / 2n / HUNDRED_PERCENT;
  return `${formatTick(price - away, asset.szDecimals, 'floor')}@${formatTick(price + away, asset.szDecimals, 'ceil')}`;
}
