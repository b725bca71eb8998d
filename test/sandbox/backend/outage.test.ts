import { chainBySlug } from '../../../core/chains/chains.js';
import { createMarketHours } from '../../../sandbox/backend/market-hours.js';
import { createPriceBackend, type PriceBackend } from '../../../sandbox/backend/price-backend.js';
import { createPriceWalk } from '../../../sandbox/backend/price-walk.js';
import { SANDBOX_MARKETS } from '../../../sandbox/markets.js';
import { closeWorlds, createDiamondWorld } from '../../harness/diamond/bare-diamond.js';
import { eventually } from '../../harness/time/eventually.js';
import { createRecordedLog } from '../../harness/checks/recorded-log.js';
import { createManualClock } from '../../harness/time/manual-clock.js';

describe('a backend of two chains, one of which has no node', () => {
  const [clock, log] = [createManualClock(), createRecordedLog()];
  let isNodeUp = false;
  let backend: PriceBackend;

  beforeAll(async () => {
    const world = await createDiamondWorld({ chain: 'base' });
    const hours = createMarketHours({ markets: SANDBOX_MARKETS, clock });
    const walk = createPriceWalk({ seed: 'outage', markets: SANDBOX_MARKETS, clock });
    const late = (method: string, params: readonly unknown[]): Promise<unknown> =>
      isNodeUp ? world.request(method, params) : Promise.reject(new Error('no node'));
    backend = createPriceBackend({
      chains: [
        { chain: chainBySlug('base'), read: world.request },
        { chain: { ...chainBySlug('polygon'), diamond: world.diamond }, read: late },
      ],
      ...{ markets: SANDBOX_MARKETS, walk, hours, clock, log },
    });
    await backend.start();
  });
  afterAll(async () => {
    await backend.stop();
    closeWorlds();
  });

  const status = async (url: string): Promise<number> => (await fetch(url)).status;

  it('serves the other one, says so once, and serves both when the node comes', async () => {
    expect(await status(`${backend.backendUrl('base')}/trading-variables`)).toBe(200);
    expect(await status(`${backend.backendUrl('polygon')}/trading-variables`)).toBe(503);
    await clock.pass(5_000);
    expect(log.entries.filter(({ event }) => event === 'backend.node-unreadable')).toHaveLength(1);
    isNodeUp = true;
    await eventually(
      async () => {
        await clock.pass(250);
        return status(`${backend.backendUrl('polygon')}/trading-variables`);
      },
      (code) => code === 200,
    );
  });

  it('answers a request it cannot fulfil with 500 and goes on', async () => {
    isNodeUp = false;
    expect(await status(`${backend.backendUrl('polygon')}/open-trades`)).toBe(500);
    expect(await status(`${backend.pricingUrl}/charts`)).toBe(200);
  });

  it('refuses what is not a question', async () => {
    expect((await fetch(`${backend.pricingUrl}/charts`, { method: 'POST' })).status).toBe(405);
  });
});
