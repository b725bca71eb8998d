import type { Gateway, Venue } from '../gateway.js';
import { directoryOf } from '../markets/directory.js';
import { listPrices, type Price } from '../markets/list-prices.js';
import type { Cancel } from '../ports.js';
import { createTopic } from './topic.js';

export interface PriceSource {
  /** Every price as it is now; one that did not change is the same object. */
  all(): readonly Price[];
  listen(listener: (changed: readonly Price[]) => void): Cancel;
  readonly stop: Cancel;
}

/** Throws NOT_READY while there is nothing to tell. */
export function createPriceSource({ bus }: Gateway, venue: Venue): PriceSource {
  const topic = createTopic<readonly Price[]>('prices', venue.log);
  const latest = new Map(listPrices(venue).map((price) => [price.market, price]));

  let moved = new Set<number>();

  const tell = (): void => {
    const changed = listPrices(venue, moved);
    moved = new Set();
    for (const price of changed) latest.set(price.market, price);
    if (changed.length > 0) topic.tell(changed);
  };

  /** Frames that piled up while we were busy arrive in one go and are told as one: a crowd that is told slowly hears less often, not late. */
  const change = (pairs: readonly number[]): void => {
    if (moved.size === 0) queueMicrotask(() => settle());
    for (const pair of pairs) moved.add(pair);
  };

  const settle = (): void => {
    try {
      tell();
    } catch (error) {
      venue.log.error('stream.prices-not-told', { error });
    }
  };

  const forgetDelisted = (): void => {
    const { bySymbol } = directoryOf(venue.feed.config());
    for (const market of latest.keys()) if (!bySymbol.has(market)) latest.delete(market);
  };

  const cancels = [
    bus.on('prices', (event) => event.venue === venue && change(event.pairs)),
    bus.on('config', (event) => event.venue === venue && forgetDelisted()),
  ];
  return { all: () => [...latest.values()], listen: topic.listen, stop: () => cancels.forEach((cancel) => cancel()) };
}
