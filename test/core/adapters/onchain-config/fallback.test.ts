import { createShiftedClock, type ShiftedClock } from '../../../harness/time/shifted-clock.js';
import { eventually } from '../../../harness/time/eventually.js';
import { startSecondGateway, type SecondGateway } from '../../../harness/venue/second-gateway.js';
import type { TestVenue } from '../../../harness/venue/own-venue.js';
import { sharedVenue } from '../../../harness/venue/shared-venue.js';
import { createUpstream, json, type Upstream } from '../backend/upstream.js';

const BASE = '/v1/arbitrum-sepolia';
let sandbox: TestVenue;
let upstream: Upstream;
let clock: ShiftedClock;
let beside: SecondGateway;

beforeAll(async () => (sandbox = await sharedVenue()));
afterAll(() => sandbox.stop());
beforeEach(async () => {
  clock = createShiftedClock();
  upstream = await createUpstream();
  upstream.handle('/', json({ error: 'away' }, 503));
});
afterEach(async () => {
  await beside.stop();
  await upstream.stop();
});

/** A gateway whose chain host is the test's own; prices come from the sandbox. */
const start = async (): Promise<void> => {
  beside = await startSecondGateway(sandbox, { clock, hosts: { backendUrl: upstream.endpoints.backendUrl } });
};
/** The chain host hands out what the sandbox's own says. */
const wellAgain = (): void => {
  const real = sandbox.config.chains[0]?.backendUrl ?? '';
  upstream.handle('/trading-variables/', (request, response) => {
    void fetch(`${real}${request.url ?? ''}`).then(async (answer) => json(await answer.json())(request, response));
  });
};

interface Ready {
  readonly ready: boolean;
  readonly chains: Readonly<
    Record<string, { readonly ready: boolean; readonly reasons: readonly string[]; readonly notes: readonly string[] }>
  >;
}
const ready = async () => {
  const { status, body } = await beside.get('/ready');
  const { reasons = [], notes = [] } = (body as Ready).chains['arbitrum-sepolia'] ?? {};
  return { status, reasons, notes };
};
const venue = () => {
  const found = beside.gateway.venues.get('arbitrum-sepolia');
  if (!found) throw new Error('no venue');
  return found;
};
const configFrom = () => venue().feed.status().configFrom;
const markets = async (get: (path: string) => Promise<{ body: unknown }>): Promise<unknown> => {
  const { data } = (await get(`${BASE}/markets`)).body as { data: Record<string, unknown>[] };
  return data.map(({ symbol, fees, maxLeverage, minLeverage, collaterals, isOpen }) => ({
    ...{ symbol, fees, maxLeverage, minLeverage, collaterals, isOpen },
  }));
};

describe('a gateway that starts while the backend is away', () => {
  it('says why it is not ready, reads the chain alone after 15 seconds, notes that, and goes back when it can', async () => {
    await start();
    await eventually(ready, ({ status, reasons }) => status === 503 && reasons.join() === 'the config feed is down');
    expect((await beside.get(`${BASE}/markets`)).status).toBe(503);

    clock.move(16_000);
    await eventually(ready, ({ status }) => status === 200);
    expect(configFrom()).toBe('chain');
    const notes = ['the backend was not heard since the start: the market configuration is read from the chain alone'];
    expect(await ready()).toEqual({ status: 200, reasons: [], notes });
    expect(await markets((path) => beside.get(path))).toEqual(await markets((path) => sandbox.get(path)));
    expect((await beside.get(`${BASE}/markets/BTC-USD/book`)).status).toBe(200);

    wellAgain();
    clock.move(31_000);
    await eventually(configFrom, (from) => from === 'backend');
    await eventually(ready, ({ status }) => status === 200);
    expect((await ready()).notes).toEqual([]);
  });
});

describe('a backend that goes away under a gateway', () => {
  it('leaves it ready all the time: first with the last configuration, then with the chain', async () => {
    wellAgain();
    await start();
    await eventually(ready, ({ status }) => status === 200);
    expect(configFrom()).toBe('backend');
    expect((await ready()).notes).toEqual([]);
    upstream.handle('/trading-variables/', json({ error: 'away' }, 503));
    const seen = new Set<string>();
    const readyAfter = async (seconds: number): Promise<void> => {
      clock.move(seconds * 1_000);
      // Prices fall silent with every leap of the clock, until the next one comes.
      await eventually(ready, ({ status, reasons }) => {
        for (const reason of reasons) seen.add(reason);
        return status === 200;
      });
    };
    await readyAfter(60);
    const chainRead = new Promise<void>((resolve) => void venue().feed.on('config', () => resolve()));
    await readyAfter(35);
    await chainRead;
    await readyAfter(30);
    await eventually(configFrom, (from) => from === 'chain');
    expect((await ready()).notes).toEqual([
      expect.stringMatching(/^the backend was last heard 1\d\d s ago: the market configuration is read from the chain alone$/),
    ]);
    expect([...seen].filter((reason) => reason.includes('config'))).toEqual([]);
    expect(venue().feed.status().parts.config.state).toBe('stale');
  });
});
