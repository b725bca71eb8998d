import type { Gateway, Venue } from '../gateway.js';
import { directoryOf } from '../markets/directory.js';
import { listPrices, type Price } from '../markets/list-prices.js';
import type { Cancel } from '../types.js';
import { createCrowdTopic } from './topic.js';

export interface PriceSource {
  /** Every price as it is now; one that did not change is the same object. */
  all(): readonly Price[];
  listen(listener: (changed: readonly Price[]) => void): Cancel;
  readonly stop: Cancel;
}

/** Throws NOT_READY while there is nothing to tell. */
export function createPriceSource({ bus }: Gateway, venue: Venue): PriceSource {
  const topic = createCrowdTopic<readonly Price[]>('prices', venue.log);
  const latest = new Map(listPrices(venue).map((price) => [price.market, price]));

  let moved = new Set<number>();
  let isTelling = false;

  const look = (pairs: ReadonlySet<number>): readonly Price[] => {
    const changed = listPrices(venue, pairs);
    for (const price of changed) latest.set(price.market, price);
    return changed;
  };

  const tell = async (): Promise<void> => {
    const pairs = moved;
    moved = new Set(); // before anything fails: what cannot be told now is told when it moves again
    const changed = look(pairs);
    if (changed.length > 0) await topic.tell(changed);
  };

  /** What changes while a crowd is being told is told as one afterwards: a crowd that is told slowly hears less often, not late. */
  const settle = async (): Promise<void> => {
    isTelling = true;
    await Promise.resolve(); // frames that piled up arrive in one go
    try {
      while (moved.size > 0) await tell().catch((error: unknown) => venue.log.error('stream.prices-not-told', { error }));
    } finally {
      isTelling = false;
    }
  };

  /** Whoever comes while a crowd is being told begins with what is known now, and hears it again. */
  const all = (): readonly Price[] => {
    try {
      if (moved.size > 0) look(moved);
    } catch (error) {
      venue.log.error('stream.prices-not-told', { error });
    }
    return [...latest.values()];
  };

  const change = (pairs: readonly number[]): void => {
    for (const pair of pairs) moved.add(pair);
    if (!isTelling) void settle();
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
