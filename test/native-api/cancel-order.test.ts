import type { ChainControls } from '../../sandbox/controls.js';
import { done, newAgentTrader, prepared, refusal, type AgentTrader, type Json } from '../harness/traders/agent-trader.js';
import { expectViewEqualsChain } from '../harness/diamond/chain-checker.js';
import { eventually } from '../harness/time/eventually.js';
import { EVERYTHING } from '../harness/traders/master-wallet.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { LIMIT, MARKET, tradingVenue } from '../harness/venue/trading-venue.js';

let sandbox: TestVenue;
let chain: ChainControls;
let agent: AgentTrader;

const TIMEOUT_BLOCKS = 200;

beforeAll(async () => {
  ({ sandbox, chain } = await tradingVenue());
  agent = await newAgentTrader(sandbox, chain);
}, 60_000);
afterEach(() => chain.setOraclePolicy(null, { mode: 'auto' }));
afterAll(() => sandbox.stop());

const viewEqualsChain = (of = agent) => expectViewEqualsChain(sandbox.gateway, chain.definition.slug, of.trader);
const idOf = (order: Json): string => String(order['id']);

/** A market request that the oracle leaves unanswered. */
async function pendingOrder(of = agent): Promise<string> {
  chain.setOraclePolicy(null, { mode: 'hold' });
  return idOf(await of.place(MARKET, 'pending'));
}

describe('DELETE /orders/{id}', () => {
  it('takes a resting order back with its collateral', async () => {
    const before = await agent.trader.usdc();
    const id = idOf(await agent.place(LIMIT, 'open'));
    expect(await agent.trader.usdc()).toBe(before - 100_000_000n);
    const answer = await agent.cancel(id);
    expect(done(answer).order).toMatchObject({ id, status: 'open', type: 'limit', price: '50000' });
    await agent.send(prepared(answer));
    expect(await agent.reaches(id, 'canceled')).toMatchObject({ id, reason: null, fill: null });
    expect(await agent.trader.usdc()).toBe(before);
    await viewEqualsChain();
  }, 30_000);

  it("takes back a resting order that the trader's own wallet placed elsewhere", async () => {
    await agent.trader.open({ tradeType: 1, openPrice: 40_000n * 10n ** 10n });
    const [order] = await eventually(
      () => agent.openOrders(),
      (orders) => orders.length === 1,
    );
    await agent.send(prepared(await agent.cancel(idOf(order ?? {}))));
    await agent.reaches(idOf(order ?? {}), 'canceled');
    await viewEqualsChain();
  }, 30_000);

  it('sends the bare call for a trader who is its own agent', async () => {
    const own = await newAgentTrader(sandbox, chain, { self: true });
    const id = idOf(await own.place(LIMIT, 'open'));
    const transaction = prepared(await own.cancel(id));
    expect(transaction.data.startsWith('0x85886333')).toBe(true); // cancelOpenOrder
    await own.send(transaction);
    await own.reaches(id, 'canceled');
    await viewEqualsChain(own);
  }, 30_000);

  it('expires an order nobody has sent, at once and with nothing to send', async () => {
    const made = done(await agent.create(LIMIT));
    const answer = await agent.cancel(idOf(made.order));
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ order: { id: made.order['id'], status: 'expired', txHash: null }, transaction: null });
    expect(refusal(await agent.cancel(idOf(made.order)))).toEqual([409, 'ORDER_NOT_MODIFIABLE']);
  });

  it('finds an order that was given up and sent all the same', async () => {
    const made = done(await agent.create(LIMIT));
    await agent.cancel(idOf(made.order));
    if (made.transaction === null) throw new Error('nothing to send');
    await agent.send(made.transaction);
    await agent.reaches(idOf(made.order), 'open');
    await agent.send(prepared(await agent.cancel(idOf(made.order))));
    await agent.reaches(idOf(made.order), 'canceled');
    await viewEqualsChain();
  }, 30_000);

  it('does not give up an order whose transaction is known and not mined', async () => {
    await chain.pauseMining(true);
    try {
      const made = done(await agent.create(LIMIT));
      if (made.transaction === null) throw new Error('nothing to send');
      const hash = await agent.broadcast(made.transaction);
      expect((await agent.submit(idOf(made.order), hash)).body).toMatchObject({ status: 'prepared', txHash: hash });
      const answer = await agent.cancel(idOf(made.order));
      expect(refusal(answer)).toEqual([409, 'ORDER_NOT_MODIFIABLE']);
      expect(answer.body['details']).toMatchObject({ id: made.order['id'], status: 'prepared' });
      await chain.pauseMining(false);
      await agent.reaches(idOf(made.order), 'open');
      await agent.send(prepared(await agent.cancel(idOf(made.order))));
      await agent.reaches(idOf(made.order), 'canceled');
    } finally {
      await chain.pauseMining(false);
    }
    await viewEqualsChain();
  }, 30_000);

  it('says from when an unanswered request can be reclaimed, and reclaims it then', async () => {
    const before = await agent.trader.usdc();
    const id = await pendingOrder();
    const early = await agent.cancel(id);
    expect(refusal(early)).toEqual([409, 'ORDER_NOT_MODIFIABLE']);
    const details = early.body['details'] as { status: string; reclaimableAt: number };
    expect(details).toMatchObject({ id, status: 'pending' });
    expect(details.reclaimableAt).toBeGreaterThan(Date.now());
    expect(details.reclaimableAt).toBeLessThan(Date.now() + TIMEOUT_BLOCKS * 300);
    await chain.mine(TIMEOUT_BLOCKS);
    await agent.reaches(id, 'timed_out');
    const answer = await agent.cancel(id);
    expect(done(answer).order).toMatchObject({ id, status: 'timed_out' });
    await agent.send(prepared(answer));
    expect(await agent.reaches(id, 'canceled')).toMatchObject({ reason: null, fill: null });
    expect(await agent.trader.usdc()).toBe(before);
    await viewEqualsChain();
  }, 60_000);

  it('leaves it to the chain when the oracle answers before the reclaim is mined', async () => {
    const id = await pendingOrder();
    await chain.mine(TIMEOUT_BLOCKS);
    await agent.reaches(id, 'timed_out');
    const late = prepared(await agent.cancel(id));
    chain.setOraclePolicy(null, { mode: 'auto' });
    await agent.reaches(id, 'filled');
    await expect(agent.send(late)).rejects.toThrow();
    expect(refusal(await agent.cancel(id))).toEqual([409, 'ORDER_NOT_MODIFIABLE']);
    await viewEqualsChain();
  }, 60_000);

  it('refuses what is over, what is not there, and what is not the caller’s', async () => {
    const id = idOf(await agent.place(LIMIT, 'open'));
    const other = await newAgentTrader(sandbox, chain);
    expect(refusal(await other.cancel(id))).toEqual([404, 'ORDER_NOT_FOUND']);
    expect(refusal(await agent.cancel('999999999'))).toEqual([404, 'ORDER_NOT_FOUND']);
    expect(refusal(await agent.cancel('abc'))).toEqual([404, 'ORDER_NOT_FOUND']);
    await agent.send(prepared(await agent.cancel(id)));
    await agent.reaches(id, 'canceled');
    const again = await agent.cancel(id);
    expect(refusal(again)).toEqual([409, 'ORDER_NOT_MODIFIABLE']);
    expect(again.body['details']).toEqual({ id, status: 'canceled' });
  }, 30_000);

  it('keeps agents to their markets, and to their delegation', async () => {
    await agent.trader.open({ tradeType: 1, openPrice: 40_000n * 10n ** 10n });
    const [order] = await eventually(
      () => agent.openOrders(),
      (orders) => orders.length === 1,
    );
    const id = idOf(order ?? {});
    const scoped = await newAgentTrader(sandbox, chain, { scope: { ...EVERYTHING, markets: ['ETH/USD'] } });
    await scoped.trader.open({ tradeType: 1, openPrice: 40_000n * 10n ** 10n });
    const [foreign] = await eventually(
      () => scoped.openOrders(),
      (orders) => orders.length === 1,
    );
    expect(refusal(await scoped.cancel(idOf(foreign ?? {})))).toEqual([403, 'SCOPE_MARKET_NOT_ALLOWED']);
    const transaction = prepared(await agent.cancel(id));
    await agent.trader.send(chain.definition.diamond, '0x031c722b'); // removeTradingDelegate
    for (const target of [id, '999999999']) expect(refusal(await agent.cancel(target))).toEqual([403, 'AGENT_NOT_DELEGATED']);
    await expect(agent.send(transaction)).rejects.toThrow();
    await agent.trader.send(chain.definition.diamond, `0x604755cf${agent.wallet.address.slice(2).padStart(64, '0')}`);
    await agent.send(prepared(await agent.cancel(id)));
    await agent.reaches(id, 'canceled');
    await viewEqualsChain();
  }, 60_000);

  it('says 502 while the node is gone and changes nothing', async () => {
    const id = idOf(await agent.place(LIMIT, 'open'));
    chain.setRpcFault({ mode: 'down' });
    try {
      expect(refusal(await agent.cancel(id))).toEqual([502, 'UPSTREAM_UNAVAILABLE']);
    } finally {
      chain.setRpcFault({ mode: 'ok' });
    }
    expect(await agent.order(id)).toMatchObject({ status: 'open' });
    const answer = await eventually(
      () => agent.cancel(id),
      ({ status }) => status === 200,
    );
    await agent.send(prepared(answer));
    await agent.reaches(id, 'canceled');
    await viewEqualsChain();
  }, 60_000);
});
