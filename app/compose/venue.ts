import { removeUnusedAgents } from '../../core/access/agents.js';
import type { Crypto } from '../../core/access/signature.js';
import { createBackendFeed } from '../../core/adapters/backend/backend-feed.js';
import { endpointsOf, type Http } from '../../core/adapters/backend/http.js';
import { createViemChain } from '../../core/adapters/evm/viem-chain.js';
import type { ChainConfig, Config } from '../../core/config/config.js';
import { recordFunding } from '../../core/markets/funding.js';
import type { Gateway, Venue, VenueState } from '../../core/gateway.js';
import { createCandleRecorder } from '../../core/markets/candle-recorder.js';
import type { Metrics } from '../../core/observability/metrics.js';
import { expireOrders, watchDueWork } from '../../core/trading/due-work.js';
import { NO_REFERRERS } from '../../core/trading/order-variables.js';
import type { Store } from '../../core/ports/store.js';
import type { Logger } from '../../core/ports/log.js';
import type { Clock } from '../../core/ports/clock.js';
import type { Alerts } from '../../core/observability/alerts/alerts.js';
import type { Tracer } from '../../core/observability/tracing.js';
import { followChain } from '../../core/indexer/follow-chain.js';
import { watchContract } from '../../core/indexer/contract-standing.js';
import { watchHead } from '../../core/indexer/watch-head.js';
import { adoptWallets, composeRelayer, runRelayer, type WalletsOfChains } from './relayer.js';
import type { Ending, Lifecycle } from '../lifecycle.js';

export interface VenueParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly wallets: WalletsOfChains;
  readonly metrics: Metrics;
  readonly alerts: Alerts;
  readonly tracer: Tracer | null;
  readonly crypto: Crypto;
  readonly facade: Config['facade'];
  /** Shared by all chains, because they share the pricing host, which gets one request at a time. */
  readonly backends: Http;
  /** Its wallets are used on any database. */
  readonly isSandbox: boolean;
}

export function createVenue(
  { chain, rpcUrls, nodePatienceMs, wsUrls, relayer, referrers = NO_REFERRERS, ...hosts }: ChainConfig,
  { store, facade, clock, log, wallets: opened, metrics, alerts, tracer, crypto, backends, isSandbox }: VenueParts,
): Venue {
  const own = log.child({ chain: chain.slug });
  const state = newState();
  const node = createViemChain({ definition: chain, rpcUrls, nodePatienceMs, wsUrls, clock, log: own, tracer });
  const feed = createBackendFeed({ chain, node, endpoints: endpointsOf(hosts), clock, log, http: backends });
  const wallets = opened.get(chain.slug) ?? [];
  const adoption = relayer && adoptWallets({ chain, wallets, node, store, adoptsAll: isSandbox, clock, log: own });
  const composed =
    relayer &&
    composeRelayer(relayer, {
      chain,
      wallets,
      node,
      store,
      opening: { feed, referrer: referrers.relayed },
      facade,
      alerts,
      metrics,
      tracer,
      crypto,
      clock,
      log: own,
      state,
    });
  return {
    definition: chain,
    chain: node,
    feed,
    get relayer() {
      return adoption?.isSettled() === true ? composed : null;
    },
    adoption,
    referrers,
    candles: createCandleRecorder({ chain: chain.slug, feed, store: store.candles, clock, log: own }),
    clock,
    log: own,
    state,
  };
}

const newState = (): VenueState => ({
  facts: null,
  contract: null,
  checked: null,
  head: null,
  fault: null,
  followed: { block: null, caughtUpAt: null, fault: null, failing: null },
  catchUp: null,
});

/** A node or a database that hangs must not delay the shutdown: another replica continues. */
export const LAST_WORDS = { withinMs: 2_000, isBeside: true } as const satisfies Ending;

type Stop = () => Promise<void> | void;

/** Starts the parts of one chain in the order of their dependencies. */
export async function runVenue(gateway: Gateway, venue: Venue, config: ChainConfig | null, lifecycle: Lifecycle): Promise<void> {
  const { startBlock = null, confirmations = 0, relayer = null } = config ?? {};
  const parts: readonly (readonly [string, () => Promise<Stop> | Stop])[] = [
    ['contract', () => watchContract(gateway, venue)],
    ['head', () => watchHead(gateway, venue)],
    ['follower', () => followChain(gateway, venue, { startBlock, confirmations })],
    ['prepared orders', () => expireOrders(gateway, venue)],
    ['unused agents', () => removeUnusedAgents(gateway, venue)],
    ['relayer', () => runRelayer(gateway, venue, relayer?.lane)],
    ['due work', () => watchDueWork(gateway, venue)],
    ['funding', () => recordFunding(gateway.store.facade.funding, venue)],
    ['candles', () => recordCandles(venue)],
    ['feed', () => startFeed(venue)],
  ];
  for (const [name, begin] of parts) await lifecycle.start(`${name} of ${venue.definition.slug}`, begin, (stop) => stop(), LAST_WORDS);
}

function recordCandles({ candles }: Venue): Stop {
  candles.start();
  return () => candles.stop();
}

/** A backend that is down must not block the start: the feed keeps trying, and `/ready` reports it. */
function startFeed({ feed, log }: Venue): Stop {
  feed.start().catch((error: unknown) => log.error('feed.start-failed', { error }));
  return () => feed.stop();
}
