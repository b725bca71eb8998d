import { z } from 'zod';
import { exposureRoom } from '../../core/domain/pricing/exposure.js';
import { marketView } from '../../core/domain/pricing/market-view.js';
import { collateralToUsd } from '../../core/domain/pricing/size.js';
import { decimal } from '../../core/domain/decimal.js';
import type { Venue } from '../../core/gateway.js';
import { fundingSnapshot } from '../../core/markets/funding.js';
import { referenceCollateral } from '../../core/domain/market.js';
import { formatRate, formatTick, formatUsd, ZERO_TEXT } from '../format.js';
import { coinPrice, type Asset, type Universe } from '../universe.js';
import { assetContexts, livePoint } from './asset-contexts.js';
import { l2Book } from './book.js';
import { candleSnapshot, SNAPSHOT_INTERVALS } from './candles.js';
import { Coin, Dex, infoType, isOtherDex, Nothing, Time, type InfoType } from './info-type.js';
import { recentTrades } from './tape.js';

const OfDex = z.object({ dex: Dex });
const OfCoin = z.object({ coin: Coin });
const HOUR_MS = 3_600_000;

/** The listed market of a coin, whether or not it can be opened; null without a pair. */
export const marketOf = ({ byCoin }: Universe, coin: string): Asset | null => {
  const asset = byCoin.get(coin);
  return asset?.pair ? asset : null;
};

/** Live prices only: clients must not trade a market without a mid. */
export function allMids(venue: Venue, { assets }: Universe): Record<string, string> {
  const mids: Record<string, string> = {};
  for (const asset of assets) {
    const point = asset.pair && livePoint(venue, asset.id);
    if (point) mids[asset.coin] = formatTick(coinPrice(asset, point.mark), asset.szDecimals, 'half-up');
  }
  return mids;
}

function predictedFundings({ feed, clock }: Venue, { assets }: Universe): unknown[] {
  const config = feed.config();
  const now = clock.now();
  const nextFundingTime = Math.floor(now / HOUR_MS) * HOUR_MS + HOUR_MS;
  return assets.flatMap((asset) => {
    if (asset.pair === null) return [];
    const { units, scale } = fundingSnapshot(config, asset.id, feed.lastPrice(asset.id) ?? undefined, now).fundingRateLongHourly;
    return [[asset.coin, [['HlPerp', { fundingRate: formatRate(decimal(units, scale + 2)), nextFundingTime, fundingIntervalHours: 1 }]]]];
  });
}

/** USD (1e18) that can still be opened on each side in the collateral of facade trades; null if it cannot be determined. */
function capacityUsd({ feed }: Venue, asset: Asset): { readonly long: bigint; readonly short: bigint } | null {
  const config = feed.config();
  const collateral = referenceCollateral(config);
  const point = feed.lastPrice(asset.id);
  const market = collateral && marketView(config, { pairIndex: asset.id, collateralIndex: collateral.index });
  if (!market || !point) return null;
  const of = (long: boolean): bigint => collateralToUsd(exposureRoom({ market, long, price: point.oracle }), market.collateral);
  return { long: of(true), short: of(false) };
}

const atOpenInterestCap = (venue: Venue, { assets }: Universe): string[] =>
  assets.filter((asset) => !asset.isDelisted && isFull(capacityUsd(venue, asset))).map(({ coin }) => coin);

const isFull = (capacity: ReturnType<typeof capacityUsd>): boolean => capacity !== null && (capacity.long === 0n || capacity.short === 0n);

/** By leverage: what fits into the fullest market of that leverage. */
function maxMarketOrderNtls(venue: Venue, { assets }: Universe): (readonly [number, string])[] {
  const least = new Map<number, bigint>();
  for (const asset of assets) {
    const capacity = asset.isDelisted ? null : capacityUsd(venue, asset);
    if (capacity === null) continue;
    const fits = capacity.long < capacity.short ? capacity.long : capacity.short;
    const known = least.get(asset.maxLeverage);
    if (known === undefined || fits < known) least.set(asset.maxLeverage, fits);
  }
  return [...least].sort(([a], [b]) => a - b).map(([maxLeverage, usd]) => [maxLeverage, formatUsd(usd)]);
}

export const MARKET_TYPES: readonly InfoType[] = [
  infoType({
    type: 'meta',
    fields: OfDex,
    cached: true,
    answer: ({ universe }, { dex }) => (isOtherDex(dex) ? EMPTY_META : metaOf(universe)),
  }),
  infoType({ type: 'allPerpMetas', fields: Nothing, cached: true, answer: ({ universe }) => [metaOf(universe)] }),
  infoType({
    type: 'metaAndAssetCtxs',
    fields: OfDex,
    cached: true,
    answer: ({ venue, universe, day }, { dex }) =>
      isOtherDex(dex) ? [EMPTY_META, []] : [metaOf(universe), assetContexts(venue, universe, day)],
  }),
  infoType({
    type: 'allMids',
    fields: OfDex,
    cached: true,
    answer: ({ venue, universe }, { dex }) => (isOtherDex(dex) ? {} : allMids(venue, universe)),
  }),
  infoType({
    type: 'l2Book',
    fields: OfCoin.extend({
      nSigFigs: z.int().min(2).max(5).nullish(),
      mantissa: z.union([z.literal(1), z.literal(2), z.literal(5)]).nullish(),
    }),
    cached: true,
    answer: ({ venue, universe }, { coin, ...coarseness }) => {
      const asset = marketOf(universe, coin);
      return asset && l2Book(venue, asset, coarseness);
    },
  }),
  infoType({
    type: 'candleSnapshot',
    fields: z.object({ req: z.object({ coin: Coin, interval: z.enum(SNAPSHOT_INTERVALS), startTime: Time, endTime: Time.nullish() }) }),
    answer: async ({ gateway, venue, universe }, { req }) => {
      const asset = marketOf(universe, req.coin);
      return asset ? candleSnapshot(gateway, venue, asset, req) : [];
    },
  }),
  infoType({
    type: 'recentTrades',
    fields: OfCoin,
    answer: async ({ gateway, venue, universe }, { coin }) => {
      const asset = marketOf(universe, coin);
      return asset ? recentTrades(gateway, venue, asset) : [];
    },
  }),
  infoType({
    type: 'predictedFundings',
    fields: Nothing,
    cached: true,
    answer: ({ venue, universe }) => predictedFundings(venue, universe),
  }),
  infoType({
    type: 'perpsAtOpenInterestCap',
    fields: OfDex,
    cached: true,
    answer: ({ venue, universe }, { dex }) => (isOtherDex(dex) ? [] : atOpenInterestCap(venue, universe)),
  }),
  infoType({
    type: 'maxMarketOrderNtls',
    fields: Nothing,
    cached: true,
    answer: ({ venue, universe }) => maxMarketOrderNtls(venue, universe),
  }),
  infoType({
    type: 'marginTable',
    fields: z.object({ id: z.int().nonnegative() }),
    answer: ({ universe }, { id }) => marginTable(universe, id),
  }),
  infoType({ type: 'exchangeStatus', fields: Nothing, answer: ({ venue }) => ({ time: venue.clock.now(), specialStatuses: null }) }),
];

interface MarginTable {
  readonly description: string;
  readonly marginTiers: readonly { readonly lowerBound: string; readonly maxLeverage: number }[];
}

interface Meta {
  readonly universe: readonly {
    readonly szDecimals: number;
    readonly name: string;
    readonly maxLeverage: number;
    readonly marginTableId: number;
    readonly isDelisted?: true;
  }[];
  readonly marginTables: readonly (readonly [number, MarginTable])[];
  readonly collateralToken: 0;
}

const EMPTY_META: Meta = { universe: [], marginTables: [], collateralToken: 0 };

/** Margin does not depend on size here: a table has one tier, and its id is that tier's leverage. */
const flatTable = (maxLeverage: number): MarginTable => ({ description: '', marginTiers: [{ lowerBound: ZERO_TEXT, maxLeverage }] });

/** `onlyIsolated` is left out on purpose: clients that trade with cross margin would refuse the market. */
export const metaOf = ({ assets }: Universe): Meta => ({
  universe: assets.map(({ coin, szDecimals, maxLeverage, isDelisted }) => ({
    szDecimals,
    name: coin,
    maxLeverage,
    marginTableId: maxLeverage,
    ...(isDelisted ? { isDelisted } : {}),
  })),
  marginTables: leverages(assets).map((maxLeverage) => [maxLeverage, flatTable(maxLeverage)]),
  collateralToken: 0,
});

const leverages = (assets: Universe['assets']): number[] =>
  [...new Set(assets.map(({ maxLeverage }) => maxLeverage))].sort((a, b) => a - b);

/** By convention every id below fifty is a flat table, listed or not. */
const CONVENTIONAL_TABLES = 50;

const marginTable = ({ assets }: Universe, id: number): MarginTable | null =>
  (id > 0 && id < CONVENTIONAL_TABLES) || leverages(assets).includes(id) ? flatTable(id) : null;
