import { FLAGS_FRESH_MS } from '../../domain/schedule.js';
import type { FeedPart, FeedState, FeedStatus } from '../../ports/feed.js';
import type { ConfigSource } from './config-source.js';
import type { PriceSource } from './price-source.js';
import type { TradeHistory } from './trade-history.js';
import type { MarketConfig } from '../../domain/market.js';
import { GatewayError } from '../../errors.js';
import type { Clock } from '../../ports/clock.js';
import type { OnchainConfig } from '../evm/market-config/onchain-config.js';

interface ConfigLayers {
  /** Throws NOT_READY when both sources are stale. */
  current(): MarketConfig;
  /** The newest available, however old. */
  last(): MarketConfig | null;
  from(): FeedStatus['configFrom'];
  /** Called periodically: turns reading from the chain on and off. */
  watch(): void;
}

/** The chain is read shortly before the backend's configuration becomes stale, so that there is no gap. */
const ASK_CHAIN_AFTER_MS = 90_000;
/** Shorter at start, when there is no earlier configuration to serve meanwhile. */
const ASK_CHAIN_AT_START_MS = 15_000;

/** The backend's configuration while it is fresh, then the chain's own. */
export function createConfigLayers(backend: ConfigSource, onchain: OnchainConfig | null, clock: Clock): ConfigLayers {
  const startedAt = clock.now();
  const backendAge = (): number => clock.now() - (backend.refreshedAt() ?? startedAt);
  const fresh = (config: MarketConfig | null): MarketConfig | null =>
    config !== null && clock.now() - config.refreshedAt <= FLAGS_FRESH_MS ? config : null;
  const fromBackend = (): MarketConfig | null => (backendAge() <= FLAGS_FRESH_MS ? backend.config() : null);
  const fromChain = (): MarketConfig | null => fresh(onchain?.config() ?? null);

  const reason = (): string =>
    backend.refreshedAt() === null
      ? 'the market configuration is not loaded yet'
      : `the market configuration is ${Math.round(backendAge() / 1_000)} s old and the chain has not confirmed it`;

  return {
    current() {
      const config = fromBackend() ?? fromChain();
      if (!config) throw new GatewayError('NOT_READY', { reason: reason() });
      return config;
    },
    last: () => fromBackend() ?? fromChain() ?? backend.config(),
    from() {
      if (fromBackend()) return 'backend';
      return fromChain() ? 'chain' : null;
    },
    watch: () => onchain?.need(backendAge() > (backend.refreshedAt() === null ? ASK_CHAIN_AT_START_MS : ASK_CHAIN_AFTER_MS)),
  };
}

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
