import type { ChainControls } from '../../sandbox/controls.js';
import { eventually } from '../harness/time/eventually.js';
import { done, newAgentTrader, prepared, type Json } from '../harness/traders/agent-trader.js';
import { operatorOf } from '../harness/venue/operator.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { MARKET, tradingVenue } from '../harness/venue/trading-venue.js';

let sandbox: TestVenue;
let chain: ChainControls;

beforeAll(async () => {
  ({ sandbox, chain } = await tradingVenue({ isOwn: true }));
});
afterAll(() => sandbox.stop());

describe('the first trade of a day', () => {
  it('is quoted, shown and predicted with the fee tier that it will settle', async () => {
    await operatorOf(chain).control('sandboxSetFeeTiers', [[{ feeMultiplier: 900, pointsThreshold: 100_000 }]]);
    const agent = await newAgentTrader(sandbox, chain, { usdc: '50000' });
    await agent.place({ ...MARKET, size: '2' }, 'filled');
    const quote = async (): Promise<Json> => (await agent.call('quoteOrder', 'POST', '/quote', { ...MARKET, size: '0.5' })).body;
    expect((await quote())['fees']).toMatchObject({ tierMultiplier: '1' });
    await chain.warp(86_400);
    const quoted = await eventually(quote, ({ fees }) => (fees as Json)['tierMultiplier'] === '0.9');
    const { body } = await agent.call('getAccount', 'GET', `/account/${agent.trader.account.address}`);
    expect(body['feeTierMultiplier']).toBe('0.9');
    const { id } = (await agent.position()) as { id: string };
    const answer = await agent.adjust(id, { increase: { size: '0.5' } });
    await agent.send(prepared(answer));
    const filled = await agent.reaches(String(done(answer).order['id']), 'filled');
    const fee = Number((filled['fill'] as Json)['feeCollateral']);
    expect(fee / Number((quoted['fees'] as Json)['open'])).toBeCloseTo(1, 4);
    expect(fee).toBeCloseTo(30_000 * 0.0006 * 0.9, 2);
    expect((await quote())['fees']).toMatchObject({ tierMultiplier: '0.9' });
  });
});
