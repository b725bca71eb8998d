import { until } from '../../../harness/time/eventually.js';
import { createRig, outcome, type Rig } from './harness.js';
import { json } from './upstream.js';
import { collateral, tradingVariables, type Wire } from './wire-fixtures.js';

/** No market of the fixture. */
const PROBE = 65_535;

/** Real sockets on a machine that may be busy. */
/** Pair 0 is crypto, pair 1 forex, pair 3 indices. */
describe('what is known of a market', () => {
  let rig: Rig;
  let over: Wire = {};
  let probes = 0;
  beforeEach(async () => {
    over = {};
    rig = await createRig((now) => ({ ...tradingVariables({ lastRefreshed: now }), ...over }));
    await rig.feed.start();
    await until(() => rig.upstream.sockets.prices.size === 1 && rig.upstream.sockets.events.size === 1);
    await say({ m: [0, 60000, 1, 1.1], i: [0, 60000, 1, 1.1], t: 1 });
  });
  afterEach(() => rig.stop());

  /** Sends a frame and waits until the feed has processed it. */
  const say = async (frame: unknown): Promise<void> => {
    probes += 1;
    rig.upstream.send('prices', frame);
    rig.upstream.send('prices', [PROBE, 1000 + probes / 1000]);
    await until(() => rig.feed.prices().get(PROBE)?.mark === BigInt(10 ** 13 + probes * 10 ** 7));
  };
  const event = async (name: string, value: unknown): Promise<void> => {
    const mark = (rig.feed.block()?.number ?? 0n) + 1n;
    rig.upstream.send('events', { name, value });
    rig.upstream.send('events', { name: 'currentBlock', value: Number(mark) });
    await until(() => rig.feed.block()?.number === mark);
  };
  const beats = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second += 1) {
      rig.clock.advance(1_000);
      await say([rig.clock.now()]);
    }
  };
  const session = (pairIndex: number) => rig.feed.session(pairIndex, rig.clock.now());

  it('no frame and no heartbeat for five seconds: dials again and asks for the charts', async () => {
    const charts = () => rig.upstream.requests.filter((path) => path === '/charts').length;
    const before = charts();
    await rig.clock.pass(4_900);
    expect(rig.upstream.dials.prices).toBe(1);
    await rig.clock.pass(1_100);
    await until(() => rig.upstream.dials.prices === 2 && charts() === before + 1);
  });

  it('no frame for ten seconds: no price to trade on, the last ones still to be read', async () => {
    const seen: string[] = [];
    rig.feed.on('status', ({ parts }) => void seen.push(parts.price.state));
    await rig.clock.pass(10_000);
    expect(rig.feed.price(0).mark).toBe(600000000000000n);
    await rig.clock.pass(1_000);
    expect(rig.feed.status().parts.price).toMatchObject({ state: 'stale', ageMs: 11_000 });
    expect(outcome(() => rig.feed.price(0))).toEqual({ code: 'NOT_READY', reason: 'the price stream is silent' });
    expect(rig.feed.prices().get(0)?.mark).toBe(600000000000000n);
    expect(rig.feed.config().pairs).toHaveLength(7);
    await rig.clock.pass(1_000);
    await until(() => rig.upstream.dials.prices === 3 && rig.upstream.sockets.prices.size === 1);
    await say({ m: [0, 60001], i: [0, 60001], t: 1 });
    expect(rig.feed.price(0).mark).toBe(600010000000000n);
    expect(seen).toEqual(['stale', 'ok']);
  });

  it('one open crypto market silent for a minute: that market is not ready, the others are', async () => {
    await beats(60);
    expect(rig.feed.price(0).mark).toBe(600000000000000n);
    await beats(1);
    expect(outcome(() => rig.feed.price(0))).toEqual({ code: 'NOT_READY', reason: 'the price of the market is stale', market: 'P0/USD' });
    expect(rig.feed.price(1).mark).toBe(11000000000n);
    await say([0, 60001]);
    expect(rig.feed.price(0).mark).toBe(600010000000000n);
  });

  it('a closed market silent for long: its last price, and the session says closed', async () => {
    over = { isForexOpen: false };
    await event('tradingVariables', { isForexOpen: false });
    await beats(400);
    expect(session(1)).toBe('closed');
    expect(rig.feed.price(1).mark).toBe(11000000000n);
  });

  it('an open market other than crypto has five minutes', async () => {
    await beats(300);
    expect(rig.feed.price(1).mark).toBe(11000000000n);
    await beats(1);
    expect(outcome(() => rig.feed.price(1))).toMatchObject({ code: 'NOT_READY', market: 'P1/USD' });
  });

  it.each([0, -1, 1e9, 120_000])('the tick %p is dropped and counted, and the last price stands', async (price) => {
    const before = rig.feed.droppedTicks();
    await say({ m: [0, price], t: 1 });
    await until(() => rig.feed.droppedTicks() === before + 1);
    expect(rig.feed.price(0).mark).toBe(600000000000000n);
  });

  it('a jump that persists becomes the price', async () => {
    for (let times = 0; times < 4; times += 1) {
      rig.clock.advance(250);
      await say({ m: [0, 40_000], i: [0, 40_000], t: 1 });
    }
    expect(rig.feed.price(0)).toMatchObject({ mark: 400000000000000n, index: 400000000000000n });
  });

  it('a configuration without a refresh for two minutes is stale, and unusable without a node to ask', async () => {
    rig.upstream.handle('/trading-variables/', json({}, 500));
    await rig.clock.pass(120_000, 5_000);
    expect(rig.feed.status()).toMatchObject({ configFrom: 'backend', parts: { config: { state: 'ok' } } });
    expect(rig.feed.config().pairs).toHaveLength(7);
    await rig.clock.pass(5_000, 5_000);
    expect(rig.feed.status()).toMatchObject({ configFrom: null, parts: { config: { state: 'stale', ageMs: 125_000 } } });
    expect(outcome(() => rig.feed.config())).toMatchObject({ code: 'NOT_READY', reason: expect.stringContaining('125 s old') });
    expect(rig.feed.prices().get(0)?.mark).toBe(600000000000000n);
  });

  it("the session of another day is the calendar's", () => {
    const saturday = Date.UTC(2026, 0, 10, 15);
    expect([0, 1, 3].map((pairIndex) => rig.feed.session(pairIndex, saturday))).toEqual(['open', 'closed', 'closed']);
  });

  it.each<[string, Wire, string[]]>([
    ['nothing special', {}, ['open', 'open', 'disabled', 'open']],
    ['forex closed', { isForexOpen: false }, ['open', 'closed', 'disabled', 'open']],
    ['close only', { tradingState: 1 }, ['close_only', 'close_only', 'disabled', 'close_only']],
    ['paused', { tradingState: 2 }, ['closed', 'closed', 'disabled', 'closed']],
    ['leverage of 0.001x', { pairInfos: { maxLeverages: [1] } }, ['disabled', 'open', 'disabled', 'open']],
    ['reduced leverage', { pairInfos: { maxLeverages: [4000] } }, ['open', 'open', 'disabled', 'open']],
    [
      'only inactive collaterals',
      { collaterals: [collateral(1, 6, { isActive: false })] },
      ['disabled', 'disabled', 'disabled', 'disabled'],
    ],
    ['no open interest allowed', { collaterals: [collateral(1, 6, { pairOis: [] })] }, ['disabled', 'disabled', 'disabled', 'disabled']],
  ])('with %s the sessions are these', async (_, change, sessions) => {
    await event('tradingVariables', change);
    expect([0, 1, 2, 3].map(session)).toEqual(sessions);
  });
});
