import { once } from 'node:events';
import { WebSocket } from 'ws';
import { createBackendFeed, type BackendFeed } from '../../../core/adapters/backend/backend-feed.js';
import { endpointsOf } from '../../../core/adapters/backend/http.js';
import { chainBySlug } from '../../../core/chains/chains.js';
import { createMarketHours, type MarketHours } from '../../../sandbox/backend/market-hours.js';
import { createPriceBackend, type PriceBackend } from '../../../sandbox/backend/price-backend.js';
import { createPriceWalk, type PriceWalk } from '../../../sandbox/backend/price-walk.js';
import { SANDBOX_MARKETS } from '../../../sandbox/markets.js';
import { closeWorlds, createDiamondWorld, type DiamondWorld } from '../../harness/diamond/bare-diamond.js';
import { createRecordedLog, type RecordedLog } from '../../harness/checks/recorded-log.js';
import { createManualClock, type ManualClock } from '../../harness/time/manual-clock.js';

export interface Venue {
  readonly world: DiamondWorld;
  readonly backend: PriceBackend;
  readonly feed: BackendFeed;
  readonly walk: PriceWalk;
  readonly hours: MarketHours;
  readonly clock: ManualClock;
  readonly log: RecordedLog;
  stop(): Promise<void>;
}

/** Contract, walk, backend and the production feed in front of it, on one clock that stands still. */
export async function createVenue(): Promise<Venue> {
  const world = await createDiamondWorld();
  const [clock, log] = [createManualClock(), createRecordedLog()];
  const chain = chainBySlug('arbitrum-sepolia');
  await world.mine(Math.floor(clock.now() / 1000) - (await world.now()));
  const hours = createMarketHours({ markets: SANDBOX_MARKETS, clock });
  const walk = createPriceWalk({ seed: 'venue', markets: SANDBOX_MARKETS, clock, isOpen: hours.isOpen });
  const backend = createPriceBackend({ chains: [{ chain, read: world.request }], markets: SANDBOX_MARKETS, walk, hours, clock, log });
  await backend.start();
  walk.start();
  const endpoints = endpointsOf({
    backendUrl: backend.backendUrl(chain.slug),
    pricingUrl: backend.pricingUrl,
    globalUrl: backend.pricingUrl,
  });
  const feed = createBackendFeed({ chain, endpoints, clock, log });
  await feed.start();
  return {
    ...{ world, backend, feed, walk, hours, clock, log },
    async stop() {
      walk.stop();
      await feed.stop();
      await backend.stop();
      closeWorlds();
    },
  };
}

/** Everything a socket of the backend says, as it comes. */
export async function listen(url: string): Promise<{ readonly frames: unknown[]; close(): void }> {
  const socket = new WebSocket(url.replace(/^http/, 'ws'));
  const frames: unknown[] = [];
  socket.on('message', (data: Buffer) => void frames.push(JSON.parse(data.toString())));
  await once(socket, 'open');
  return { frames, close: () => socket.terminate() };
}
