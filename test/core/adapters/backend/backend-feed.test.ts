import { eventually, until } from '../../../harness/time/eventually.js';
import { CHARTS, createRig, outcome, type Rig } from './harness.js';
import { json } from './upstream.js';
import { collateral, tradingVariables } from './wire-fixtures.js';

/** Real sockets on a machine that may be busy. */
describe('the market feed', () => {
  let rig: Rig;
  afterEach(() => rig.stop());

  const connected = () => until(() => rig.upstream.sockets.prices.size === 1 && rig.upstream.sockets.events.size === 1);
  const started = async (...setup: Parameters<typeof createRig>): Promise<Rig> => {
    rig = await createRig(...setup);
    await rig.feed.start();
    await connected();
    return rig;
  };
  const live = async (frame: unknown = { m: [0, 60000], i: [0, 60000], t: 1 }): Promise<void> => {
    rig.upstream.send('prices', frame);
    await until(() => rig.feed.status().parts.price.state === 'ok');
  };

  it('is not ready before its first data, and reports why', async () => {
    rig = await createRig();
    expect(rig.feed.status()).toEqual({
      ready: false,
      configFrom: null,
      parts: {
        config: { state: 'down', ageMs: null },
        price: { state: 'down', ageMs: null },
        events: { state: 'down', ageMs: null },
        history: { state: 'absent', ageMs: null },
      },
    });
    expect(outcome(() => rig.feed.config())).toMatchObject({ code: 'NOT_READY' });
    expect(outcome(() => rig.feed.price(0))).toMatchObject({ code: 'NOT_READY' });
    expect(rig.feed.prices().size).toBe(0);
  });

  it('asks for the keys it uses and no others, with compression, and is seeded by the charts', async () => {
    await started();
    const asked = rig.upstream.requests.find((path) => path.startsWith('/trading-variables/')) ?? '';
    expect(asked.split('/')[2]?.split(',')).toEqual(expect.arrayContaining(['pairs', 'collaterals', 'pairInfos', 'isForexOpen']));
    expect(asked).not.toContain('allTrades');
    expect(rig.feed.status().ready).toBe(true);
    expect([...rig.feed.prices()]).toEqual([
      [0, { mark: 600000000000000n, index: 599900000000000n, oracle: 600000000000000n, at: rig.clock.now() }],
      [1, { mark: 11000000000n, index: 11000000000n, oracle: 11000000000n, at: rig.clock.now() }],
      [3, { mark: 2005000000000n, index: 2005000000000n, oracle: 2005000000000n, at: rig.clock.now() }],
    ]);
  });

  it('follows frames of every kind on one socket', async () => {
    await started();
    const received: number[][] = [];
    rig.feed.on('price', (pairs) => void received.push([...pairs]));
    const at = rig.clock.now() - 40;
    for (const frame of [{ m: [0, 60010], i: [0, 60005], t: at }, [1, 1.2], [rig.clock.now()], { m: [3, 201] }])
      rig.upstream.send('prices', frame);
    await until(() => received.length === 3);
    expect(received).toEqual([[0], [1], [3]]);
    expect(rig.feed.price(0)).toEqual({ mark: 600100000000000n, index: 600050000000000n, oracle: 600100000000000n, at });
    expect(rig.feed.price(1)).toEqual({ mark: 12000000000n, index: 12000000000n, oracle: 12000000000n, at: rig.clock.now() });
    expect(rig.feed.price(3)).toMatchObject({ mark: 2010000000000n, index: 2010000000000n });
  });

  it('does not let late charts overwrite what the socket said meanwhile', async () => {
    rig = await createRig();
    let release: () => void = () => undefined;
    rig.upstream.handle('/charts', (request, response) => (release = () => json(CHARTS)(request, response)));
    const starting = rig.feed.start();
    await connected();
    await until(() => rig.upstream.requests.includes('/charts'));
    await live({ m: [0, 61000], i: [0, 61000], t: 1 });
    release();
    await starting;
    expect(rig.feed.price(0).mark).toBe(610000000000000n);
    expect(rig.feed.prices().has(1)).toBe(true);
  });

  it.each([1, 1000])('takes charts for as old as they say they are, in units of 1/%p s', async (unit) => {
    rig = await createRig();
    const time = Math.floor(((rig.clock.now() - 61_000) * unit) / 1000);
    rig.upstream.handle('/charts', json({ ...CHARTS, time }));
    await rig.feed.start();
    await connected();
    await live([1]);
    expect(outcome(() => rig.feed.price(0))).toMatchObject({ code: 'NOT_READY', market: 'P0/USD' });
    expect(rig.feed.prices().get(0)).toMatchObject({ mark: 600000000000000n, at: rig.clock.now() - 61_000 });
  });

  it('moves the mark of a core pair by the skew of USDC, and leaves its index', async () => {
    const usdc = collateral(3, 6);
    (usdc['pairSkewDepths'] as string[])[0] = (2000n * 10n ** 18n).toString();
    ((usdc['pairOis'] as { token: object }[])[0] as { token: object }).token = {
      oiLongToken: (30n * 10n ** 18n).toString(),
      oiShortToken: (10n * 10n ** 18n).toString(),
    };
    await started((now) => ({ ...tradingVariables({ lastRefreshed: now }), collaterals: [collateral(1, 6), usdc] }));
    await live({ m: [0, 60000, 1, 1.1], i: [0, 60000, 1, 1.1], t: 1 });
    // 20 of 2000 tokens net long: 20/2000/2 = 0.005 percent.
    expect(rig.feed.price(0)).toMatchObject({ mark: 600030000000000n, index: 600000000000000n });
    expect(rig.feed.price(1)).toMatchObject({ mark: 11000000000n, index: 11000000000n });
  });

  it('survives a skew that leaves no price, and loses only that market', async () => {
    const usdc = collateral(3, 6);
    (usdc['pairSkewDepths'] as string[])[0] = '1';
    ((usdc['pairOis'] as { token: object }[])[0] as { token: object }).token = { oiLongToken: '0', oiShortToken: (10n ** 30n).toString() };
    await started((now) => ({ ...tradingVariables({ lastRefreshed: now }), collaterals: [usdc] }));
    await live({ m: [0, 60000, 1, 1.1], i: [0, 60000, 1, 1.1], t: 1 });
    expect(outcome(() => rig.feed.price(0))).toMatchObject({ code: 'NOT_READY', market: 'P0/USD' });
    expect([...rig.feed.prices().keys()]).toEqual([1, 3]);
  });

  it('merges events between snapshots and notifies listeners once for many', async () => {
    await started();
    let notified = 0;
    rig.feed.on('config', () => (notified += 1));
    rig.upstream.send('events', { name: 'tradingVariables', value: { isForexOpen: false } });
    rig.upstream.send('events', { name: 'whatever', value: { a: 1 } });
    rig.upstream.send('events', { name: 'tradingVariables', value: { tradingState: 1 } });
    rig.upstream.send('events', { name: 'currentBlock', value: 77 });
    await until(() => rig.feed.block()?.number === 77n);
    expect(rig.feed.config()).toMatchObject({ tradingState: 'close_only', openClasses: { forex: false, stocks: true } });
    expect(notified).toBe(0);
    rig.clock.advance(50);
    expect(notified).toBe(1);
    expect(rig.feed.status().parts.events.state).toBe('ok');
  });

  it('asks again after a deep reorganisation, but not with every hint', async () => {
    await started();
    const asked = () => rig.upstream.requests.filter((path) => path.startsWith('/trading-variables')).length;
    await rig.clock.pass(10_000);
    for (let times = 0; times < 20; times += 1) rig.upstream.send('events', { name: 'deepReorg', value: null });
    rig.upstream.send('events', { name: 'currentBlock', value: 78 });
    await until(() => rig.feed.block()?.number === 78n);
    await until(() => asked() === 2);
    await rig.clock.pass(4_900);
    expect(asked()).toBe(2);
    rig.upstream.send('events', { name: 'deepReorg', value: null });
    rig.upstream.send('events', { name: 'currentBlock', value: 79 });
    await until(() => rig.feed.block()?.number === 79n);
    await rig.clock.pass(200);
    await until(() => asked() === 3);
  });

  it('asks for a snapshot every minute and never twice at once', async () => {
    await started();
    const asked = () => rig.upstream.requests.filter((path) => path.startsWith('/trading-variables')).length;
    await rig.clock.pass(59_000, 1_000);
    expect(asked()).toBe(1);
    await rig.clock.pass(2_000, 500);
    await until(() => asked() === 2);
    expect(rig.upstream.inFlight.most).toBe(1);
  });

  it('leaves nothing behind when it is stopped', async () => {
    await started();
    await rig.feed.stop();
    await until(() => rig.upstream.sockets.prices.size + rig.upstream.sockets.events.size === 0);
    expect(rig.clock.pending).toBe(0);
    const { length } = rig.upstream.requests;
    await rig.clock.pass(120_000, 10_000);
    expect(rig.upstream.requests).toHaveLength(length);
  });

  it('calls the other listeners when one throws', async () => {
    await started();
    const received: number[] = [];
    rig.feed.on('price', () => {
      throw new Error('listener');
    });
    rig.feed.on('price', (pairs) => void received.push(...pairs));
    rig.upstream.send('prices', [0, 60001]);
    await eventually(
      () => received,
      (pairs) => pairs.length === 1,
    );
    expect(rig.log.entries.map(({ event }) => event)).toContain('feed.listener-failed');
  });
});
