import type { ShownCandle } from '../../core/markets/get-candles.js';
import type { OrderBook as CoreBook, Price as CorePrice, ShownTrade } from '../../core/markets/market-data.js';
import type { Cancel } from '../../core/types.js';
import { createConflated, mergeBy } from '../../core/stream/outbox.js';
import { createOnce } from '../../core/caching/shared-reads.js';
import { Candle, MarketTrade, OrderBook, Price } from '../wire/markets.js';
import { textOf } from '../wire/codec.js';
import type { OpenChannel } from './channel.js';

const RECENT_TRADES = 100;

const priceText = createOnce<CorePrice, string>(textOf(Price));
const bookText = createOnce<CoreBook, string>(textOf(OrderBook));
const tradeText = createOnce<ShownTrade, string>(textOf(MarketTrade));
const candleText = createOnce<ShownCandle, string>(textOf(Candle));
const listOf = <Item>(itemText: (item: Item) => string) => createOnce((items: readonly Item[]) => `[${items.map(itemText).join(',')}]`);
const pricesText = listOf(priceText);
const candlesText = listOf(candleText);

interface Change<Data> {
  readonly snapshot: boolean;
  readonly data: Data;
}

/** An unsent snapshot stays a snapshot, with the change merged into it. */
const merging =
  <Data>(merge: (waiting: Data, next: Data) => Data) =>
  (waiting: Change<Data>, next: Change<Data>): Change<Data> => ({
    snapshot: waiting.snapshot || next.snapshot,
    data: merge(waiting.data, next.data),
  });

const mergePrices = merging(mergeBy((price: CorePrice) => price.market));
const mergeCandles = merging(mergeBy((candle: ShownCandle) => candle.time));
const latestBook = merging<CoreBook>((_waiting, next) => next);

const openPrices: OpenChannel = ({ stream, outbox, frame }) => {
  const { part, release } = stream.prices();
  const changes = createConflated<Change<readonly CorePrice[]>>(outbox, mergePrices, ({ snapshot, data }) =>
    frame({ snapshot, data: pricesText(data) }),
  );
  let cancel: Cancel = () => undefined;
  return {
    begin() {
      changes.publish({ snapshot: true, data: part.all() });
      cancel = part.listen((data) => changes.publish({ snapshot: false, data }));
    },
    stop: () => [cancel, changes.stop, release].forEach((end) => end()),
  };
};

const openBook: OpenChannel = ({ stream, outbox, topic, frame }) => {
  const { part, release } = stream.book(topic.market ?? '');
  const changes = createConflated<Change<CoreBook>>(outbox, latestBook, ({ snapshot, data }) => frame({ snapshot, data: bookText(data) }));
  const first = orRelease(release, () => part.current());
  let cancel: Cancel = () => undefined;
  return {
    begin() {
      changes.publish({ snapshot: true, data: first });
      cancel = part.listen((data) => changes.publish({ snapshot: false, data }));
    },
    stop: () => [cancel, changes.stop, release].forEach((end) => end()),
  };
};

/** Every execution is sent: a connection that cannot keep up is closed instead of missing some. */
const openTrades: OpenChannel = ({ stream, outbox, topic, frame, fail }) => {
  const { part, release } = stream.trades(topic.market ?? '');
  let cancel: Cancel = () => undefined;
  return {
    begin() {
      cancel = part.follow(RECENT_TRADES, {
        onPast: (past) => outbox.push(frame({ snapshot: true, data: `[${past.map(tradeText).join(',')}]` })),
        onTrade: (trade) => outbox.push(frame({ snapshot: false, data: `[${tradeText(trade)}]` })),
        onFault: fail,
      });
    },
    stop: () => [cancel, release].forEach((end) => end()),
  };
};

const openCandles: OpenChannel = ({ stream, outbox, topic, frame, fail }) => {
  const { part, release } = stream.candles(topic.market ?? '', topic.interval ?? '1h');
  const changes = createConflated<Change<readonly ShownCandle[]>>(outbox, mergeCandles, ({ snapshot, data }) =>
    frame({ snapshot, data: candlesText(data) }),
  );
  let cancel: Cancel = () => undefined;
  return {
    begin() {
      cancel = part.follow({
        onPast: (data) => changes.publish({ snapshot: true, data }),
        onChange: (data) => changes.publish({ snapshot: false, data }),
        onFault: fail,
      });
    },
    stop: () => [cancel, changes.stop, release].forEach((end) => end()),
  };
};

/** Releases the held part if the next step fails. */
function orRelease<Value>(release: Cancel, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    release();
    throw error;
  }
}

export const publicChannels = { prices: openPrices, book: openBook, trades: openTrades, candles: openCandles } as const;
