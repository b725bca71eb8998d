import type { ChainControls } from '../../sandbox/controls.js';
import { done, newAgentTrader, prepared, type AgentTrader, type Answer, type Json } from '../harness/traders/agent-trader.js';
import { expectViewEqualsChain } from '../harness/diamond/chain-checker.js';
import { eventually } from '../harness/time/eventually.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { LIMIT, MARKET, tradingVenue } from '../harness/venue/trading-venue.js';

let sandbox: TestVenue;
let chain: ChainControls;
let agent: AgentTrader;

beforeAll(async () => {
  ({ sandbox, chain } = await tradingVenue({ isOwn: true }));
}, 60_000);
beforeEach(async () => {
  agent = await newAgentTrader(sandbox, chain);
});
afterEach(async () => {
  await chain.pauseMining(false);
  chain.setOraclePolicy(null, { mode: 'auto' });
});
afterAll(() => sandbox.stop());

const viewEqualsChain = () => expectViewEqualsChain(sandbox.gateway, chain.definition.slug, agent.trader);
const idOf = (order: Json): string => String(order['id']);

/** Mines a change, waits until it is told, takes its block away for good, and waits until it is as before. */
async function thereAndBack(answer: Answer, read: () => Promise<unknown>, after: unknown): Promise<void> {
  const before = await read();
  await chain.pauseMining(true);
  await agent.broadcast(prepared(answer));
  await chain.mine(1);
  await eventually(read, (value) => value === after);
  await chain.reorg(1, true);
  await chain.pauseMining(false);
  await eventually(read, (value) => value === before);
  await viewEqualsChain();
}

describe('a change whose block is reorganised away', () => {
  it.each([
    ['a new price', { price: '49000' }, 'price', '49000'],
    ['a new size', { size: '0.03' }, 'size', '0.03'],
  ])(
    'leaves the order as it was before %s',
    async (_what, change, field, value) => {
      const id = idOf(await agent.place(LIMIT, 'open'));
      const answer = await agent.update(id, change);
      await thereAndBack(answer, async () => (await agent.order(id))[field], value);
      expect((await agent.openOrders()).map((order) => order['id'])).toEqual([id]);
      const again = await agent.update(id, change);
      await agent.send(prepared(again));
      await eventually(
        () => agent.order(id),
        (order) => order[field] === value,
      );
      await viewEqualsChain();
    },
    60_000,
  );

  it('brings back an order that was canceled', async () => {
    const id = idOf(await agent.place(LIMIT, 'open'));
    await thereAndBack(await agent.cancel(id), async () => (await agent.order(id))['status'], 'canceled');
  }, 60_000);

  it('brings back an order that was replaced before it was canceled', async () => {
    const id = idOf(await agent.place(LIMIT, 'open'));
    await agent.send(prepared(await agent.update(id, { size: '0.03' })));
    await eventually(
      () => agent.order(id),
      ({ size }) => size === '0.03',
    );
    await thereAndBack(await agent.cancel(id), async () => (await agent.order(id))['status'], 'canceled');
    expect(await agent.order(id)).toMatchObject({ status: 'open', size: '0.03' });
  }, 60_000);

  it.each([
    ['a close', (id: string) => agent.close(id)],
    ['a change of leverage', (id: string) => agent.adjust(id, { leverage: '5' })],
  ])(
    'takes %s back to prepared, and its transaction can be sent again',
    async (_what, write) => {
      await agent.place(MARKET, 'filled');
      const position = idOf(await agent.position());
      chain.setOraclePolicy(null, { mode: 'hold' });
      const answer = await write(position);
      const id = idOf(done(answer).order);
      await thereAndBack(answer, async () => (await agent.order(id))['status'], 'pending');
      chain.setOraclePolicy(null, { mode: 'auto' });
      await agent.send(prepared(answer));
      await agent.reaches(id, 'filled');
      await viewEqualsChain();
    },
    60_000,
  );

  it('takes back levels of a position', async () => {
    await agent.place(MARKET, 'filled');
    const position = idOf(await agent.position());
    await thereAndBack(await agent.adjust(position, { tp: '70000' }), async () => (await agent.position())['tp'], '70000');
  }, 60_000);
});
