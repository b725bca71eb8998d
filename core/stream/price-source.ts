import type { Gateway, Venue } from '../gateway.js';
import { directoryOf } from '../markets/directory.js';
import { listPrices, type Price } from '../markets/list-prices.js';
import type { Cancel } from '../types.js';
import { createCrowdTopic } from './topic.js';

export interface PriceSource {
  /** All current prices; an unchanged price is the same object. */
  all(): readonly Price[];
  listen(listener: (changed: readonly Price[]) => void): Cancel;
  readonly stop: Cancel;
}

/** Throws NOT_READY while there are no prices. */
export function createPriceSource({ bus }: Gateway, venue: Venue): PriceSource {
  const topic = createCrowdTopic<readonly Price[]>('prices', venue.log);
  const latest = new Map(listPrices(venue).map((price) => [price.market, price]));

  let moved = new Set<number>();
  let isPublishing = false;

  const update = (pairs: ReadonlySet<number>): readonly Price[] => {
    const changed = listPrices(venue, pairs);
    for (const price of changed) latest.set(price.market, price);
    return changed;
  };

  const publish = async (): Promise<void> => {
    const pairs = moved;
    moved = new Set(); // cleared before the publish: prices that fail now are published with their next change
    const changed = update(pairs);
    if (changed.length > 0) await topic.publish(changed);
  };

  /** Changes that arrive during a publish are published together afterwards: with many listeners updates get rarer, not older. */
  const publishAll = async (): Promise<void> => {
    isPublishing = true;
    await Promise.resolve(); // lets price events of the same turn collect
    try {
      while (moved.size > 0) await publish().catch((error: unknown) => venue.log.error('stream.prices-not-published', { error }));
    } finally {
      isPublishing = false;
    }
  };

  /** A client that subscribes during a publish gets the newest prices at once, and again with the next publish. */
  const all = (): readonly Price[] => {
    try {
      if (moved.size > 0) update(moved);
    } catch (error) {
      venue.log.error('stream.prices-not-published', { error });
    }
    return [...latest.values()];
  };

  const change = (pairs: readonly number[]): void => {
    for (const pair of pairs) moved.add(pair);
    if (!isPublishing) void publishAll();
  };

  const forgetDelisted = (): void => {
    const { bySymbol } = directoryOf(venue.feed.config());
    for (const market of latest.keys()) if (!bySymbol.has(market)) latest.delete(market);
  };

  const cancels = [
    bus.on('prices', (event) => event.venue === venue && change(event.pairs)),
    bus.on('config', (event) => event.venue === venue && forgetDelisted()),
  ];
  return { all, listen: topic.listen, stop: () => cancels.forEach((cancel) => cancel()) };
}
