import type { Gateway, Venue } from '../../core/gateway.js';

/** What the last 24 hours were like, by pair index. */
export interface Day {
  /** 1e18 USD that were traded, as far as upstream's history tells. */
  readonly volumeUsd: ReadonlyMap<number, bigint>;
  /** 1e10: the price a day ago, where our own minutes reach back so far. */
  readonly priceBefore: ReadonlyMap<number, bigint>;
}

export interface DayFigures {
  /** What is known now, at once; older than a minute, it is asked for again in the background. */
  of(venue: Venue): Day;
}

const EMPTY: Day = { volumeUsd: new Map(), priceBefore: new Map() };
const FRESH_MS = 60_000;
const DAY_MS = 86_400_000;
/** A market that is shut has its last minute further back. */
const LOOK_BACK_MS = 3 * 3_600_000;
const MOST_TRADES = 500;

export function createDayFigures({ store, clock }: Pick<Gateway, 'store' | 'clock'>): DayFigures {
  const known = new Map<Venue, { day: Day; askedAt: number }>();

  const refresh = async (venue: Venue): Promise<void> => {
    const at = clock.now() - DAY_MS;
    const { slug } = venue.definition;
    const [priceBefore, volumeUsd] = await Promise.all([store.candles.closesBefore(slug, at, LOOK_BACK_MS), volumes(venue, at)]);
    known.set(venue, { day: { priceBefore, volumeUsd }, askedAt: clock.now() });
  };

  return {
    of(venue) {
      const had = known.get(venue);
      if (had && clock.now() - had.askedAt < FRESH_MS) return had.day;
      known.set(venue, { day: had?.day ?? EMPTY, askedAt: clock.now() });
      refresh(venue).catch((error: unknown) => venue.log.warn('facade.day-figures-unknown', { error }));
      return had?.day ?? EMPTY;
    },
  };
}

async function volumes({ feed }: Venue, since: number): Promise<Map<number, bigint>> {
  const listed = feed.config().pairs.flatMap((pair, pairIndex) => (pair === null ? [] : [pairIndex]));
  const sums = await Promise.all(
    listed.map(async (pairIndex) => {
      const trades = await feed.recentTrades({ pairIndex, limit: MOST_TRADES });
      const traded = trades.filter(({ at, action }) => at >= since && action !== 'leverage');
      return [pairIndex, traded.reduce((sum, { sizeUsd }) => sum + sizeUsd, 0n)] as const;
    }),
  );
  return new Map(sums);
}
