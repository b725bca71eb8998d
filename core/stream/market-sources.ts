import type { Gateway, Venue } from '../gateway.js';
import { directoryOf, pairOf, symbolOf, type MarketTrade } from '../domain/market.js';
import { describeTrade, getOrderBook, listPrices, type OrderBook, type Price, type ShownTrade } from '../markets/market-data.js';
import type { Cancel } from '../types.js';
import { createCrowdTopic, createTopic } from './bus.js';
import { GatewayError } from '../errors.js';

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

export interface TradeSource {
  /** Recent executions, newest first, then each new one; without gap or repeat in between. */
  follow(limit: number, listener: TradeListener): Cancel;
  readonly stop: Cancel;
}

interface TradeListener {
  readonly onPast: (trades: readonly ShownTrade[]) => void;
  readonly onTrade: (trade: ShownTrade) => void;
  /** The history could not be read; nothing more is sent. */
  readonly onFault: (error: unknown) => void;
}

interface TopicItem {
  readonly trade: MarketTrade;
  readonly shown: ShownTrade;
}

export function createTradeSource(venue: Venue, symbol: string): TradeSource {
  const pair = pairOf(venue.feed.config(), symbol);
  const topic = createTopic<TopicItem>('trades', venue.log);
  const show = (trade: MarketTrade): ShownTrade => describeTrade(symbolOf(pair), trade);
  const stop = venue.feed.on('trade', (trade) => {
    if (trade.pairIndex === pair.index) topic.publish({ trade, shown: show(trade) });
  });

  return {
    stop,
    follow(limit, { onPast, onTrade, onFault }) {
      /** Trades that arrive while the history is read; null once it is delivered. */
      let meanwhile: TopicItem[] | null = [];
      const cancel = topic.listen((item) => (meanwhile === null ? onTrade(item.shown) : meanwhile.push(item)));
      let isCancelled = false;
      const begin = (past: readonly MarketTrade[]): void => {
        if (isCancelled) return;
        onPast(past.map(show));
        const known = new Set(past);
        const missed = (meanwhile ?? []).filter(({ trade }) => !known.has(trade));
        meanwhile = null;
        for (const { shown } of missed) onTrade(shown);
      };
      venue.feed
        .recentTrades({ pairIndex: pair.index, limit })
        .then(begin)
        .catch((error: unknown) => !isCancelled && onFault(error));
      return () => {
        isCancelled = true;
        cancel();
      };
    },
  };
}
