import { symbolOf } from '../domain/market.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import { pairOf } from '../markets/directory.js';
import { getOrderBook, type OrderBook } from '../markets/order-book.js';
import type { Cancel } from '../types.js';
import { createTopic } from './topic.js';

export interface BookSource {
  /** Throws NOT_READY while the market has no price to build it around. */
  current(): OrderBook;
  listen(listener: (book: OrderBook) => void): Cancel;
  readonly stop: Cancel;
}

/** One market's book, built once per change for all subscribers. */
export function createBookSource({ bus }: Gateway, venue: Venue, symbol: string): BookSource {
  const topic = createTopic<OrderBook>('book', venue.log);
  const pair = pairOf(venue.feed.config(), symbol);
  let latest: OrderBook | null = null;

  const remake = (): void => {
    const made = tryBook(venue, symbolOf(pair));
    latest = made;
    if (made) topic.publish(made);
  };

  const cancels = [
    bus.on('prices', (event) => event.venue === venue && event.pairs.includes(pair.index) && remake()),
    bus.on('config', (event) => event.venue === venue && remake()),
  ];
  return {
    current: () => (latest ??= getOrderBook(venue, symbolOf(pair))),
    listen: topic.listen,
    stop: () => cancels.forEach((cancel) => cancel()),
  };
}

/** Null while the market has no usable price; nothing is published then. */
function tryBook(venue: Venue, symbol: string): OrderBook | null {
  try {
    return getOrderBook(venue, symbol);
  } catch (error) {
    if (error instanceof GatewayError) return null;
    throw error;
  }
}
