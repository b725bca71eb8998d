import { eventually } from '../harness/time/eventually.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';

let venue: TestVenue;
beforeAll(async () => (venue = await startOwnVenue()));
afterAll(() => venue.stop());

const isOpen = async (symbol: string): Promise<unknown> =>
  ((await venue.get('/v1/arbitrum-sepolia/markets')).body as { data: { symbol: string; isOpen: boolean }[] }).data.find(
    (market) => market.symbol === symbol,
  )?.isOpen;
const readyStatus = async (): Promise<number> => (await venue.get('/ready')).status;

describe('POST /sandbox/reset', () => {
  it('ends every disturbance', async () => {
    await venue.post('/sandbox/feed', { paused: true });
    await venue.post('/sandbox/market', { market: 'BTC/USD', isOpen: false });
    await venue.post('/sandbox/oracle', { mode: 'hold' });
    await venue.post('/sandbox/chain', { action: 'mining', paused: true });
    await venue.post('/sandbox/chain', { action: 'rpc', mode: 'down' });
    await eventually(readyStatus, (status) => status === 503);
    expect((await venue.post('/sandbox/reset', {})).status).toBe(200);
    await eventually(readyStatus, (status) => status === 200);
    await eventually(
      () => isOpen('BTC/USD'),
      (open) => open === true,
    );
    const before = (await venue.get('/ready')).body as { chains: Record<string, { block: number }> };
    await eventually(
      async () => ((await venue.get('/ready')).body as typeof before).chains['arbitrum-sepolia']?.block ?? 0,
      (block) => block > (before.chains['arbitrum-sepolia']?.block ?? 0),
    );
  });

  it('takes no fields', async () => {
    expect(await venue.post('/sandbox/reset', { all: true })).toMatchObject({ status: 400, body: { code: 'VALIDATION_ERROR' } });
  });
});
