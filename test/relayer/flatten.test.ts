import { Wallet } from 'ethers';
import type pg from 'pg';
import { venueOf, type Gateway, type Venue } from '../../core/gateway.js';
import type { Address } from '../../core/types.js';
import { createAlerts } from '../../core/observability/alerts/alerts.js';
import type { Store } from '../../core/ports/store.js';
import type { ExchangeStore } from '../../core/ports/stores/exchange.js';
import type { RelayJob } from '../../core/ports/stores/relay.js';
import type { Relayer } from '../../core/ports/relayer.js';
import { LOOK_MS, watchDueWork } from '../../core/trading/due-work.js';
import { runScheduledCancels } from '../../facade/trade/background/schedule-cancels.js';
import type { TradeAction } from '../../facade/actions/trade.js';
import { deriveCalls } from '../../facade/trade/derive-calls.js';
import type { ChainTrader } from '../harness/traders/chain-trader.js';
import { eventually, until } from '../harness/time/eventually.js';
import { moveTime } from '../harness/time/move-time.js';
import { newFacadeTrader } from '../harness/traders/facade-trader.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { operatorOf } from '../harness/venue/operator.js';
import { startSecondGateway, whenReady, type SecondGateway } from '../harness/venue/second-gateway.js';
import { order, orderAction, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import { createManualClock } from '../harness/time/manual-clock.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';
import { venueDatabase } from '../harness/venue/venue-database.js';

const CHAIN = 'arbitrum-sepolia';
const BTC = 0;
const PRICE = 60_000;
const HOUR_MS = 3_600_000;

let sandbox: TestVenue;
let beside: SecondGateway;
let database: pg.Client;

beforeAll(async () => {
  sandbox = await startOwnVenue({ FACADE_SCHEDULE_CANCEL: 'flatten' });
  database = await venueDatabase(sandbox);
  sandbox.controls.prices.jump(BTC, String(PRICE));
  await eventually(
    () => sandbox.gateway.venues.get(CHAIN)?.feed.lastPrice(BTC)?.oracle,
    (price) => price === BigInt(PRICE) * 10n ** 10n,
  );
  beside = await startSecondGateway(sandbox, { relays: true, clock: sandbox.clock });
  await whenReady(beside);
});
afterAll(async () => {
  await beside.stop();
  await database.end();
  await sandbox.stop();
});

const limit = (tif: string) => ({ limit: { tif } });
const buy = (s: string, changes: object = {}) => order({ a: BTC, b: true, p: String(PRICE * 1.05), s, t: limit('Ioc'), ...changes });

interface Bot {
  readonly trader: ChainTrader;
  readonly address: Address;
  send(action: Record<string, unknown>): Promise<unknown>;
}

async function newBot(): Promise<Bot> {
  const { trader, agentKey, address } = await newFacadeTrader(sandbox);
  const agent = new Wallet(agentKey);
  const send = async (action: Record<string, unknown>) => (await postExchange(sandbox.url, CHAIN, await signL1(agent, action))).body;
  return { trader, address: address.toLowerCase() as Address, send };
}

const settled = (trader: ChainTrader, count: number) =>
  eventually(
    () => trader.trades(),
    (trades) => trades.length === count,
  );

const hasSchedule = async ({ address }: Bot): Promise<boolean> =>
  (await database.query('select from scheduled_cancels where trader = $1', [address])).rowCount !== 0;

/** A look at what is due began from now on, and what it found was handed on. */
const looksPass = async ({ bus, clock }: Gateway): Promise<void> => {
  const from = clock.monotonic();
  let isSeen = false;
  const stop = bus.on('due', ({ askedAt, due }) => {
    isSeen ||= askedAt >= from && due.schedules;
  });
  await until(() => isSeen);
  stop();
};

/** What the relayer signed for a schedule of the trader. */
async function scheduledJobs(trader: Address): Promise<RelayJob[]> {
  const { store } = sandbox.gateway;
  const ids = Array.from({ length: 400 }, (_, at) => BigInt(at + 1));
  const jobs = await store.relay.jobs(CHAIN, ids);
  return jobs.filter((job) => job.trader === trader && job.purpose === 'scheduled-cancel');
}

describe("a dead man's switch that flattens", () => {
  it('cancels entries and closes positions once, however many replicas look at it', async () => {
    const bot = await newBot();
    const stop = buy('0.1', { b: false, r: true, p: '50000', t: { trigger: { isMarket: true, triggerPx: '55000', tpsl: 'sl' } } });
    await bot.send(orderAction(buy('0.1')));
    await bot.send(orderAction(stop, buy('0.1', { p: '50000', t: limit('Gtc') })));
    await settled(bot.trader, 2);
    expect(await bot.send({ type: 'scheduleCancel', time: sandbox.clock.now() + 60_000 })).toMatchObject({ status: 'ok' });
    await moveTime(sandbox, 60_000);
    await settled(bot.trader, 0);
    const jobs = await eventually(
      () => scheduledJobs(bot.address),
      (found) => found.length > 1 && found.every(({ state }) => state === 'mined'),
    );
    expect(jobs.map(({ context }) => (context as { kind: string }).kind).sort()).toEqual(['cancel', 'flatten']);
    // A trader who comes back starts afresh.
    expect(await bot.send(orderAction(buy('0.1')))).toMatchObject({ response: { data: { statuses: [{ filled: expect.anything() }] } } });
    expect(await settled(bot.trader, 1)).toHaveLength(1);
  });

  it('fires when no replica could fire it in time: one that starts later does it, once', async () => {
    const bot = await newBot();
    await bot.send(orderAction(buy('0.1')));
    await settled(bot.trader, 1);
    const { store } = sandbox.gateway;
    const pausedAt = sandbox.clock.now();
    expect(await bot.send({ type: 'scheduleCancel', time: pausedAt + 60_000 })).toMatchObject({ status: 'ok' });
    await store.switches.set(CHAIN, null, { mode: 'paused', reason: null }, pausedAt);
    await beside.stop();
    await moveTime(sandbox, 60_000);
    await looksPass(sandbox.gateway);
    expect(await bot.trader.trades()).toHaveLength(1);
    expect(await scheduledJobs(bot.address)).toEqual([]);
    beside = await startSecondGateway(sandbox, { relays: true, clock: sandbox.clock });
    await store.switches.set(CHAIN, null, { mode: 'running', reason: null }, sandbox.clock.now());
    await settled(bot.trader, 0);
    expect(await scheduledJobs(bot.address)).toHaveLength(1);
  });
});

function runSchedules(gateway: Gateway, venue: Venue): () => Promise<void> {
  const [stopSchedules, stopLooks] = [runScheduledCancels(gateway, venue), watchDueWork(gateway, venue)];
  return async () => {
    stopSchedules();
    await stopLooks();
  };
}

describe("a dead man's switch while nothing can be sent", () => {
  /** It is due in an hour, and the clock of the replica that fires it is an hour after that. */
  async function overdue() {
    const bot = await newBot();
    await bot.send(orderAction(buy('0.1')));
    await settled(bot.trader, 1);
    const dueAt = sandbox.clock.now() + HOUR_MS;
    expect(await bot.send({ type: 'scheduleCancel', time: dueAt })).toMatchObject({ status: 'ok' });
    const { gateway, log } = sandbox;
    const clock = createManualClock(dueAt + HOUR_MS);
    let [looks, taken, putBacks, asking] = [0, 0, 0, 0];
    const whileAsking = <Answer>(answer: Promise<Answer>): Promise<Answer> => {
      asking += 1;
      return answer.finally(() => (asking -= 1));
    };
    const { exchange } = gateway.store;
    const counted: ExchangeStore = {
      ...exchange,
      async takeDue(...asked) {
        const due = await whileAsking(exchange.takeDue(...asked));
        looks += 1;
        taken += due.length;
        return due;
      },
      async putBack(...asked) {
        await exchange.putBack(...asked);
        putBacks += 1;
      },
    };
    const alerts = createAlerts({ store: gateway.store.alerts, clock, log, isSent: false });
    const due: Store['due'] = async (...asked) => {
      const found = await whileAsking(gateway.store.due(...asked));
      if (!found.schedules) looks += 1;
      return found;
    };
    // A look that comes while others are under way, or while one is still being worked on, may find nothing: then the next one does.
    const lookUnlessBusy = (): void => {
      if (asking === 0 && taken === putBacks) clock.advance(LOOK_MS);
    };
    const watched = { ...gateway, clock, alerts, store: { ...gateway.store, exchange: counted, due } };
    const more = (than: number) => (count: number) => count > than;
    const lookAfter = async (ms: number): Promise<void> => {
      const before = looks;
      clock.advance(ms);
      await eventually(() => looks, more(before));
    };
    const putBackAfter = async (ms: number): Promise<void> => {
      const before = putBacks;
      for (let left = ms; left > 0; left -= LOOK_MS) await lookAfter(LOOK_MS);
      await eventually(() => {
        lookUnlessBusy();
        return putBacks;
      }, more(before));
    };
    const allPutBack = () =>
      eventually(
        () => taken - putBacks,
        (open) => open === 0,
      );
    const firings = (): number =>
      log.entries.filter(({ event, fields }) => event === 'relay.schedule-fired' && fields['trader'] === bot.address).length;
    /** Within a few looks: time only passes while none is under way. */
    const fires = async (): Promise<void> => {
      const from = clock.now();
      await eventually(
        () => {
          lookUnlessBusy();
          return firings();
        },
        (count) => count === 1,
      );
      expect(clock.now() - from).toBeLessThanOrEqual(30 * LOOK_MS);
    };
    return {
      bot,
      clock,
      gateway: watched,
      venue: { ...venueOf(gateway, CHAIN), clock },
      lookAfter,
      putBackAfter,
      allPutBack,
      firings,
      fires,
    };
  }

  it('is not given up, and fires as soon as the lane can send again', async () => {
    const { bot, clock, gateway, venue, lookAfter, putBackAfter, allPutBack, firings, fires } = await overdue();
    if (venue.relayer === null) throw new Error('no relayer');
    let isBlocked = true;
    const laneProblem: Relayer['laneProblem'] = () => (isBlocked ? { reason: 'gas is dear', since: clock.now() } : null);
    const stop = runSchedules(gateway, { ...venue, relayer: { ...venue.relayer, laneProblem } });
    try {
      for (let minutes = 0; minutes < 15; minutes += 1) {
        await putBackAfter(1_000);
        await lookAfter(60_000);
        await allPutBack();
      }
      expect(await gateway.store.alerts.open()).toEqual([]);
      expect(firings()).toBe(0);
      isBlocked = false;
      await lookAfter(1_000);
      await lookAfter(LOOK_MS);
      await fires();
    } finally {
      await stop();
      await bot.send({ type: 'scheduleCancel' });
    }
  });

  it('waits for the chain after a start, and no longer', async () => {
    const { bot, gateway, venue, lookAfter, putBackAfter, firings, fires } = await overdue();
    const state = { ...venue.state, facts: null as typeof venue.state.facts };
    const stop = runSchedules(gateway, { ...venue, state });
    try {
      await putBackAfter(1_000);
      expect(firings()).toBe(0);
      state.facts = venue.state.facts;
      await lookAfter(LOOK_MS);
      await lookAfter(LOOK_MS);
      await fires();
    } finally {
      await stop();
      await bot.send({ type: 'scheduleCancel' });
    }
  });
});

describe("a dead man's switch while the contract is paused", () => {
  const [RUNNING, PAUSED] = [0, 2];
  const pause = async (state: number) => {
    await operatorOf(firstChain(sandbox)).control('sandboxSetTradingActivated', [state]);
    await eventually(
      () => venueOf(sandbox.gateway, CHAIN).feed.config().tradingState,
      (known) => known === (state === PAUSED ? 'paused' : 'active'),
    );
  };

  it('is tried for as long as the pause lasts, and cancels after it', async () => {
    const bot = await newBot();
    await bot.send(orderAction(buy('0.1', { p: '50000', t: limit('Gtc') })));
    await settled(bot.trader, 1);
    const dueAt = sandbox.clock.now() + HOUR_MS;
    expect(await bot.send({ type: 'scheduleCancel', time: dueAt })).toMatchObject({ status: 'ok' });
    const { gateway, log } = sandbox;
    const clock = createManualClock(dueAt);
    const alerts = createAlerts({ store: gateway.store.alerts, clock, log, isSent: false });
    const failures = (): number =>
      log.entries.filter(({ event, fields }) => event === 'relay.schedule-failed' && fields['trader'] === bot.address).length;
    await pause(PAUSED);
    const stop = runSchedules({ ...gateway, clock, alerts }, { ...venueOf(gateway, CHAIN), clock });
    try {
      // An hour, which is longer than anything else is tried for.
      for (let tries = 0; clock.now() < dueAt + HOUR_MS; tries = failures()) {
        await eventually(
          () => {
            clock.advance(60_000);
            return failures();
          },
          (count) => count > tries,
        );
      }
      expect((await gateway.store.alerts.open()).filter(({ subject }) => subject === bot.address)).toEqual([]);
      expect(await bot.trader.trades()).toHaveLength(1);
      await pause(RUNNING);
      await eventually(
        () => {
          clock.advance(20_000);
          return hasSchedule(bot);
        },
        (isLeft) => !isLeft,
      );
      expect(await bot.trader.trades()).toEqual([]);
    } finally {
      await stop();
      await pause(RUNNING);
    }
  });
});

describe("a dead man's switch that cannot close anything", () => {
  it('is tried for ten minutes anew where an hour lies between two tries', async () => {
    const bot = await newBot();
    const dueAt = sandbox.clock.now() + HOUR_MS;
    expect(await bot.send({ type: 'scheduleCancel', time: dueAt })).toMatchObject({ status: 'ok' });
    const { gateway, log } = sandbox;
    const clock = createManualClock(dueAt);
    const alerts = createAlerts({ store: gateway.store.alerts, clock, log, isSent: false });
    const account = { ...gateway.store.account, liveOrders: () => Promise.reject(new Error('the orders are not read')) };
    const failures = (): number =>
      log.entries.filter(({ event, fields }) => event === 'relay.schedule-failed' && fields['trader'] === bot.address).length;
    const fails = (times: number) =>
      eventually(
        () => {
          clock.advance(1_000);
          return failures();
        },
        (count) => count >= times,
      );
    const stop = runSchedules({ ...gateway, clock, alerts, store: { ...gateway.store, account } }, { ...venueOf(gateway, CHAIN), clock });
    try {
      await fails(1);
      // Meanwhile another replica has it.
      clock.advance(HOUR_MS);
      await fails(3);
      expect((await gateway.store.alerts.open()).filter(({ subject }) => subject === bot.address)).toEqual([]);
    } finally {
      await stop();
      await bot.send({ type: 'scheduleCancel' });
    }
  });

  it('is tried for ten minutes, however late it began, and then calls the operator', async () => {
    const bot = await newBot();
    await bot.send(orderAction(buy('0.1')));
    await settled(bot.trader, 1);
    const dueAt = sandbox.clock.now() + HOUR_MS;
    expect(await bot.send({ type: 'scheduleCancel', time: dueAt })).toMatchObject({ status: 'ok' });
    const { gateway, controls, log } = sandbox;
    const venue = venueOf(gateway, CHAIN);
    // No replica ran when it came due, and the market is closed when one starts.
    const clock = createManualClock(dueAt + HOUR_MS);
    const alerts = createAlerts({ store: gateway.store.alerts, clock, log, isSent: false });
    controls.prices.setOpen(BTC, false);
    const stop = runSchedules({ ...gateway, clock, alerts }, { ...venue, clock });
    try {
      const open = await eventually(
        () => {
          clock.advance(20_000);
          return gateway.store.alerts.open();
        },
        (found) => found.some(({ kind }) => kind === 'schedule-given-up'),
      );
      expect(clock.now() - dueAt - HOUR_MS).toBeGreaterThan(600_000);
      expect(open).toMatchObject([{ chain: CHAIN, subject: bot.address, details: { dueAt } }]);
      await eventually(
        () => hasSchedule(bot),
        (isLeft) => !isLeft,
      );
    } finally {
      await stop();
      controls.prices.setOpen(BTC, true);
    }
    expect(await bot.trader.trades()).toHaveLength(1);
  });
});

describe('the policy', () => {
  it('lets a close stand for nothing but a schedule', () => {
    const signed = (action: object) => ({ trader: `0x${'12'.repeat(20)}` as const, action: action as TradeAction });
    const context = { kind: 'flatten', tradeIndex: 3, expectedPrice: 6n * 10n ** 14n };
    const meaning = (action: object, purpose: RelayJob['purpose']) => deriveCalls(signed(action), { context, purpose }, () => 1n);
    expect(meaning({ type: 'scheduleCancel', time: 1 }, 'scheduled-cancel')).toHaveLength(1);
    expect(meaning({ type: 'scheduleCancel' }, 'scheduled-cancel')).toEqual([]);
    expect(meaning({ type: 'scheduleCancel', time: 1 }, 'action')).toEqual([]);
    expect(meaning({ type: 'cancel', cancels: [{ a: 0, o: 1 }] }, 'scheduled-cancel')).toEqual([]);
  });
});
