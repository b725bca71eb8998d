import type { ChainControls } from '../../sandbox/controls.js';
import type { RequestHook } from '../../sandbox/fault-plan.js';
import { expectViewEqualsChain } from '../harness/diamond/chain-checker.js';
import { reorgAway } from '../harness/diamond/reorg-away.js';
import { eventually, eventuallyOn } from '../harness/time/eventually.js';
import { createStore, type StoreOptions } from '../../core/adapters/postgres/create-store.js';
import { systemClock } from '../../core/adapters/system/clock.js';
import { FACADE_FLOOR_MS, walletKey } from '../../core/ports/stores/continuity.js';
import { createRecordedLog } from '../harness/checks/recorded-log.js';
import { copyTestDatabase, createTestDatabase, cutConnections, goBackTo } from '../harness/database/test-database.js';
import { relayBench, requestOf } from '../harness/relayer/relayer-bench.js';
import { hlInfo } from '../harness/hyperliquid/info.js';
import { order, orderAction } from '../harness/hyperliquid/exchange.js';
import { expectRelayInvariants, openPurse, type Purse } from '../harness/checks/relay-invariants.js';
import { startRelayerGateway, type RelayedBot, type RelayerGateway } from '../harness/venue/relayer-gateway.js';
import { answeredAtOnce } from '../harness/venue/answer-hold.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';

/** Bots of a gateway whose node, chain and wallet misbehave: what the gateway answers them, and what the chain holds afterwards. */

const SLUG = 'arbitrum-sepolia';
const BTC = 0;
const TIMEOUT_BLOCKS = 200;
const QUICK = { stuckMs: 400, doubtMs: 1_000, tooLateMs: 30_000, patienceMs: 1_000, jammedMs: 5_000 } as const;

let sandbox: TestVenue;
let chain: ChainControls;
let venue: RelayerGateway;
let purse: Purse;

beforeAll(async () => {
  sandbox = await startOwnVenue();
  const [first] = sandbox.controls.chains;
  if (!first) throw new Error('the sandbox has no chain');
  chain = first;
  sandbox.controls.prices.jump(BTC, '60000');
  venue = await startRelayerGateway(sandbox, { waits: QUICK, clock: sandbox.clock });
  await eventually(
    () => venue.gateway.venues.get(SLUG)?.feed.lastPrice(BTC)?.oracle,
    (price) => price === 60_000n * 10n ** 10n,
  );
});
beforeEach(async () => void (purse = await openPurse(venue.client, venue.wallet)));
afterEach(async () => {
  await chain.setBaseFee(1);
  chain.setOraclePolicy(null, { mode: 'auto' });
});
afterAll(async () => {
  await venue.stop();
  await sandbox.stop();
});

const relay = () => venue.gateway.store.relay;
const laneProblem = () => venue.gateway.venues.get(SLUG)?.relayer?.laneProblem(venue.wallet) ?? null;
const buy = (s: string) => order({ a: BTC, b: true, p: '63000', s, t: { limit: { tif: 'Ioc' } } });
const rest = (p: string) => order({ a: BTC, b: true, p, s: '0.01', t: { limit: { tif: 'Alo' } } });
const statuses = (body: unknown) =>
  (body as { response: { data: { statuses: Record<string, Record<string, unknown>>[] } } }).response.data.statuses;

/** For what a relayer does only after a rest, or after one of its waits: the time of its clock passes faster meanwhile. */
const soon = eventuallyOn(() => sandbox.clock);

/** After every fault: nothing twice, nothing lost, every wei booked, and the bot sees what the chain holds. */
async function expectWhole(bot: RelayedBot): Promise<void> {
  await soon(
    () => relay().open(SLUG, venue.wallet),
    (open) => open.length === 0,
  );
  await expectRelayInvariants(purse, { slug: SLUG, store: relay() });
  await expectViewEqualsChain(venue.gateway, SLUG, bot.trader);
}

const isSend = (body: unknown): boolean => JSON.stringify(body).includes('eth_sendRawTransaction');

/** Does this with the first transaction that is sent, and nothing with the others. */
function once(act: RequestHook): RequestHook {
  let isDone = false;
  return (body) => {
    if (isDone || !isSend(body)) return undefined;
    isDone = true;
    return act(body);
  };
}

const forward = async (body: unknown): Promise<unknown> =>
  (await fetch(chain.rpcUrl, { method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } })).json();

interface Call {
  readonly id: unknown;
  readonly method: string;
}

/** A node behind the others: it counts as if nothing had ever been sent. */
const staleCounts: RequestHook = async (body) => {
  const calls = (Array.isArray(body) ? body : [body]) as Call[];
  const stale = new Set(calls.filter(({ method }) => method === 'eth_getTransactionCount').map(({ id }) => id));
  if (stale.size === 0) return undefined;
  const replies = await forward(body);
  const old = (reply: { id: unknown }): object => (stale.has(reply.id) ? { ...reply, result: '0x0' } : reply);
  return { reply: Array.isArray(replies) ? replies.map(old) : old(replies as { id: unknown }) };
};

const FAULTS: Readonly<Record<string, RequestHook>> = {
  'takes a transaction and forgets it': once(() => ({ answer: `0x${'11'.repeat(32)}` })),
  'answers an error after it took a transaction': once(async (body) => {
    await forward(body);
    return { answer: { error: { code: -32000, message: 'internal error' } } };
  }),
  'closes the connection after it took a transaction': once(() => 'forget'),
  'closes the connection before it took a transaction': once(() => 'reset'),
  'is overloaded': once(() => 'refuse'),
  'counts nonces from the past': staleCounts,
};

describe('a node that', () => {
  let bot: RelayedBot;
  let placed = 0;
  beforeAll(async () => void (bot = await venue.newBot()));

  it.each(Object.keys(FAULTS))('%s loses and doubles no order', async (name) => {
    // On a busy machine the fault before may have lasted long enough to block the lane for a moment.
    await soon(laneProblem, (problem) => problem === null);
    const heal = venue.proxy.onRequest(FAULTS[name] ?? (() => undefined));
    try {
      await bot.send(orderAction(rest(String(50_000 - placed))));
      if (placed === 0) await bot.send(orderAction(buy('0.02')));
      placed += placed === 0 ? 2 : 1;
      await soon(
        () => bot.trader.trades(),
        (trades) => trades.length === placed && trades.some(({ tradeType }) => tradeType === 0),
      );
      await expectWhole(bot);
    } finally {
      heal();
    }
  });
});

describe('a chain that takes blocks back', () => {
  it('gets the same orders again, once', async () => {
    const bot = await venue.newBot();
    const before = await venue.client.getBlockNumber({ cacheTime: 0 });
    const arePlaced = () =>
      soon(
        () => bot.trader.trades(),
        (trades) => trades.length === 2,
      );
    await bot.send(orderAction(rest('50000')));
    await bot.send(orderAction(rest('49000')));
    await arePlaced();
    await reorgAway(chain, venue.client, before + 1n);
    await arePlaced();
    await expectWhole(bot);
  });
});

describe('a bot whose relayer cannot send', () => {
  it('is answered at once why and since when, may still do what needs no transaction, and is served again afterwards', async () => {
    const bot = await venue.newBot();
    const [resting] = statuses(await bot.send(orderAction(rest('50000'))));
    const cancel = { type: 'cancel', cancels: [{ a: BTC, o: resting?.['resting']?.['oid'] }] };
    await chain.setBaseFee(80);
    await soon(laneProblem, (problem) => problem !== null);
    const explained =
      /^Not sent: the relayer cannot send now, because gas costs 80 gwei, and the most it may pay is 50, since 2\d{3}-.*Z \(\d+ s\)\. It tries again every second; sign and send the action again in a moment\./;
    expect(await bot.send(orderAction(buy('0.02')))).toEqual({ status: 'err', response: expect.stringMatching(explained) });
    expect(statuses(await bot.send(cancel))).toEqual([{ error: expect.stringMatching(explained) }]);
    expect(await bot.send({ type: 'updateLeverage', asset: BTC, isCross: true, leverage: 7 })).toMatchObject({ status: 'ok' });
    await chain.setBaseFee(1);
    await soon(laneProblem, (problem) => problem === null);
    await bot.send(cancel);
    await soon(
      () => bot.trader.trades(),
      (trades) => trades.length === 0,
    );
    await expectWhole(bot);
  });

  it('takes back an order that is not yet sent without a transaction', async () => {
    const asleep = await startRelayerGateway(sandbox, { waits: QUICK, isHeld: true, holdMs: 300, clock: sandbox.clock });
    try {
      const bot = await asleep.newBot();
      const [queued] = statuses(await bot.send(orderAction(rest('50000'))));
      const cancel = { type: 'cancel', cancels: [{ a: BTC, o: queued?.['resting']?.['oid'] }] };
      expect(statuses(await bot.send(cancel))).toEqual(['success']);
      await asleep.releaseLane();
      expect(statuses(await bot.send(orderAction(rest('48000'))))[0]).toMatchObject({ resting: { oid: expect.any(Number) } });
      await soon(
        () => bot.trader.trades(),
        (trades) => trades.length === 1,
      );
      await expectViewEqualsChain(asleep.gateway, SLUG, bot.trader);
    } finally {
      await asleep.stop();
    }
  });
});

describe('a database that was put back to before its orders were sent', () => {
  const sends = () => ({ waits: QUICK, holdMs: 300, clock: sandbox.clock });

  /** Three orders that wait, in a copy of the database; in the database itself they are sent, and a fourth after them. */
  async function forgetSending(before: RelayerGateway) {
    // As an earlier start of the gateway left it.
    await before.gateway.store.relay.beginLane(SLUG, before.wallet, 0);
    const bot = await before.newBot();
    const own = await openPurse(before.client, before.wallet);
    const answers = statuses(await bot.send(orderAction(rest('50000'), rest('49000'), rest('48000'))));
    const oids = answers.map(({ resting }) => Number(resting?.['oid']));
    const copy = await copyTestDatabase(before.database);
    const areOnChain = (count: number) =>
      soon(
        () => bot.trader.trades(),
        (trades) => trades.length === count,
      );
    // The copy cut the connection that held the lane: it sends.
    await areOnChain(3);
    await bot.send(orderAction(rest('47500')));
    await areOnChain(4);
    return { bot, own, oids, copy, areOnChain };
  }

  /** What waited is known to be mined, the fourth is paid for, and what comes is sent with the next nonces: nothing twice. */
  async function expectRecalled(after: RelayerGateway, { bot, own, oids, areOnChain }: Awaited<ReturnType<typeof forgetSending>>) {
    const { store } = after.gateway;
    await soon(
      // A statement that is the first to reach the older database is refused.
      () => store.recovery.lane(SLUG, after.wallet).catch(() => null),
      (lane) => lane !== null && lane.reconciledLoss > 0n,
    );
    for (const [nonce, oid] of oids.entries())
      await soon(
        () => store.relay.jobsOfOrder(SLUG, BigInt(oid)),
        ([job]) => job?.state === 'mined' && job.nonce === nonce,
      );
    const user = bot.trader.account.address;
    for (const oid of oids)
      await soon(
        () => hlInfo(after).ask<{ readonly order?: { readonly status: string } }>('orderStatus', { user, oid }),
        (shown) => shown.order?.status === 'open',
      );
    await expectRelayInvariants(own, { slug: SLUG, store: store.relay });
    const { total } = await store.gas.costs({ chain: SLUG, by: 'wallet', from: 0, to: 100_000, limit: 1 });
    expect(total.costWei).toBe(own.balance - (await after.client.getBalance({ address: after.wallet })));
    const { continuity } = after.gateway.store;
    await continuity.adopt(continuity.lastLoss()?.id ?? 0n, sandbox.clock.now());
    // A nonce that no request had before the loss.
    await bot.sendTo(after, orderAction(rest('47000')), { nonce: sandbox.clock.now() + 2 * FACADE_FLOOR_MS });
    await areOnChain(5);
    await expectRelayInvariants(own, { slug: SLUG, store: store.relay });
    expect(await after.client.getTransactionCount({ address: after.wallet })).toBe(5);
  }

  it('while the gateway runs has nothing sent twice, and everything found again', async () => {
    const gateway = await startRelayerGateway(sandbox, { ...sends(), isHeld: true });
    try {
      const sent = await forgetSending(gateway);
      await goBackTo(sent.copy, gateway.database);
      await expectRecalled(gateway, sent);
      expect(gateway.gateway.store.continuity.lastLoss()?.walletNonces).toEqual({ [walletKey(SLUG, gateway.wallet)]: 3 });
    } finally {
      await gateway.stop();
    }
  });

  it('before a start has it too: final calls that are not stored prove the loss', async () => {
    const before = await startRelayerGateway(sandbox, { ...sends(), isHeld: true });
    const cleanups = [() => before.stop()];
    try {
      const sent = await forgetSending(before);
      cleanups.push(() => sent.copy.drop());
      await cleanups.shift()?.();
      const after = await startRelayerGateway(sandbox, { ...sends(), goesOn: { ...before, database: sent.copy } });
      cleanups.unshift(() => after.stop());
      // They are not final yet: it waits, and sends nothing.
      const trouble = () => after.gateway.venues.get(SLUG)?.relayer?.trouble(after.wallet) ?? null;
      await soon(trouble, (shown) => shown?.includes('not final yet') === true);
      expect(after.gateway.store.continuity.lastLoss()).toBeNull();
      await chain.mine(64);
      await expectRecalled(after, sent);
      expect(after.gateway.store.continuity.lastLoss()).toMatchObject({ lostFrom: null });
    } finally {
      for (const cleanup of cleanups) await cleanup();
    }
  });
});

function historyOf({ gateway }: RelayerGateway) {
  const venueOf = gateway.venues.get(SLUG);
  if (!venueOf) throw new Error('the gateway does not serve the chain');
  return venueOf.chain.sent;
}

describe('a switchover of the database that loses nothing', () => {
  it('has everything signed afterwards that waited, and nothing refused', async () => {
    const database = await createTestDatabase();
    let timeline = '00000001';
    const serverIdentity: StoreOptions['serverIdentity'] = (read) => ({ ...read, timeline });
    const store = createStore({ log: createRecordedLog(), url: database.url, clock: systemClock, serverIdentity });
    const bench = await relayBench(chain, { store, bus: venue.gateway.bus });
    const recovery = { store: store.recovery, history: historyOf(venue), index: store.tracking };
    const relayer = bench.start({ continuity: store.continuity, recovery });
    try {
      const before = await relayer.send(await requestOf(bench));
      await eventually(
        () => store.relay.job(SLUG, before.job.id),
        (job) => job?.state === 'mined',
      );
      timeline = '00000002';
      await cutConnections(database);
      const jobs: bigint[] = [];
      for (let at = 0; at < 3; at += 1) {
        const request = await eventually(
          () => requestOf(bench).catch(() => null),
          (made) => made !== null,
        );
        if (request) jobs.push((await relayer.send(request)).job.id);
      }
      const mined = await eventually(
        () => store.relay.jobs(SLUG, jobs),
        (found) => found.length === 3 && found.every(({ state }) => state === 'mined'),
      );
      expect(mined.map(({ nonce }) => nonce).sort((a, b) => Number(a) - Number(b))).toEqual([1, 2, 3]);
      expect([store.continuity.lastLoss(), await bench.nonce()]).toEqual([null, 4]);
      expect(await store.db('deployment').first('server_timeline')).toEqual({ server_timeline: timeline });
    } finally {
      await relayer.stop();
      await store.close();
      await database.drop();
    }
  });
});

describe('margin that the oracle never moved', () => {
  it('comes back to the trader by itself', async () => {
    const bot = await venue.newBot();
    await bot.send(orderAction(buy('0.02')));
    await soon(
      () => bot.trader.trades(),
      (trades) => trades.length === 1,
    );
    await expectViewEqualsChain(venue.gateway, SLUG, bot.trader);
    const before = await bot.trader.usdc();
    chain.setOraclePolicy(null, { mode: 'hold' });
    const margin = { type: 'updateIsolatedMargin', asset: BTC, isBuy: true, ntli: 50_000_000 };
    expect(await answeredAtOnce(venue, () => bot.send(margin))).toMatchObject({
      status: 'err',
      response: expect.stringContaining('The change of margin is pending') as string,
    });
    await soon(
      () => bot.trader.pending(),
      (pending) => pending === 1,
    );
    expect(await bot.trader.usdc()).toBeLessThan(before);
    await chain.mine(TIMEOUT_BLOCKS);
    await soon(
      () => bot.trader.pending(),
      (pending) => pending === 0,
    );
    expect(await bot.trader.usdc()).toBe(before);
    await expectWhole(bot);
  });
});
