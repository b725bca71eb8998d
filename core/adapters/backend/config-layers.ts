import type { MarketConfig } from '../../domain/market.js';
import { FLAGS_FRESH_MS } from '../../domain/schedule.js';
import { GatewayError } from '../../errors.js';
import type { FeedStatus } from '../../ports/feed.js';
import type { Clock } from '../../ports/clock.js';
import type { OnchainConfig } from '../evm/market-config/onchain-config.js';
import type { ConfigSource } from './config-source.js';

export interface ConfigLayers {
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
