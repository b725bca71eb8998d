import { FLAGS_FRESH_MS } from '../../domain/schedule.js';
import type { FeedPart, FeedState, FeedStatus } from '../../ports.js';
import type { ConfigSource } from './config-source.js';
import type { PriceSource } from './price-source.js';

const PRICE_STALE_MS = 10_000;
const EVENTS_STALE_MS = 30_000;

export const isPriceLive = (price: PriceSource, now: number): boolean => now - (price.lastFrameAt() ?? -Infinity) <= PRICE_STALE_MS;

type Part = FeedStatus['parts'][FeedPart];

function part(last: number | null, staleMs: number, fault: string | null, now: number): Part {
  const state: FeedState = last === null ? 'down' : now - last > staleMs ? 'stale' : 'ok';
  return { state, ageMs: last === null ? null : Math.max(0, now - last), ...(fault !== null && { lastError: fault }) };
}

/** Ready once there has been a configuration and a price; what has gone stale since then is told by the parts. */
export function feedStatus(config: ConfigSource, price: PriceSource, now: number): FeedStatus {
  return {
    ready: config.refreshedAt() !== null && price.book.quotes.size > 0,
    parts: {
      config: part(config.refreshedAt(), FLAGS_FRESH_MS, config.fault('config'), now),
      price: part(price.lastFrameAt(), PRICE_STALE_MS, price.fault(), now),
      events: part(config.lastEventAt(), EVENTS_STALE_MS, config.fault('events'), now),
      history: { state: 'absent', ageMs: null },
    },
  };
}

export const statusKey = ({ ready, parts }: FeedStatus): string =>
  `${ready} ${Object.values(parts)
    .map(({ state }) => state)
    .join(' ')}`;
