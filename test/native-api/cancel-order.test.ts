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
/** The agent of another trader, for another market. */
let scoped: AgentTrader;

const TIMEOUT_BLOCKS = 200;

beforeAll(async () => {
  ({ sandbox, chain } = await tradingVenue());
  agent = await newAgentTrader(sandbox, chain);
  scoped = await newAgentTrader(sandbox, chain, { scope: { ...EVERYTHING, markets: ['ETH/USD'] } });
});
afterEach(() => chain.setOraclePolicy(null, { mode: 'auto' }));
afterAll(() => sandbox.stop());

const viewEqualsChain = (of = agent) => expectViewEqualsChain(sandbox.gateway, chain.definition.slug, of.trader);
const idOf = (order: Json): string => String(order['id']);

/** A market request that the oracle leaves unanswered. */
async function pendingOrder(): Promise<string> {
  chain.setOraclePolicy(null, { mode: 'hold' });
  return idOf(await agent.place(MARKET, 'pending'));
}

describe('DELETE /orders/{id}', () => {
  it('takes a resting order back with its collateral, for its trader alone and while the node answers', async () => {
    const before = await agent.trader.usdc();
    const id = idOf(await agent.place(LIMIT, 'open'));
    expect(await agent.trader.usdc()).toBe(before - 100_000_000n);
    expect(refusal(await scoped.cancel(id))).toEqual([404, 'ORDER_NOT_FOUND']);
    expect(refusal(await agent.cancel('999999999'))).toEqual([404, 'ORDER_NOT_FOUND']);
    expect(refusal(await agent.cancel('abc'))).toEqual([404, 'ORDER_NOT_FOUND']);
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
    expect(done(answer).order).toMatchObject({ id, status: 'open', type: 'limit', price: '50000' });
    await agent.send(prepared(answer));
    expect(await agent.reaches(id, 'canceled')).toMatchObject({ id, reason: null, fill: null });
    expect(await agent.trader.usdc()).toBe(before);
    const again = await agent.cancel(id);
    expect(refusal(again)).toEqual([409, 'ORDER_NOT_MODIFIABLE']);
    expect(again.body['details']).toEqual({ id, status: 'canceled' });
    await viewEqualsChain();
  });

  it('sends the bare call for a trader who is its own agent', async () => {
    const own = await newAgentTrader(sandbox, chain, { self: true });
    const id = idOf(await own.place(LIMIT, 'open'));
    const transaction = prepared(await own.cancel(id));
    expect(transaction.data.startsWith('0x85886333')).toBe(true); // cancelOpenOrder
    await own.send(transaction);
    await own.reaches(id, 'canceled');
    await viewEqualsChain(own);
  });

  it('expires an unsent order, at once and with nothing to send, and finds it when it is sent all the same', async () => {
    const made = done(await agent.create(LIMIT));
    const id = idOf(made.order);
    const answer = await agent.cancel(id);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ order: { id, status: 'expired', txHash: null }, transaction: null });
    expect(refusal(await agent.cancel(id))).toEqual([409, 'ORDER_NOT_MODIFIABLE']);
    if (made.transaction === null) throw new Error('nothing to send');
    await agent.send(made.transaction);
    await agent.reaches(id, 'open');
    await agent.send(prepared(await agent.cancel(id)));
    await agent.reaches(id, 'canceled');
    await viewEqualsChain();
  });

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
    } finally {
      await chain.pauseMining(false);
    }
  });

  it('says from when an unanswered request can be reclaimed, reclaims it then, and leaves it to the chain when the oracle answers before', async () => {
    const before = await agent.trader.usdc();
    const id = await pendingOrder();
    const paid = before - (await agent.trader.usdc());
    const answered = await pendingOrder();
    const left = await agent.trader.usdc();
    const early = await agent.cancel(id);
    expect(refusal(early)).toEqual([409, 'ORDER_NOT_MODIFIABLE']);
    const details = early.body['details'] as { status: string; reclaimableAt: number };
    expect(details).toMatchObject({ id, status: 'pending' });
    expect(details.reclaimableAt).toBeGreaterThan(Date.now());
    expect(details.reclaimableAt).toBeLessThan(Date.now() + TIMEOUT_BLOCKS * 300);
    await chain.mine(TIMEOUT_BLOCKS);
    await agent.reaches(id, 'timed_out');
    await agent.reaches(answered, 'timed_out');
    const [answer, late] = [await agent.cancel(id), prepared(await agent.cancel(answered))];
    expect(done(answer).order).toMatchObject({ id, status: 'timed_out' });
    await agent.send(prepared(answer));
    expect(await agent.reaches(id, 'canceled')).toMatchObject({ reason: null, fill: null });
    expect(await agent.trader.usdc()).toBe(left + paid);
    chain.setOraclePolicy(null, { mode: 'auto' });
    await agent.reaches(answered, 'filled');
    await expect(agent.send(late)).rejects.toThrow();
    expect(refusal(await agent.cancel(answered))).toEqual([409, 'ORDER_NOT_MODIFIABLE']);
    await viewEqualsChain();
  });

  it("keeps agents to their markets and to their delegation, also for what the trader's own wallet placed elsewhere", async () => {
    const elsewhere = async (of: AgentTrader): Promise<string> => {
      await of.trader.open({ tradeType: 1, openPrice: 40_000n * 10n ** 10n });
      const [order] = await eventually(
        () => of.openOrders(),
        (orders) => orders.length === 1,
      );
      return idOf(order ?? {});
    };
    expect(refusal(await scoped.cancel(await elsewhere(scoped)))).toEqual([403, 'SCOPE_MARKET_NOT_ALLOWED']);
    const id = await elsewhere(agent);
    const transaction = prepared(await agent.cancel(id));
    await agent.trader.send(chain.definition.diamond, '0x031c722b'); // removeTradingDelegate
    for (const target of [id, '999999999']) expect(refusal(await agent.cancel(target))).toEqual([403, 'AGENT_NOT_DELEGATED']);
    await expect(agent.send(transaction)).rejects.toThrow();
    await agent.trader.send(chain.definition.diamond, `0x604755cf${agent.wallet.address.slice(2).padStart(64, '0')}`);
    await agent.send(prepared(await agent.cancel(id)));
    await agent.reaches(id, 'canceled');
    await viewEqualsChain();
  });
});
