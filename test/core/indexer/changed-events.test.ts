import { Wallet } from 'ethers';
import type { RawLog } from '../../../core/domain/diamond-log.js';
import { venueOf, type Venue } from '../../../core/gateway.js';
import { ingestLate } from '../../../core/indexer/chain-steps.js';
import { readKept } from '../../../core/indexer/read-kept.js';
import type { ChainControls } from '../../../sandbox/controls.js';
import { facetsOf, laterTopic, setFacets, topicOf, withOtherTopics, type Facet } from '../../harness/diamond/cut-diamond.js';
import { lowerOf } from '../../harness/diamond/chain-checker.js';
import { order as orderOf, postExchange, signL1 } from '../../harness/hyperliquid/exchange.js';
import { hlInfo } from '../../harness/hyperliquid/info.js';
import { hlSocket } from '../../harness/hyperliquid/socket.js';
import { newLevelBot, stop, takeProfit, units } from '../../harness/traders/level-bot.js';
import { done, newAgentTrader, refusal, type AgentTrader, type Answer, type Json } from '../../harness/traders/agent-trader.js';
import { newFacadeTrader } from '../../harness/traders/facade-trader.js';
import { eventually } from '../../harness/time/eventually.js';
import { LIMIT, MARKET, tradingVenue } from '../../harness/venue/trading-venue.js';
import type { TestVenue } from '../../harness/venue/own-venue.js';
import { createStore } from '../../../core/adapters/postgres/create-store.js';

const SLUG = 'arbitrum-sepolia';
let sandbox: TestVenue;
let chain: ChainControls;
let venue: Venue;
let facets: readonly Facet[];
/** The same contract, but for the topic of an executed market order. */
let later: readonly Facet[];

beforeAll(async () => {
  ({ sandbox, chain } = await tradingVenue({ isOwn: true }));
  venue = venueOf(sandbox.gateway, SLUG);
  facets = await facetsOf(chain);
  later = await withOtherTopics(chain, ['MarketExecuted']);
});
afterAll(() => sandbox.stop());
afterEach(() => setFacets(chain, facets, false));

interface Step {
  readonly step: string;
  readonly note: string | null;
  readonly isTakenBack: boolean;
}

const timelineOf = async (agent: AgentTrader, id: string): Promise<readonly Step[]> =>
  (await agent.call('getOrderTimeline', 'GET', `/orders/${id}/timeline`)).body['steps'] as Step[];

const asOperator = async (method: string, path: string, body?: Json): Promise<Json> => {
  const headers = { Authorization: `Bearer ${sandbox.config.operator.token?.() ?? ''}`, 'Content-Type': 'application/json' };
  const reply = await fetch(`${sandbox.url}/relayer${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  return (await reply.json()) as Json;
};

const CLOID = `0x${'7'.repeat(31)}1`;

/** The price jumps while the event has another topic, and comes back once it was executed. */
async function hidden(event: string, price: string, isOver: () => Promise<unknown>): Promise<void> {
  await setFacets(chain, await withOtherTopics(chain, [event]), false);
  sandbox.controls.prices.jump(0, price);
  try {
    await isOver();
  } finally {
    sandbox.controls.prices.jump(0, '60000');
    await setFacets(chain, facets, false);
  }
}

interface Standing {
  readonly halt: string | null;
  readonly unread: readonly { readonly txHash: string; readonly settled: unknown; readonly orders: readonly { readonly id: string }[] }[];
}

const standing = async (): Promise<Standing> => {
  const [only] = (await asOperator('GET', `/contract?chain=${SLUG}`))['chains'] as Standing[];
  if (only === undefined) throw new Error('the chain is not described');
  return only;
};

/** A market order whose execution is logged under a topic that this release does not know. */
async function openUnread(agent: AgentTrader): Promise<string> {
  await setFacets(chain, later, false);
  return sentUnread(agent, await agent.create(MARKET));
}

async function sentUnread(agent: AgentTrader, answer: Answer): Promise<string> {
  const { order, transaction } = done(answer);
  if (transaction === null) throw new Error('there is nothing to send');
  await agent.send(transaction);
  return isUnknown(agent, String(order['id']));
}

async function isUnknown(agent: AgentTrader, id: string): Promise<string> {
  await eventually(
    () => timelineOf(agent, id),
    (steps) => steps.some(({ step }) => step === 'outcome_unknown' || step === 'rejected'),
  );
  return id;
}

const settle = async (as: 'filled' | 'rejected', changes: Json = {}): Promise<void> => {
  for (const { txHash } of (await standing()).unread) await asOperator('POST', '/contract/settle', { chain: SLUG, txHash, as, ...changes });
};

const KNOWN_LATER = ['MarketExecuted', 'LimitExecuted'].map(topicOf);

/** A later release knows the topics; to this one it is as if the node had given those that it knows. The outcome is the last log. */
function asLaterRelease(logs: readonly RawLog[]): string {
  const known = new Map(KNOWN_LATER.map((topic) => [laterTopic(topic), topic]));
  const outcomes = logs.flatMap((log) => {
    const [first, ...rest] = log.topics;
    const topic = first && known.get(first);
    return topic ? [{ ...log, topics: [topic, ...rest] as const }] : [];
  });
  const inOrder = [...logs.filter(({ topics: [first] }) => first === undefined || !known.has(first)), ...outcomes];
  return JSON.stringify(inOrder.map((log, at) => ({ ...log, logIndex: logs[at]?.logIndex })));
}

const alertsOf = async (): Promise<readonly string[]> =>
  (await sandbox.gateway.store.alerts.open()).map(({ kind, subject }) => `${kind} ${subject}`);

describe('an order whose outcome is logged under another topic', () => {
  it('stays pending, stops openings on both front ends, and lets positions be closed, until the operator settles it', async () => {
    const agent = await newAgentTrader(sandbox, chain);
    const bot = await newFacadeTrader(sandbox);
    const id = await openUnread(agent);
    expect(await agent.order(id)).toMatchObject({ status: 'pending', reason: null });
    const unknown = (await timelineOf(agent, id)).find(({ step }) => step === 'outcome_unknown');
    expect(unknown).toMatchObject({ note: expect.stringContaining('Do not send it again'), isTakenBack: false });
    expect(await agent.positions()).toMatchObject([{ market: 'BTC/USD', side: 'long' }]);

    const refused = await agent.create(MARKET);
    expect([refusal(refused), refused.body['message']]).toEqual([[503, 'NOT_READY'], expect.stringContaining('no position is opened')]);
    const position = String((await agent.position())['id']);
    const enlarged = await agent.adjust(position, { increase: { size: '0.01' } });
    expect([refusal(enlarged), enlarged.body['message']]).toEqual([[503, 'NOT_READY'], expect.stringContaining('no position is opened')]);
    const buy = orderOf({ a: 0, b: true, p: '63000', s: '0.02', r: false, t: { limit: { tif: 'Ioc' } } });
    const answer = await postExchange(
      sandbox.url,
      SLUG,
      await signL1(new Wallet(bot.agentKey), { type: 'order', orders: [buy], grouping: 'na' }),
    );
    expect(answer).toMatchObject({
      status: 200,
      body: {
        status: 'ok',
        response: { data: { statuses: [{ error: expect.stringMatching(/^Trading is halted\. Nothing is opened now: /) }] } },
      },
    });
    await eventually(alertsOf, (open) => open.includes('contract-changed logs'));

    // The close is executed under the other topic, too; what the chain has decides what is open.
    const closing = done(await agent.close(String((await agent.position())['id'])));
    if (closing.transaction === null) throw new Error('there is nothing to send');
    await agent.send(closing.transaction);
    await eventually(
      () => agent.positions(),
      (positions) => positions.length === 0,
    );
    await eventually(standing, ({ unread }) => unread.length === 2);
    expect(await agent.order(String(closing.order['id']))).toMatchObject({ status: 'pending' });
    expect(await sandbox.gateway.store.account.openPositions(SLUG, lowerOf(agent.trader))).toEqual([]);

    await settle('filled', { tradeIndex: 0, price: '60000' });
    expect(await agent.order(id)).toMatchObject({ status: 'filled', fill: { price: '60000' } });
    expect((await timelineOf(agent, id)).map(({ step }) => step)).toContain('settled');
    expect(await standing()).toMatchObject({ halt: null });
    await setFacets(chain, facets, false);
    expect(await agent.place(MARKET, 'filled')).toMatchObject({ status: 'filled' });
    await eventually(alertsOf, (open) => !open.includes('contract-changed logs'));
  });

  it('leaves trades that are opened after it as they are, however often its block is read again', async () => {
    const agent = await newAgentTrader(sandbox, chain);
    await openUnread(agent);
    await settle('filled', { tradeIndex: 0, price: '60000' });
    await setFacets(chain, facets, false);
    await agent.place(MARKET, 'filled');
    const { tracking, account } = sandbox.gateway.store;
    const [unread] = (await sandbox.gateway.store.contract.unread(SLUG, 100)).slice(-1);
    const isReadAgain = await eventually(async () => {
      const cursor = await tracking.cursor(SLUG);
      if (cursor === null || unread === undefined) return null;
      const range = await venue.chain.logs(unread.place.blockNumber, cursor.number);
      // The follower may have moved on meanwhile.
      return ingestLate(sandbox.gateway, venue, cursor, range).catch(() => null);
    }, Boolean);
    expect(isReadAgain).toBe(true);
    expect(await account.openPositions(SLUG, lowerOf(agent.trader))).toHaveLength(2);
  });

  it('is not timed out, however long it takes', async () => {
    const agent = await newAgentTrader(sandbox, chain);
    const id = await openUnread(agent);
    await chain.mine(venue.feed.config().marketOrdersTimeoutBlocks + 5);
    await eventually(
      () => venue.state.followed.block ?? 0n,
      (block) => block >= (venue.state.head?.block.number ?? 0n),
    );
    expect(await agent.order(id)).toMatchObject({ status: 'pending' });
    expect(refusal(await agent.cancel(id))).toEqual([409, 'ORDER_NOT_MODIFIABLE']);
    await settle('rejected');
    expect(await agent.order(id)).toMatchObject({ status: 'rejected', reason: 'OTHER' });
  });

  it('that comes after the time-out makes the order pending again', async () => {
    const agent = await newAgentTrader(sandbox, chain);
    chain.setOraclePolicy(null, { mode: 'hold' });
    const { order, transaction } = done(await agent.create(MARKET));
    const id = String(order['id']);
    if (transaction === null) throw new Error('there is nothing to send');
    await agent.send(transaction);
    await chain.mine(venue.feed.config().marketOrdersTimeoutBlocks + 1);
    await agent.reaches(id, 'timed_out');
    await setFacets(chain, later, false);
    chain.setOraclePolicy(null, { mode: 'auto', delayMs: 10 });
    await agent.reaches(id, 'pending');
    await settle('rejected');
    expect(await agent.order(id)).toMatchObject({ status: 'rejected' });
  });

  it('is taken back with its block, and executed as ever on the other branch', async () => {
    const agent = await newAgentTrader(sandbox, chain);
    const id = await openUnread(agent);
    const kept = (await sandbox.gateway.store.contract.unread(SLUG, 100)).find(({ settled }) => settled === null);
    if (!kept) throw new Error('nothing is kept');
    chain.setOraclePolicy(null, { mode: 'hold' });
    await chain.pauseMining(true);
    try {
      const head = BigInt(String(await chain.request('eth_blockNumber', [])));
      await chain.reorg(Number(head - kept.place.blockNumber) + 1, true);
    } finally {
      await chain.pauseMining(false);
    }
    await eventually(standing, ({ unread, halt }) => unread.every(({ settled }) => settled !== null) && halt === null);
    expect(await agent.order(id)).toMatchObject({ status: 'pending' });
    expect(await timelineOf(agent, id)).toContainEqual(expect.objectContaining({ step: 'outcome_unknown', isTakenBack: true }));
    await setFacets(chain, facets, false);
    chain.setOraclePolicy(null, { mode: 'auto', delayMs: 10 });
    await agent.reaches(id, 'filled');
    expect(await agent.positions()).toHaveLength(1);
  });

  it('is that of an increase, where only the new figures are under another topic', async () => {
    const agent = await newAgentTrader(sandbox, chain);
    await agent.place(MARKET, 'filled');
    await setFacets(chain, await withOtherTopics(chain, ['TradePositionUpdated']), false);
    const id = await sentUnread(agent, await agent.adjust(String((await agent.position())['id']), { increase: { size: '0.01' } }));
    expect(await agent.order(id)).toMatchObject({ status: 'pending', reason: null });
    expect(await standing()).toMatchObject({ halt: expect.stringContaining('cannot read') });
    // The trade is as the chain has it.
    expect(Number((await agent.position())['size'])).toBeCloseTo(0.03, 4);
    await settle('filled', { price: '60000' });
    expect(await agent.order(id)).toMatchObject({ status: 'filled' });
  });

  it('is that of a resting order, which is neither open nor canceled', async () => {
    const agent = await newAgentTrader(sandbox, chain);
    const { id } = await agent.place({ ...LIMIT, price: '59000' }, 'open');
    await setFacets(chain, await withOtherTopics(chain, ['LimitExecuted']), false);
    sandbox.controls.prices.jump(0, '58900');
    await isUnknown(agent, String(id));
    sandbox.controls.prices.jump(0, '60000');
    expect(await agent.order(String(id))).toMatchObject({ status: 'pending', reason: null });
    expect(await agent.positions()).toMatchObject([{ market: 'BTC/USD' }]);
    expect(await standing()).toMatchObject({ halt: expect.stringContaining('cannot read') });
    await settle('filled', { tradeIndex: 1 });
    expect(await agent.order(String(id))).toMatchObject({ status: 'filled' });
  });

  it('is that of a stop loss: its position is gone, and neither it nor its take profit counts as canceled', async () => {
    const agent = await newAgentTrader(sandbox, chain);
    const user = lowerOf(agent.trader);
    await agent.place(MARKET, 'filled');
    const { size } = await agent.position();
    const trigger = (type: string, price: string) => ({ market: 'BTC/USD', side: 'short', type, size, price, reduceOnly: true });
    const sl = String((await agent.place(trigger('stop', '59000'), 'open'))['id']);
    const tp = String((await agent.place(trigger('limit', '65000'), 'open'))['id']);
    const isOut = () =>
      eventually(
        () => agent.positions(),
        (positions) => positions.length === 0,
      );
    await hidden('LimitExecuted', '58900', isOut);
    expect([await agent.order(sl), await agent.order(tp)]).toMatchObject(Array(2).fill({ status: 'pending', reason: null, fill: null }));
    expect(await timelineOf(agent, sl)).toContainEqual(
      expect.objectContaining({ step: 'outcome_unknown', note: expect.stringContaining('Do not send it again') }),
    );
    expect(refusal(await agent.cancel(sl))).toEqual([409, 'ORDER_NOT_MODIFIABLE']);
    const info = hlInfo(sandbox);
    const state = await info.ask<{ assetPositions: unknown[] }>('clearinghouseState', { user });
    expect(state.assetPositions).toEqual([]);
    expect((await info.ask<{ oid: number }[]>('openOrders', { user })).map(({ oid }) => oid).sort()).toEqual(
      [Number(sl), Number(tp)].sort(),
    );
    expect(await info.ask('orderStatus', { user, oid: Number(sl) })).toMatchObject({ order: { status: 'open' } });
    expect(await standing()).toMatchObject({ halt: expect.stringContaining('cannot read') });

    await settle('filled', { price: '58950' });
    expect(await agent.order(sl)).toMatchObject({ status: 'filled', fill: { price: '58950' } });
    expect(await agent.order(tp)).toMatchObject({ status: 'canceled' });
    expect(await info.ask('openOrders', { user })).toEqual([]);
    expect(await standing()).toMatchObject({ halt: null });
  });

  it("is that of a bot's stop loss, which stays open until the operator settles it", async () => {
    const bot = await newLevelBot(sandbox);
    const socket = await hlSocket(sandbox.url);
    await socket.subscribe('orderUpdates', { user: bot.user });
    await bot.open('0.02', 1);
    const [sl, tp] = [
      await bot.place(stop('59000', '0.02', CLOID)),
      await bot.place(takeProfit('65000', '0.02', `${CLOID.slice(0, -1)}2`)),
    ];
    await bot.stopsBecome(([only]) => only === units(59_000));
    await hidden('LimitExecuted', '58900', () => bot.tradesBecome(0));
    expect((await bot.listed()).map(({ oid }) => oid).sort()).toEqual([sl, tp].sort());
    expect(await Promise.all([sl, CLOID, tp].map((oid) => bot.statusOf(oid)))).toMatchObject([{ oid: sl }, { oid: sl }, { oid: tp }]);
    const history = await hlInfo(sandbox).ask<{ order: { oid: number }; status: string }[]>('historicalOrders', { user: bot.user });
    expect(history.filter(({ order }) => [sl, tp].includes(order.oid)).map(({ status }) => status)).toEqual(['open', 'open']);
    const updates = () => socket.of<{ order: { oid: number }; status: string }[]>('orderUpdates').flat();
    expect(updates().filter(({ order, status }) => [sl, tp].includes(order.oid) && status !== 'open')).toEqual([]);

    await settle('filled', { price: '58950' });
    expect(await Promise.all([bot.statusOf(sl), bot.statusOf(tp)])).toEqual(['filled', 'siblingFilledCanceled']);
    expect(await bot.listed()).toEqual([]);
    await eventually(updates, (all) => all.some(({ order, status }) => order.oid === sl && status === 'filled'));
    await socket.close();
  });

  it('is that of a stop loss whose position a hidden close ended: it is canceled once that is settled', async () => {
    const agent = await newAgentTrader(sandbox, chain);
    await agent.place(MARKET, 'filled');
    const position = await agent.position();
    const trigger = { market: 'BTC/USD', side: 'short', type: 'stop', size: position['size'], price: '59000', reduceOnly: true };
    const sl = String((await agent.place(trigger, 'open'))['id']);
    await setFacets(chain, later, false);
    const close = await sentUnread(agent, await agent.close(String(position['id'])));
    expect([await agent.order(close), await agent.order(sl)]).toMatchObject([{ status: 'pending' }, { status: 'pending' }]);
    await settle('filled', { price: '59000' });
    expect([await agent.order(close), await agent.order(sl)]).toMatchObject([{ status: 'filled' }, { status: 'canceled' }]);
  });

  it('is known, if only the logs that begin an order have other topics', async () => {
    const agent = await newAgentTrader(sandbox, chain);
    await setFacets(chain, await withOtherTopics(chain, ['OpenOrderPlaced', 'PendingOrderStored']), false);
    await agent.place(LIMIT, 'open');
    await agent.place(MARKET, 'filled');
    expect(await agent.openOrders()).toHaveLength(1);
    expect(await standing()).toMatchObject({ halt: null });
  });

  // The last one: this release itself cannot read the receipt, and would keep it again with the next reread.
  it('is read again by a release that knows the topic', async () => {
    const agent = await newAgentTrader(sandbox, chain);
    const id = await openUnread(agent);
    await settle('rejected');
    const owner = await newAgentTrader(sandbox, chain);
    await setFacets(chain, facets, false);
    await owner.place(MARKET, 'filled');
    const trigger = {
      market: 'BTC/USD',
      side: 'short',
      type: 'stop',
      size: (await owner.position())['size'],
      price: '59000',
      reduceOnly: true,
    };
    const sl = String((await owner.place(trigger, 'open'))['id']);
    await hidden('LimitExecuted', '58900', () => isUnknown(owner, sl));
    await chain.pauseMining(true);
    try {
      const cursor = await eventually(
        () => sandbox.gateway.store.tracking.cursor(SLUG),
        (found) => found?.number === venue.state.head?.block.number,
      );
      if (cursor === null || sandbox.config.database.kind !== 'server') throw new Error('there is no cursor');
      expect(await readKept(sandbox.gateway, venue, cursor)).toBe(true);
      expect(await owner.order(sl)).toMatchObject({ status: 'pending' });
      // The operator was wrong, and the contract logs the outcome after the end of the request.
      expect(await agent.order(id)).toMatchObject({ status: 'rejected' });
      const later = createStore({ url: sandbox.config.database.url, log: sandbox.log });
      const { rows } = await later.db.raw<{ rows: { tx_hash: string; logs: readonly RawLog[] }[] }>(
        `select tx_hash, logs from unread_transactions where (settled_note = 'rejected' or settled_at is null) and logs::text ~ ?`,
        [KNOWN_LATER.map(laterTopic).join('|')],
      );
      for (const { tx_hash, logs } of rows)
        await later.db.raw('update unread_transactions set logs = cast(? as jsonb) where tx_hash = ?', [asLaterRelease(logs), tx_hash]);
      await later.close();
      expect(await readKept(sandbox.gateway, venue, cursor)).toBe(true);
    } finally {
      await chain.pauseMining(false);
    }
    const order = await agent.order(id);
    expect(order).toMatchObject({ status: 'filled', fill: { price: expect.any(String) } });
    expect(await agent.positions()).toMatchObject([{ market: 'BTC/USD' }]);
    expect(await owner.order(sl)).toMatchObject({ status: 'filled', fill: { price: expect.any(String) } });
    expect(await hlInfo(sandbox).ask('orderStatus', { user: lowerOf(owner.trader), oid: Number(sl) })).toMatchObject({
      order: { status: 'filled' },
    });
    const { halt, unread } = await standing();
    expect([halt, unread.filter(({ settled }) => settled === null)]).toEqual([null, []]);
  });
});
