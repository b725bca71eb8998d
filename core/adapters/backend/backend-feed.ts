import { createBus } from '../../stream/bus.js';
import type { ChainDefinition, ChainSlug } from '../../chains/chains.js';
import {
  groupOf,
  symbolOf,
  type Collateral,
  type MarketConfig,
  type PairInCollateral,
  type PricePoint,
  type Session,
} from '../../domain/market.js';
import { pairSession, sessionOpen } from '../../domain/schedule.js';
import { GatewayError } from '../../errors.js';
import type { FeedEvents, MarketFeed } from '../../ports/feed.js';
import type { Chain } from '../../ports/chain.js';
import type { Logger } from '../../ports/log.js';
import type { Clock } from '../../ports/clock.js';
import type { Cancel } from '../../types.js';
import { createOnchainConfig } from '../evm/market-config/onchain-config.js';
import { createUpstream } from './ask-upstream.js';
import { createCharts } from './charts.js';
import { createConfigLayers, feedStatus, isPriceLive, statusKey } from './feed-status.js';
import { createConfigSource, type BlockNotice } from './config-source.js';
import { createHttp, productionEndpoints, type Endpoints, type Http } from './http.js';
import { createPriceSource } from './price-source.js';
import { createTradeHistory } from './trade-history.js';
import { marketPrice } from '../../domain/pricing/exposure.js';
import type { Quote } from './price-book.js';

export interface BackendFeedOptions {
  readonly chain: ChainDefinition & { readonly slug: ChainSlug };
  /** Serves the market configuration when the backend was silent for too long. */
  readonly node?: Pick<Chain, 'views' | 'head'>;
  /** Defaults to the protocol's own hosts for this chain. */
  readonly endpoints?: Endpoints;
  readonly clock: Clock;
  readonly log: Logger;
  /** Shared by feeds that share a host. */
  readonly http?: Http;
  /** 0 to 1, for the jitter of retries. */
  readonly random?: () => number;
}

export interface BackendFeed extends MarketFeed {
  /** Newest block reported by the event stream; null before the first. */
  block(): BlockNotice | null;
  /** Ticks dropped since the start, as unreadable or implausible. */
  droppedTicks(): number;
}

const WATCH_MS = 1_000;
/** Unchanged prices are not sent, but an open market does not stand still for this long. */
const SILENT_CRYPTO_MS = 60_000;
const SILENT_OTHER_MS = 300_000;

/** MarketFeed over the protocol's backends: configuration and events of the chain's host, prices of the pricing host. */
export function createBackendFeed(options: BackendFeedOptions): BackendFeed {
  const { chain, clock, random = Math.random } = options;
  const log = options.log.child({ chain: chain.slug, part: 'feed' });
  const endpoints = options.endpoints ?? productionEndpoints(chain.backendNetwork);
  const http = options.http ?? createHttp(clock);
  const bus = createBus<FeedEvents>((kind, error) => log.error('feed.listener-failed', { kind, error }));
  const config = createConfigSource({
    endpoints,
    http,
    clock,
    log,
    random,
    isOpen: (hours) => sessionOpen(hours, clock.now()),
    onChange: () => announce(),
    onTrade: (row) => history.add(row),
    onReorg: () => history.forget(),
  });
  const onchain = options.node
    ? createOnchainConfig({ definition: chain, chain: options.node, clock, log, onChange: () => announce() })
    : null;
  const layers = createConfigLayers(config, onchain, clock);
  const stopping = new AbortController();
  const asking = { http, clock, random, signal: stopping.signal };
  const charts = createCharts({ pricingUrl: endpoints.pricingUrl, upstream: createUpstream({ name: 'charts', ...asking }), clock });
  const history = createTradeHistory({
    globalUrl: endpoints.globalUrl,
    chainId: chain.chainId,
    upstream: createUpstream({ name: 'history', ...asking }),
    clock,
    pairIndexOf: (name) => pairNames(layers.last())(name),
    onTrade: (trade) => bus.emit('trade', trade),
  });
  const price = createPriceSource({
    endpoints,
    http,
    clock,
    log,
    random,
    onPrices(pairs) {
      bus.emit('price', pairs);
      watch();
    },
  });
  let lastKey = '';
  let stopWatch: Cancel = () => undefined;

  const status = (): ReturnType<MarketFeed['status']> => feedStatus({ config, layers, price, history }, clock.now());

  const watch = (): void => {
    layers.watch();
    const current = status();
    const key = statusKey(current);
    if (key === lastKey) return;
    lastKey = key;
    log.info('feed.status', { parts: current.parts });
    bus.emit('status', current);
  };

  const announce = (): void => {
    const current = layers.last();
    if (current) bus.emit('config', current);
    watch();
  };

  const session = (pairIndex: number, at: number): Session => pairSession(layers.current(), pairIndex, at);

  const reference = (): Collateral | null => {
    const current = layers.last();
    return current && referenceCollateral(current);
  };

  /** Null without a valid price. */
  const point = (pairIndex: number, collateral: Collateral | null): PricePoint | null => {
    const quote = price.book.get(pairIndex);
    return quote ? referencePrice(collateral?.pairs[pairIndex] ?? null, quote) : null;
  };

  const marketDetail = (pairIndex: number): { market: string } => {
    const pair = layers.last()?.pairs[pairIndex];
    return { market: pair ? symbolOf(pair) : `pair ${pairIndex}` };
  };

  /** The last price of a closed or disabled market does not become stale. */
  const isSilent = (pairIndex: number): boolean => {
    const { pairs, groups } = layers.current();
    const groupName = groups[pairs[pairIndex]?.groupIndex ?? -1]?.name ?? '';
    const age = clock.now() - (price.book.get(pairIndex)?.heardAt ?? -Infinity);
    if (!['open', 'close_only'].includes(session(pairIndex, clock.now()))) return false;
    return age > (groupOf(groupName) === 'crypto' ? SILENT_CRYPTO_MS : SILENT_OTHER_MS);
  };

  return {
    chain: chain.slug,
    async start() {
      stopWatch = clock.every(WATCH_MS, watch);
      await Promise.all([config.start(), price.start()]);
      watch();
    },
    async stop() {
      stopWatch();
      stopping.abort();
      onchain?.stop();
      await Promise.all([config.stop(), price.stop()]);
    },
    status,
    config: () => layers.current(),
    price(pairIndex) {
      if (!isPriceLive(price, clock.now())) throw new GatewayError('NOT_READY', { reason: 'the price stream is silent' });
      const found = point(pairIndex, reference());
      if (!found) throw new GatewayError('NOT_READY', { reason: 'the market has no price yet', ...marketDetail(pairIndex) });
      if (isSilent(pairIndex))
        throw new GatewayError('NOT_READY', { reason: 'the price of the market is stale', ...marketDetail(pairIndex) });
      return found;
    },
    prices() {
      const collateral = reference();
      const known = [...price.book.quotes.keys()].map((pairIndex) => [pairIndex, point(pairIndex, collateral)] as const);
      return new Map(known.filter((entry): entry is readonly [number, PricePoint] => entry[1] !== null));
    },
    lastPrice: (pairIndex) => point(pairIndex, reference()),
    session,
    candles: (query) => charts.candles(query),
    recentTrades: (query) => history.recentTrades(query),
    on: (kind, listener) => bus.on(kind, listener),
    block: () => config.block(),
    droppedTicks: () => price.book.dropped,
  };
}

type NameIndex = (name: string) => number | null;

const NONE: NameIndex = () => null;
const known = new WeakMap<MarketConfig, NameIndex>();

/** Pair index by the protocol's name, or by the public name if no pair has that name: `TSLA/USD` may mean `TSLA_1/USD`. */
function pairNames(config: MarketConfig | null): NameIndex {
  if (!config) return NONE;
  const found = known.get(config);
  if (found) return found;
  const names = new Map<string, number>();
  for (const pair of config.pairs) if (pair) names.set(symbolOf(pair).toUpperCase(), pair.index);
  for (const pair of config.pairs) if (pair) names.set(`${pair.from}/${pair.to}`.toUpperCase(), pair.index);
  const lookUp: NameIndex = (name) => names.get(name.toUpperCase()) ?? null;
  known.set(config, lookUp);
  return lookUp;
}

/**
 * Public prices use the skew of one collateral: USDC where it is active, else the first active one. A pair is a core pair when that
 * collateral has a skew depth for it; its mark is then the feed's price moved by the current skew, as the contract's triggers use it. For
 * every other pair the feed's own mark is used (futures for volatile pairs, spot for the rest).
 */
function referenceCollateral(config: MarketConfig): Collateral | null {
  const active = config.collaterals.filter(({ isActive }) => isActive);
  return active.find(({ symbol }) => symbol === 'USDC') ?? active[0] ?? null;
}

/** Null when the skew leaves no price the contract could hold. */
function referencePrice(state: PairInCollateral | null, quote: Quote): PricePoint | null {
  if (!state || state.skewDepth === 0n) return { mark: quote.mark, index: quote.index, oracle: quote.mark, at: quote.at };
  try {
    return { mark: marketPrice(state, quote.mark), index: quote.index, oracle: quote.mark, at: quote.at };
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}
