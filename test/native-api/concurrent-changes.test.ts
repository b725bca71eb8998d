import { formatDecimal } from '../../core/domain/decimal.js';
import { utcDay } from '../../core/domain/agent.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { done, newAgentTrader, prepared, refusal, type AgentTrader, type Json } from '../harness/traders/agent-trader.js';
import { lowerOf } from '../harness/diamond/chain-checker.js';
import { eventually } from '../harness/time/eventually.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { LIMIT, MARKET, tradingVenue } from '../harness/venue/trading-venue.js';

let sandbox: TestVenue;
let chain: ChainControls;
let agent: AgentTrader;

beforeAll(async () => {
  ({ sandbox, chain } = await tradingVenue());
  agent = await newAgentTrader(sandbox, chain);
});
afterAll(() => sandbox.stop());

const resting = async (): Promise<string> => String((await agent.place({ ...LIMIT, tp: '70000', sl: '48000' }, 'open'))['id']);
const reaches = (id: string, wanted: Json): Promise<Json> =>
  eventually(
    () => agent.order(id),
    (order) => Object.entries(wanted).every(([field, value]) => order[field] === value),
  );

describe('two changes of a resting order', () => {
  it('at once: one is prepared, the other refused, and no level is lost', async () => {
    const id = await resting();
    const answers = await Promise.all([agent.update(id, { sl: '47000' }), agent.update(id, { tp: '71000' })]);
    const [made, ...more] = answers.filter(({ status }) => status === 200);
    const refused = answers.filter(({ status }) => status !== 200);
    expect(more).toEqual([]);
    expect(refused.map(refusal)).toEqual([[409, 'ORDER_NOT_MODIFIABLE']]);
    if (!made) throw new Error('no change was prepared');
    const { changeableAt } = refused[0]?.body['details'] as { readonly changeableAt: number };
    expect(changeableAt).toBe(prepared(made).expiresAt);
    const { sl, tp } = done(made).order;
    await agent.send(prepared(made));
    await reaches(id, { sl, tp });
    const second = await agent.update(id, sl === '47000' ? { tp: '71000' } : { sl: '47000' });
    await agent.send(prepared(second));
    await reaches(id, { sl: '47000', tp: '71000' });
  });

  it.each([
    ['in place', { sl: '47000' }],
    ['of the size', { size: '0.03' }],
  ])('of which the first, %s, reverted: the second is prepared as soon as that is reported', async (_name, first) => {
    const id = await resting();
    const { transaction } = done(await agent.update(id, first));
    if (transaction === null) throw new Error('there is nothing to send');
    const hash = await agent.broadcast({ ...transaction, gas: '60000' });
    await eventually(
      () => chain.request('eth_getTransactionReceipt', [hash]) as Promise<{ status: string } | null>,
      (receipt) => receipt?.status === '0x0',
    );
    expect(refusal(await agent.update(id, { tp: '71000' }))).toEqual([409, 'ORDER_NOT_MODIFIABLE']);
    const reported = await agent.submit(id, hash);
    expect([reported.status, reported.body['status']]).toEqual([200, 'open']);
    await agent.send(prepared(await agent.update(id, { tp: '71000' })));
    await reaches(id, { sl: '48000', tp: '71000' });
  });

  it('of which the second is the same is prepared again', async () => {
    const id = await resting();
    const answers = await Promise.all([agent.update(id, { sl: '47000' }), agent.update(id, { sl: '47000' })]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  });

  it('of which the first replaces it: the second is refused, and a cancel is not', async () => {
    const id = await resting();
    expect((await agent.update(id, { size: '0.03' })).status).toBe(200);
    expect(refusal(await agent.update(id, { sl: '47000' }))).toEqual([409, 'ORDER_NOT_MODIFIABLE']);
    await agent.send(prepared(await agent.cancel(id)));
    await agent.reaches(id, 'canceled');
  });

  it('of which the second grows and is refused: its growth counts nothing against the cap', async () => {
    const id = await resting();
    const { slug } = chain.definition;
    const [trader, spender] = [lowerOf(agent.trader), agent.wallet.address.toLowerCase() as `0x${string}`];
    const spent = async (): Promise<number> =>
      Number(formatDecimal(await sandbox.gateway.store.spend.spent({ chain: slug, agent: spender, trader, day: utcDay(Date.now()) })));
    const before = await spent();
    expect((await agent.update(id, { sl: '47000' })).status).toBe(200);
    expect(refusal(await agent.update(id, { size: '0.03' }))).toEqual([409, 'ORDER_NOT_MODIFIABLE']);
    expect(await spent()).toBe(before);
    const other = await resting();
    expect((await agent.update(other, { size: '0.03' })).status).toBe(200);
    const grown = await spent();
    expect(grown - before).toBeCloseTo(1_500, -2);
    // The same growth with another stop: refused, and what the first one reserved stays.
    expect(refusal(await agent.update(other, { size: '0.03', sl: '47000' }))).toEqual([409, 'ORDER_NOT_MODIFIABLE']);
    expect(await spent()).toBe(grown);
  });

  it('are both prepared when the first was not sent in time', async () => {
    const id = await resting();
    const first = prepared(await agent.update(id, { sl: '47000' }));
    const { slug } = chain.definition;
    const known = await sandbox.gateway.store.orders.find(slug, lowerOf(agent.trader), BigInt(id));
    if (known?.orderKey == null) throw new Error('the order is not known');
    const { order, orderKey } = known;
    const change = {
      id: BigInt(id),
      tradeIndex: Number(orderKey.split(':')[1]),
      was: order,
      becomes: { ...order, tp: 1n },
      data: '0x01',
      growth: null,
    } as const;
    const noted = (now: number) => sandbox.gateway.store.orders.prepareChange(slug, { ...change, now, expiresAt: now + 1 });
    expect(await noted(first.expiresAt - 1)).toEqual({ kind: 'prepared', until: first.expiresAt });
    expect(await noted(first.expiresAt)).toEqual({ kind: 'noted' });
  });
});

describe('two changes of a position', () => {
  it('at once: both stand, because a take profit and a stop loss are set each for itself', async () => {
    const own = await newAgentTrader(sandbox, chain);
    await own.place(MARKET, 'filled');
    const id = String((await own.position())['id']);
    const answers = await Promise.all([own.adjust(id, { sl: '58000' }), own.adjust(id, { tp: '70000' })]);
    for (const answer of answers) await own.send(prepared(answer));
    await eventually(
      () => own.position(),
      ({ sl, tp }) => sl === '58000' && tp === '70000',
    );
  });
});
