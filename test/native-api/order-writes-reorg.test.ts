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
  agent = await newAgentTrader(sandbox, chain);
});
afterEach(async () => {
  await chain.pauseMining(false);
  chain.setOraclePolicy(null, { mode: 'auto' });
});
afterAll(() => sandbox.stop());

const viewEqualsChain = () => expectViewEqualsChain(sandbox.gateway, chain.definition.slug, agent.trader);
const idOf = (order: Json): string => String(order['id']);

/** Mines a change, waits until the gateway shows it, reorganises its block away for good, and waits until the value is as before. */
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
  it('leaves a resting order as it was before a new price, a new size and a cancel, also when it was replaced before', async () => {
    const repriced = idOf(await agent.place(LIMIT, 'open'));
    const fieldOf = (id: string, name: string) => async () => (await agent.order(id))[name];
    await thereAndBack(await agent.update(repriced, { price: '49000' }), fieldOf(repriced, 'price'), '49000');
    await thereAndBack(await agent.cancel(repriced), fieldOf(repriced, 'status'), 'canceled');
    // Its change may still be sent, so it takes no other one for now.
    await agent.send(prepared(await agent.cancel(repriced)));
    await eventually(fieldOf(repriced, 'status'), (status) => status === 'canceled');
    const id = idOf(await agent.place(LIMIT, 'open'));
    const field = (name: string) => fieldOf(id, name);
    const size = { size: '0.03' };
    await thereAndBack(await agent.update(id, size), field('size'), '0.03');
    expect((await agent.openOrders()).map((order) => order['id'])).toEqual([id]);
    await agent.send(prepared(await agent.update(id, size)));
    await eventually(field('size'), (now) => now === '0.03');
    await viewEqualsChain();
    await thereAndBack(await agent.cancel(id), field('status'), 'canceled');
    expect(await agent.order(id)).toMatchObject({ status: 'open', size: '0.03' });
  });

  it('takes levels of a position back, and a change of leverage and a close to prepared, whose transactions can be sent again', async () => {
    await agent.place(MARKET, 'filled');
    const position = idOf(await agent.position());
    await thereAndBack(await agent.adjust(position, { tp: '70000' }), async () => (await agent.position())['tp'], '70000');
    for (const write of [() => agent.adjust(position, { leverage: '5' }), () => agent.close(position)]) {
      chain.setOraclePolicy(null, { mode: 'hold' });
      const answer = await write();
      const id = idOf(done(answer).order);
      await thereAndBack(answer, async () => (await agent.order(id))['status'], 'pending');
      chain.setOraclePolicy(null, { mode: 'auto' });
      await agent.send(prepared(answer));
      await agent.reaches(id, 'filled');
      await viewEqualsChain();
    }
  });
});
