import { createOnce } from '../caching/shared-reads.js';
import { floorTo, type Candle } from '../domain/candle.js';
import { decimal, type Decimal } from '../domain/decimal.js';
import { symbolOf, directoryOf } from '../domain/market.js';
import type { Gateway, Venue } from '../gateway.js';
import { PRICE_SCALE } from './market-data.js';

/** Figures of the last 24 hours, by pair index. */
export interface Day {
  /** 1e18 USD traded, as far as the upstream history shows. */
  readonly volumeUsd: ReadonlyMap<number, bigint>;
  /** 1e10: the price a day ago, from our own minutes or, if they do not reach back a day, from the charts. */
  readonly priceBefore: ReadonlyMap<number, bigint>;
}

export interface DayFigures {
  /** The current figures, without waiting; figures older than a minute are refreshed in the background. */
  of(venue: Venue): Day;
}

const EMPTY: Day = { volumeUsd: new Map(), priceBefore: new Map() };
const USD_SCALE = 18;
const FRESH_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The last minute of a closed market lies further back. */
const LOOK_BACK_MS = 3 * HOUR_MS;
const MOST_TRADES = 500;
/** Concurrent chart requests. */
const CHARTS_AT_ONCE = 4;

/** Hourly candles by pair index, from the charts; used until our own minutes reach back a day. */
type Hours = Map<number, { readonly candles: readonly Candle[]; readonly askedAt: number }>;

function createDayFigures({ store, clock }: Pick<Gateway, 'store' | 'clock'>): DayFigures {
  const known = new Map<Venue, { day: Day; askedAt: number }>();
  const charts = new WeakMap<Venue, Hours>();

  const refresh = async (venue: Venue): Promise<void> => {
    const at = clock.now() - DAY_MS;
    const { slug } = venue.definition;
    const [own, volumeUsd] = await Promise.all([store.candles.closesBefore(slug, at, LOOK_BACK_MS), volumes(venue, at)]);
    const hours: Hours = charts.get(venue) ?? (new Map() as Hours);
    charts.set(venue, hours);
    const publish = (): void => {
      const day = { priceBefore: new Map([...closesOf(hours, at), ...own]), volumeUsd };
      known.set(venue, { day, askedAt: clock.now() });
    };
    publish();
    await readHours(venue, hours, { at, own, publish });
  };

  return {
    of(venue) {
      const had = known.get(venue);
      if (had && clock.now() - had.askedAt < FRESH_MS) return had.day;
      known.set(venue, { day: had?.day ?? EMPTY, askedAt: clock.now() });
      refresh(venue).catch((error: unknown) => venue.log.warn('markets.day-figures-unknown', { error }));
      return had?.day ?? EMPTY;
    },
  };
}

/** Both APIs of a gateway show the same figures, which are requested once. */
export const dayFiguresOf = createOnce<Gateway, DayFigures>(createDayFigures);

export interface MarketDay {
  market: string;
  /** Null until the figures are known, or for a market without a price then. */
  priceBefore: Decimal | null;
  volumeUsd: Decimal;
}

/** Every listed market with its price of a day ago and what was traded since. */
export function listDayFigures(gateway: Gateway, venue: Venue): MarketDay[] {
  const { priceBefore, volumeUsd } = dayFiguresOf(gateway).of(venue);
  return directoryOf(venue.feed.config()).pairs.map((pair) => {
    const before = priceBefore.get(pair.index);
    return {
      market: symbolOf(pair),
      priceBefore: before === undefined ? null : decimal(before, PRICE_SCALE),
      volumeUsd: decimal(volumeUsd.get(pair.index) ?? 0n, USD_SCALE),
    };
  });
}

const listed = ({ feed }: Venue): number[] => feed.config().pairs.flatMap((pair, pairIndex) => (pair === null ? [] : [pairIndex]));

/** Requests from the charts, a few at a time, what neither our own minutes nor an earlier reply has; stops if the charts do not answer. */
async function readHours(
  venue: Venue,
  hours: Hours,
  { at, own, publish }: { readonly at: number; readonly own: ReadonlyMap<number, bigint>; readonly publish: () => void },
): Promise<void> {
  const now = at + DAY_MS;
  const isMissing = (pairIndex: number): boolean => {
    const asked = hours.get(pairIndex);
    if (own.has(pairIndex) || asked === undefined) return !own.has(pairIndex);
    return closeBefore(asked.candles, at) === null && now - asked.askedAt > HOUR_MS;
  };
  const missing = listed(venue).filter(isMissing);
  for (const pairIndex of [...hours.keys()]) if (own.has(pairIndex)) hours.delete(pairIndex);
  const from = floorTo(at - LOOK_BACK_MS, HOUR_MS);
  for (let first = 0; first < missing.length; first += CHARTS_AT_ONCE) {
    const some = missing.slice(first, first + CHARTS_AT_ONCE);
    const found = await Promise.all(some.map((pairIndex) => venue.feed.candles({ pairIndex, interval: '1h', from, to: now })));
    some.forEach((pairIndex, place) => hours.set(pairIndex, { candles: found[place]?.candles ?? [], askedAt: now }));
    publish();
  }
}

const closesOf = (hours: Hours, at: number): [number, bigint][] =>
  [...hours].flatMap(([pairIndex, { candles }]) => {
    const close = closeBefore(candles, at);
    return close === null ? [] : [[pairIndex, close]];
  });

/** The close of the last complete hour before `at`, unless that is too long ago. */
function closeBefore(candles: readonly Candle[], at: number): bigint | null {
  const last = candles.findLast(({ time }) => time + HOUR_MS <= at);
  return last === undefined || last.time + HOUR_MS < at - LOOK_BACK_MS ? null : last.close;
}

async function volumes(venue: Venue, since: number): Promise<Map<number, bigint>> {
  const sums = await Promise.all(
    listed(venue).map(async (pairIndex) => {
      const trades = await venue.feed.recentTrades({ pairIndex, limit: MOST_TRADES });
      const traded = trades.filter(({ at, action }) => at >= since && action !== 'leverage');
      return [pairIndex, traded.reduce((sum, { sizeUsd }) => sum + sizeUsd, 0n)] as const;
    }),
  );
  return new Map(sums);
}
