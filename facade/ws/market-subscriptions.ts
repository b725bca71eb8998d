import { deflateRawSync } from 'node:zlib';
import { z } from 'zod';
import type { InfoContext } from '../info/info-type.js';
import { Coin, Dex, Nothing, isOtherDex } from '../info/info-type.js';
import { l2Book } from '../info/book.js';
import { SNAPSHOT_INTERVALS } from '../info/candles.js';
import { SPOT_CONTEXT } from '../info/constant-types.js';
import { INFO_TYPES } from '../info/info-handler.js';
import { allMids, marketOf } from '../info/market-types.js';
import type { Asset } from '../universe.js';
import { frameText } from './frames.js';
import type { FeedRequest, Made } from './venue-feeds.js';
import { createKeyedOutbox } from '../../core/stream/outbox.js';
import { SHARED_BY_ALL, subscriptionType, sendOnce, type OpenContext, type Opened, type SubscriptionType } from './subscription-type.js';

const MIDS_GAP_MS = 200;
const BOOK_GAP_MS = 100;
const CONTEXTS_GAP_MS = 500;

const MainDex = Dex.transform((dex) => dex ?? '');
const OfDex = z.object({ dex: MainDex });
const OfCoin = z.object({ coin: Coin });

/** Connections with the same subscription share one feed, and get its newest frame. */
export function openShared({ feeds, outbox }: Pick<OpenContext, 'feeds' | 'outbox'>, request: FeedRequest): Opened {
  const { part, release } = feeds.shared(request);
  const box = createKeyedOutbox(outbox);
  let cancel = (): void => undefined;
  return {
    begin: () => void (cancel = part.follow((text) => box.put('', text))),
    stop: () => [cancel, box.stop, release].forEach((end) => end()),
  };
}

const plain = (text: string): Made => ({ text, sameAs: text });

interface PricedRow {
  readonly id: string;
  readonly gapMs: number;
  /** The only market it depends on, if there is one. */
  readonly pairIndex?: number;
  readonly make: (context: InfoContext) => Made | null;
}

/** Feeds that depend on prices alone. */
const openPriced = (context: OpenContext, { id, gapMs, pairIndex, make }: PricedRow): Opened => {
  const { feeds } = context;
  return openShared(context, {
    id,
    gapMs,
    make: async () => make(await feeds.readContext()),
    watch: (ask) => [feeds.onPrices(ask, pairIndex), feeds.gateway.bus.on('config', ({ venue }) => venue === feeds.venue && ask())],
  });
};

const marketIn = ({ context }: OpenContext, coin: string): Asset | null => marketOf(context.universe, coin);

const Coarse = OfCoin.extend({
  nSigFigs: z
    .int()
    .min(2)
    .max(5)
    .nullish()
    .transform((value) => value ?? null),
  mantissa: z
    .union([z.literal(1), z.literal(2), z.literal(5)])
    .nullish()
    .transform((value) => value ?? null),
});

function openBook(context: OpenContext, { coin, ...coarseness }: z.output<typeof Coarse>): Opened | null {
  const asset = marketIn(context, coin);
  if (asset === null) return null;
  return openPriced(context, {
    id: `l2Book ${asset.id} ${asset.symbol} ${coarseness.nSigFigs} ${coarseness.mantissa}`,
    gapMs: BOOK_GAP_MS,
    pairIndex: asset.id,
    make: ({ venue }) => plain(frameText('l2Book', l2Book(venue, asset, coarseness))),
  });
}

/** The best bid and ask, published when they change. */
function openBbo(context: OpenContext, coin: string): Opened | null {
  const asset = marketIn(context, coin);
  if (asset === null) return null;
  return openPriced(context, {
    id: `bbo ${asset.id} ${asset.symbol}`,
    gapMs: BOOK_GAP_MS,
    pairIndex: asset.id,
    make({ venue }) {
      const { time, levels } = l2Book(venue, asset, {});
      const bbo = levels.map(([best]) => best ?? null);
      return { text: frameText('bbo', { coin: asset.coin, time, bbo }), sameAs: JSON.stringify(bbo) };
    },
  });
}

/** Every execution is sent: a connection that cannot keep up is closed instead of missing some. */
function openTrades(context: OpenContext, coin: string): Opened | null {
  const asset = marketIn(context, coin);
  if (asset === null) return null;
  const { part, release } = context.feeds.trades(asset);
  let cancel = (): void => undefined;
  return {
    begin: () => void (cancel = part.follow((text) => context.outbox.push(text))),
    stop: () => [cancel, release].forEach((end) => end()),
  };
}

const OfChart = OfCoin.extend({ interval: z.enum(SNAPSHOT_INTERVALS) });

function openCandles(context: OpenContext, { coin, interval }: z.output<typeof OfChart>): Opened | null {
  const asset = marketIn(context, coin);
  if (asset === null) return null;
  const { part, release } = context.feeds.candles({ asset, interval });
  const box = createKeyedOutbox(context.outbox);
  let cancel = (): void => undefined;
  return {
    begin: () => void (cancel = part.follow(({ key, text }) => box.put(key, text))),
    stop: () => [cancel, box.stop, release].forEach((end) => end()),
  };
}

/** The one spot pair never trades, so its context never changes. */
const openSpotContext = (context: OpenContext, coin: string): Opened | null =>
  coin === SPOT_CONTEXT.coin ? sendOnce(context, frameText('activeSpotAssetCtx', { coin, ctx: SPOT_CONTEXT })) : null;

/** Clients ask for a spot pair with the type of a perpetual, and expect its frames in a channel of their own. */
function openContext(context: OpenContext, coin: string): Opened | null {
  const asset = marketIn(context, coin);
  if (asset === null) return openSpotContext(context, coin);
  const { feeds } = context;
  return openPriced(context, {
    id: `activeAssetCtx ${asset.id} ${asset.symbol}`,
    gapMs: CONTEXTS_GAP_MS,
    pairIndex: asset.id,
    make(current) {
      const ctx = feeds.contexts(current)[asset.id];
      return ctx ? plain(frameText('activeAssetCtx', { coin: asset.coin, ctx })) : null;
    },
  });
}

const openContexts = (context: OpenContext, type: string, show: (current: InfoContext) => unknown): Opened =>
  openPriced(context, { id: type, gapMs: CONTEXTS_GAP_MS, make: (current) => plain(frameText(type, show(current))) });

const openMids = (context: OpenContext, dex: string): Opened =>
  isOtherDex(dex)
    ? sendOnce(context, frameText('allMids', { mids: {}, dex }))
    : openPriced(context, {
        id: 'allMids',
        gapMs: MIDS_GAP_MS,
        make: ({ venue, universe }) => plain(frameText('allMids', { mids: allMids(venue, universe) })),
      });

/** Clients expect this channel as raw DEFLATE in base64. */
const packed = (data: unknown): string => deflateRawSync(JSON.stringify(data)).toString('base64');

const marks = (context: OpenContext, current: InfoContext) => {
  const contexts = context.feeds.contexts(current);
  return Object.fromEntries(
    current.universe.assets.flatMap(({ id, coin, pair }) => {
      const { markPx, midPx } = contexts[id] ?? {};
      return pair === null || markPx === undefined ? [] : [[coin, { markPx, ...(midPx === null ? {} : { midPx }) }]];
    }),
  );
};

export const MARKET_SUBSCRIPTIONS: readonly SubscriptionType[] = [
  subscriptionType({ type: 'allMids', question: SHARED_BY_ALL, fields: OfDex, open: (context, { dex }) => openMids(context, dex) }),
  subscriptionType({
    type: 'l2Book',
    question: SHARED_BY_ALL,
    fields: Coarse,
    defaults: { nSigFigs: null, mantissa: null },
    open: openBook,
  }),
  subscriptionType({ type: 'bbo', question: SHARED_BY_ALL, fields: OfCoin, open: (context, { coin }) => openBbo(context, coin) }),
  subscriptionType({ type: 'trades', question: SHARED_BY_ALL, fields: OfCoin, open: (context, { coin }) => openTrades(context, coin) }),
  subscriptionType({ type: 'candle', question: SHARED_BY_ALL, fields: OfChart, open: openCandles }),
  subscriptionType({
    type: 'activeAssetCtx',
    question: SHARED_BY_ALL,
    fields: OfCoin,
    open: (context, { coin }) => openContext(context, coin),
  }),
  subscriptionType({
    type: 'activeSpotAssetCtx',
    question: SHARED_BY_ALL,
    fields: OfCoin,
    open: (context, { coin }) => openSpotContext(context, coin),
  }),
  subscriptionType({
    type: 'assetCtxs',
    question: SHARED_BY_ALL,
    fields: OfDex,
    open: (context, { dex }) =>
      isOtherDex(dex)
        ? sendOnce(context, frameText('assetCtxs', { dex, ctxs: [] }))
        : openContexts(context, 'assetCtxs', (current) => ({ dex: '', ctxs: context.feeds.contexts(current) })),
  }),
  subscriptionType({
    type: 'allDexsAssetCtxs',
    question: SHARED_BY_ALL,
    fields: Nothing,
    open: (context) => openContexts(context, 'allDexsAssetCtxs', (current) => ({ ctxs: [['', context.feeds.contexts(current)]] })),
  }),
  subscriptionType({
    type: 'fastAssetCtxs',
    question: SHARED_BY_ALL,
    fields: Nothing,
    open: (context) => openContexts(context, 'fastAssetCtxs', (current) => packed(marks(context, current))),
  }),
  subscriptionType({
    type: 'spotAssetCtxs',
    question: SHARED_BY_ALL,
    fields: Nothing,
    async open(context) {
      const answer = await INFO_TYPES.get('spotMetaAndAssetCtxs')?.answer(context.context, {});
      const contexts = Array.isArray(answer) ? (answer[1] as unknown) : [];
      return sendOnce(context, frameText('spotAssetCtxs', contexts));
    },
  }),
  subscriptionType({ type: 'outcomeMetaUpdates', question: SHARED_BY_ALL, fields: Nothing, open: (context) => sendOnce(context, null) }),
];
