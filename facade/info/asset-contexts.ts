import { absolute, decimal, divide, divideInteger, toUnits, type Decimal } from '../../core/domain/decimal.js';
import type { MarketConfig, PricePoint } from '../../core/domain/market.js';
import { HUNDRED_PERCENT } from '../../core/domain/pricing/units.js';
import type { Venue } from '../../core/gateway.js';
import { fundingSnapshot } from '../../core/markets/funding.js';
import { GatewayError } from '../../core/errors.js';
import { BASE_SCALE, PRICE_SCALE, USD_SCALE, ZERO_TEXT, formatRate, formatSize, formatTick, formatUsd } from '../format.js';
import { coinPrice, coinSize, type Asset, type Universe } from '../universe.js';
import type { Day, DayFigures } from '../../core/markets/day-figures.js';

export interface AssetContext {
  readonly prevDayPx: string;
  readonly dayNtlVlm: string;
  readonly markPx: string;
  readonly midPx: string | null;
  readonly funding: string;
  readonly openInterest: string;
  readonly premium: string | null;
  readonly oraclePx: string;
  readonly impactPxs: readonly [string, string] | null;
  readonly dayBaseVlm: string;
}

/** For a slot without a pair, and for a market without a price. */
const NOTHING: AssetContext = {
  prevDayPx: ZERO_TEXT,
  dayNtlVlm: ZERO_TEXT,
  markPx: ZERO_TEXT,
  midPx: null,
  funding: ZERO_TEXT,
  openInterest: ZERO_TEXT,
  premium: null,
  oraclePx: ZERO_TEXT,
  impactPxs: null,
  dayBaseVlm: ZERO_TEXT,
};

/** null while the price is stale although the market is open: clients must not trade on it. */
export function livePoint({ feed }: Pick<Venue, 'feed'>, pairIndex: number): PricePoint | null {
  try {
    return feed.price(pairIndex);
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'NOT_READY') return null;
    throw error;
  }
}

/** One entry per asset, in the order of the universe. */
export function assetContexts(venue: Venue, universe: Universe, figures: DayFigures): AssetContext[] {
  const config = venue.feed.config();
  const prices = venue.feed.prices();
  const day = figures.of(venue);
  const now = venue.clock.now();
  return universe.assets.map((asset) => {
    const point = asset.pair && prices.get(asset.id);
    return point ? contextOf(asset, { config, point, day, now, isLive: livePoint(venue, asset.id) !== null }) : NOTHING;
  });
}

interface Moment {
  readonly config: MarketConfig;
  readonly point: PricePoint;
  readonly day: Day;
  readonly now: number;
  readonly isLive: boolean;
}

function contextOf(asset: Asset, { config, point, day, now, isLive }: Moment): AssetContext {
  const { szDecimals, id } = asset;
  const tick = (price: bigint): string => formatTick(coinPrice(asset, price), szDecimals, 'half-up');
  const funding = fundingSnapshot(config, id, point, now);
  const larger = [funding.openInterestLongUsd, funding.openInterestShortUsd].map((usd) => toUnits(usd, USD_SCALE, 'down'));
  const volume = day.volumeUsd.get(id) ?? 0n;
  return {
    prevDayPx: tick(day.priceBefore.get(id) ?? point.oracle),
    dayNtlVlm: formatUsd(volume),
    markPx: tick(point.mark),
    midPx: isLive ? tick(point.mark) : null,
    funding: formatRate(fraction(funding.fundingRateLongHourly)),
    openInterest: openInterest(
      asset,
      baseOf(
        larger.reduce((a, b) => (a > b ? a : b)),
        point.mark,
      ),
    ),
    premium: formatRate(divide(decimal(point.mark - point.oracle, 0), decimal(point.oracle, 0), PRICE_SCALE, 'half-up')),
    oraclePx: tick(point.oracle),
    impactPxs: isLive ? touch(asset, point.mark) : null,
    dayBaseVlm: formatSize(coinSize(asset, baseOf(volume, point.mark)), szDecimals, 'down'),
  };
}

/** Percent → fraction. */
const fraction = ({ units, scale }: Decimal): Decimal => decimal(units, scale + 2);

/** The base units (1e18) of a USD amount (1e18). */
const baseOf = (usd: bigint, price: bigint): bigint => divideInteger(usd * 10n ** BigInt(PRICE_SCALE), price, 'down');

/** The larger side. A tradable market shows at least one lot: clients drop markets without open interest. */
function openInterest(asset: Asset, base: bigint): string {
  const lot = 10n ** BigInt(BASE_SCALE - asset.szDecimals);
  const size = coinSize(asset, base);
  return formatSize(asset.isDelisted || size >= lot ? size : lot, asset.szDecimals, 'down');
}

/** The prices of a small order: half the pair's spread on either side, rounded outwards to the tick. */
function touch(asset: Asset, mark: bigint): readonly [string, string] {
  const half = (mark * (asset.pair?.spreadP ?? 0n)) / 2n / HUNDRED_PERCENT;
  const distance = absolute(decimal(half, 0)).units;
  const at = (price: bigint, rounding: 'floor' | 'ceil'): string => formatTick(coinPrice(asset, price), asset.szDecimals, rounding);
  return [at(mark - distance, 'floor'), at(mark + distance, 'ceil')];
}
