import type { ChainControls } from '../../sandbox/controls.js';
import type { RequestHook } from '../../sandbox/fault-plan.js';
import { expectViewEqualsChain } from '../harness/diamond/chain-checker.js';
import { reorgAway } from '../harness/diamond/reorg-away.js';
import { eventually, eventuallyOn } from '../harness/time/eventually.js';
import { copyTestDatabase } from '../harness/database/test-database.js';
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
  it('has no opening sent twice: all that waited are refused with the reason, and later ones are sent', async () => {
    const sends = { waits: QUICK, holdMs: 300, clock: sandbox.clock };
    const before = await startRelayerGateway(sandbox, { ...sends, isHeld: true });
    const cleanups = [() => before.stop()];
    try {
      // As an earlier start of the gateway left it.
      await before.gateway.store.relay.beginLane(SLUG, before.wallet, 0);
      const bot = await before.newBot();
      const answers = statuses(await bot.send(orderAction(rest('50000'), rest('49000'), rest('48000'))));
      const oids = answers.map(({ resting }) => Number(resting?.['oid']));
      const isOnChain = (count: number) =>
        soon(
          () => bot.trader.trades(),
          (trades) => trades.length === count,
        );
      const copy = await copyTestDatabase(before.database);
      cleanups.push(() => copy.drop());
      // The copy cut the connection that held the lane: it sends.
      await isOnChain(3);
      await cleanups.shift()?.();

      const after = await startRelayerGateway(sandbox, { ...sends, goesOn: { ...before, database: copy } });
      cleanups.unshift(() => after.stop());
      const { store } = after.gateway;
      const user = bot.trader.account.address;
      await soon(
        () => store.relay.open(SLUG, after.wallet),
        (open) => open.length === 0,
      );
      const note = "the relayer's wallet sent transactions that its database does not know, and this order may be one of them";
      for (const oid of oids) {
        expect(await store.relay.jobsOfOrder(SLUG, BigInt(oid))).toMatchObject([{ state: 'refused', nonce: null, note }]);
        // The index finds the order on chain, so that is what its bot is shown.
        await soon(
          () => hlInfo(after).ask<{ readonly order?: { readonly status: string } }>('orderStatus', { user, oid }),
          (shown) => shown.order?.status === 'open',
        );
      }
      const alerts = await store.alerts.open();
      expect(alerts).toContainEqual(expect.objectContaining({ kind: 'foreign-transactions', subject: after.wallet }));
      await bot.sendTo(after, orderAction(rest('47000')));
      await isOnChain(4);
      expect(await after.client.getTransactionCount({ address: after.wallet })).toBe(4);
    } finally {
      for (const cleanup of cleanups) await cleanup();
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
