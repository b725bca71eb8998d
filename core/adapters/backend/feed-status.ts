import { FLAGS_FRESH_MS } from '../../domain/schedule.js';
import type { FeedPart, FeedState, FeedStatus } from '../../ports/feed.js';
import type { ConfigLayers } from './config-layers.js';
import type { ConfigSource } from './config-source.js';
import type { PriceSource } from './price-source.js';
import type { TradeHistory } from './trade-history.js';

const PRICE_STALE_MS = 10_000;
const EVENTS_STALE_MS = 30_000;

export const isPriceLive = (price: PriceSource, now: number): boolean => now - (price.lastFrameAt() ?? -Infinity) <= PRICE_STALE_MS;

type Part = FeedStatus['parts'][FeedPart];

function part(last: number | null, staleMs: number, fault: string | null, now: number): Part {
  const state: FeedState = last === null ? 'down' : now - last > staleMs ? 'stale' : 'ok';
  return { state, ageMs: last === null ? null : Math.max(0, now - last), ...(fault !== null && { lastError: fault }) };
}

interface Sources {
  readonly config: ConfigSource;
  readonly layers: Pick<ConfigLayers, 'from' | 'last'>;
  readonly price: PriceSource;
  readonly history: Pick<TradeHistory, 'askedAt'>;
}

/** Ready after the first configuration and price; staleness is reported per part. */
export function feedStatus({ config, layers, price, history }: Sources, now: number): FeedStatus {
  const askedAt = history.askedAt();
  return {
    ready: layers.last() !== null && price.book.quotes.size > 0,
    configFrom: layers.from(),
    parts: {
      config: part(config.refreshedAt(), FLAGS_FRESH_MS, config.fault('config'), now),
      price: part(price.lastFrameAt(), PRICE_STALE_MS, price.fault(), now),
      events: part(config.lastEventAt(), EVENTS_STALE_MS, config.fault('events'), now),
      // Fetched on demand only, so its age is no fault.
      history: { state: askedAt === null ? 'absent' : 'ok', ageMs: askedAt === null ? null : now - askedAt },
    },
  };
}

export const statusKey = ({ ready, configFrom, parts }: FeedStatus): string =>
  `${ready} ${configFrom} ${Object.values(parts)
    .map(({ state }) => state)
    .join(' ')}`;
