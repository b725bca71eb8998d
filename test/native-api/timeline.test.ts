import { formatDecimal } from '../../core/domain/decimal.js';
import { venueOf } from '../../core/gateway.js';
import { explainRefusal } from '../../core/trading/explain-refusal.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { BUSY_AGENTS, done, newAgentTrader, prepared, refusal, type AgentTrader, type Json } from '../harness/traders/agent-trader.js';
import { lowerOf } from '../harness/diamond/chain-checker.js';
import { price } from '../harness/diamond/diamond-calls.js';
import { eventually } from '../harness/time/eventually.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { reorgAway } from '../harness/diamond/reorg-away.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';

let sandbox: TestVenue;
let chain: ChainControls;
let agent: AgentTrader;
const BTC = 0;

beforeAll(async () => {
  sandbox = await startOwnVenue(BUSY_AGENTS);
  chain = firstChain(sandbox);
  agent = await newAgentTrader(sandbox, chain, { usdc: '1000000' });
});
beforeEach(async () => {
  chain.setOraclePolicy(null, { mode: 'auto' });
  await priceIs('60000');
});
afterAll(() => sandbox.stop());

/** Until the gateway has it too, orders would be judged by the price before. */
async function priceIs(wanted: string): Promise<void> {
  sandbox.controls.prices.jump(BTC, wanted);
  await eventually(
    async () =>
      ((await sandbox.get('/v1/arbitrum-sepolia/prices')).body as { data: Json[] }).data.find(({ market }) => market === 'BTC/USD'),
    (found) => Math.abs(Number(found?.['index']) - Number(wanted)) < 1,
  );
}

interface Step extends Json {
  readonly step: string;
  readonly at: number;
  readonly seenAt: number | null;
  readonly sincePreviousMs: number;
  readonly sinceStartMs: number;
  readonly isTakenBack: boolean;
}

interface Timeline extends Json {
  readonly status: string | null;
  readonly steps: readonly Step[];
  readonly refusal: Json | null;
  readonly repeats: readonly string[];
}

const timeline = async (id: unknown): Promise<Timeline> =>
  (await agent.call('getOrderTimeline', 'GET', `/orders/${String(id)}/timeline`)).body as unknown as Timeline;
const named = ({ steps }: Timeline): string[] => steps.map(({ step }) => step);
const order = (changes: Json = {}): Json => ({ market: 'BTC/USD', side: 'long', type: 'market', size: '0.05', leverage: '10', ...changes });
const isSum = ({ steps }: Timeline): boolean =>
  steps.every(({ sincePreviousMs, sinceStartMs }, at) => sinceStartMs === (steps[at - 1]?.sinceStartMs ?? 0) + sincePreviousMs);

describe('the timeline of an order', () => {
  it('has every step of a market order from its validation to its fill, with its times, and names the order that came of its second mining', async () => {
    const { order: made, transaction } = done(await agent.create(order()));
    if (transaction === null) throw new Error('there is nothing to send');
    const before = await timeline(made['id']);
    expect(named(before)).toEqual(['validated', 'simulated', 'prepared']);
    await chain.pauseMining(true);
    const hash = await agent.broadcast(transaction);
    await agent.submit(String(made['id']), hash);
    await chain.pauseMining(false);
    await agent.reaches(String(made['id']), 'filled');
    const after = await timeline(made['id']);
    expect(named(after)).toEqual([...named(before), 'hash_reported', 'mined', 'oracle_asked', 'oracle_answered', 'filled']);
    expect(after).toMatchObject({ status: 'filled', refusal: null, repeats: [], repeatOf: null });
    expect(after.steps[0]).toMatchObject({ sincePreviousMs: 0, sinceStartMs: 0 });
    expect(isSum(after)).toBe(true);
    expect(after.steps.filter(({ txHash }) => txHash === hash).map(({ step }) => step)).toEqual(['hash_reported', 'mined', 'oracle_asked']);
    for (const step of after.steps.slice(-4)) expect(step).toMatchObject({ block: expect.any(Number) as number, isTakenBack: false });
    // Its bytes are mined a second time.
    await agent.send(transaction);
    const { repeats } = await eventually(
      () => timeline(made['id']),
      (found) => found.repeats.length === 1,
    );
    expect(await timeline(repeats[0])).toMatchObject({ id: repeats[0], repeatOf: made['id'] });
  });

  it('has the changes and the cancel of a resting order', async () => {
    const { id } = await agent.place(order({ type: 'limit', price: '40000' }), 'open');
    for (const [field, value] of [
      ['tp', '70000'],
      ['price', '41000'],
    ] as const) {
      await agent.send(prepared(await agent.update(String(id), { [field]: value })));
      await eventually(
        () => agent.order(String(id)),
        (found) => found[field] === value,
      );
    }
    await agent.send(prepared(await agent.cancel(String(id))));
    await agent.reaches(String(id), 'canceled');
    expect(named(await timeline(id))).toEqual([
      'validated',
      'simulated',
      'prepared',
      'mined',
      'resting',
      'amended',
      'replaced',
      'canceled',
    ]);
  });

  it('has the step of an owner who gave the order up before it was sent', async () => {
    const { order: made } = done(await agent.create(order()));
    await agent.cancel(String(made['id']));
    expect(named(await timeline(made['id']))).toEqual(['validated', 'simulated', 'prepared', 'given_up']);
  });

  it('has the steps of an order that was made elsewhere', async () => {
    const known = (await agent.openOrders()).length;
    chain.setOraclePolicy(null, { mode: 'hold' });
    await agent.trader.open({ pairIndex: BTC, openPrice: price(60_000) });
    const [newest] = await eventually(
      () => agent.openOrders(),
      (orders) => orders.length > known,
    );
    expect(named(await timeline(newest?.['id']))).toEqual(['mined', 'oracle_asked']);
    chain.setOraclePolicy(null, { mode: 'auto' });
    await agent.reaches(String(newest?.['id']), 'filled');
    expect(named(await timeline(newest?.['id']))).toEqual(['mined', 'oracle_asked', 'oracle_answered', 'filled']);
  });

  it('keeps what a reorganisation took back, and says so', async () => {
    chain.setOraclePolicy(null, { mode: 'hold' });
    const { id, txHash } = await agent.place(order(), 'pending');
    const { blockNumber } = await agent.trader.client.getTransactionReceipt({ hash: txHash as `0x${string}` });
    await reorgAway(chain, agent.trader.client, blockNumber);
    const undone = await eventually(
      () => timeline(id),
      (found) => named(found).includes('reorganised'),
    );
    expect(undone.steps.filter(({ isTakenBack }) => isTakenBack).map(({ step }) => step)).toEqual(['mined', 'oracle_asked']);
    expect(named(undone).indexOf('reorganised')).toBeGreaterThan(named(undone).indexOf('oracle_asked'));
  });

  it('is not there for another trader, nor for an id that is none', async () => {
    const stranger = await newAgentTrader(sandbox, chain);
    const { order: made } = done(await agent.create(order()));
    for (const id of [String(made['id']), '0', '007', 'x', '9999999999999999', '99999999999999999999'])
      expect(refusal(await stranger.call('getOrderTimeline', 'GET', `/orders/${id}/timeline`))).toEqual([404, 'ORDER_NOT_FOUND']);
  });
});

describe('the two numbers of a rejection', () => {
  it('are the execution price and the worst one the order accepts', async () => {
    chain.setOraclePolicy(null, { mode: 'hold' });
    const { id } = await agent.place(order({ slippage: '0.5' }), 'pending');
    await priceIs('61000');
    chain.setOraclePolicy(null, { mode: 'auto' });
    await agent.reaches(String(id), 'rejected');
    const { refusal: why, status } = await timeline(id);
    expect(status).toBe('rejected');
    expect(why).toMatchObject({ reason: 'SLIPPAGE', quantity: 'executionPrice', isEstimate: true });
    expect(Math.abs(Number(why?.['oraclePrice']) - 61_000)).toBeLessThan(50);
    expect(Number(why?.['bound'])).toBeGreaterThan(60_000);
    expect(Number(why?.['bound'])).toBeLessThan(60_700);
    expect(Number(why?.['actual'])).toBeGreaterThan(Number(why?.['oraclePrice']));
    expect(Number(why?.['actual'])).toBeLessThan(61_500);
    for (const [changes, expected] of REASONS) expect(await explained(String(id), changes)).toMatchObject(expected);
  });

  const REASONS: readonly (readonly [Json, Json])[] = [
    [
      { reason: 'SL_REACHED', sl: price(61_500) },
      { quantity: 'oraclePrice', bound: 61_500, isEstimate: false },
    ],
    [
      { reason: 'TP_REACHED', tp: price(60_500) },
      { quantity: 'executionPrice', bound: 60_500, isEstimate: true },
    ],
    [{ reason: 'MAX_LEVERAGE' }, { quantity: 'leverage', actual: 10, isEstimate: false }],
    [{ reason: 'EXPOSURE_LIMITS' }, { quantity: 'positionSize', isEstimate: true }],
    [{ reason: 'PRICE_IMPACT' }, { quantity: 'lossPercent', isEstimate: true }],
    [{ reason: 'LIQ_REACHED' }, { quantity: 'oraclePrice', isEstimate: true }],
    [{ reason: 'OTHER' }, { quantity: null, actual: null, bound: null, isEstimate: false }],
    [{ reason: 'COUNTER_TRADE_CANCELED' }, { reason: 'OTHER', quantity: null, actual: null, bound: null }],
  ];

  /** The stored refusal of the order, as it is explained when the contracts give another reason and the order has other levels. */
  async function explained(id: string, { reason, ...levels }: Json): Promise<Json> {
    const venue = venueOf(sandbox.gateway, chain.definition.slug);
    const stored = await sandbox.gateway.store.orders.timeline(chain.definition.slug, lowerOf(agent.trader), BigInt(id));
    const known = await sandbox.gateway.store.orders.find(chain.definition.slug, lowerOf(agent.trader), BigInt(id));
    const refused = stored?.events.map(({ event }) => event).find(({ kind }) => kind === 'refused');
    if (!known || refused?.kind !== 'refused') throw new Error('it was not refused');
    const why = explainRefusal(venue.feed.config(), { ...known.order, ...levels }, { ...refused, reason } as never);
    const number = (value: typeof why.actual) => (value === null ? null : Number(formatDecimal(value)));
    const [actual, bound] = [number(why.actual), number(why.bound)];
    if (why.quantity !== null) expect(Math.min(actual ?? 0, bound ?? 0)).toBeGreaterThan(0);
    return { ...why, actual, bound };
  }

  it('are those of the contract where a change of a position was refused', async () => {
    const [{ id } = { id: '' }] = await agent.positions();
    chain.setOraclePolicy(null, { mode: 'hold' });
    const { order: made, transaction } = done(await agent.adjust(String(id), { leverage: '15' }));
    if (transaction === null) throw new Error('there is nothing to send');
    await agent.send(transaction);
    await agent.reaches(String(made['id']), 'pending');
    chain.setOraclePolicy(null, { mode: 'reject', reason: 12 });
    await agent.reaches(String(made['id']), 'rejected');
    const { refusal: why } = await timeline(made['id']);
    expect(why).toMatchObject({ reason: 'LIQ_REACHED', quantity: 'oraclePrice', isEstimate: false });
    expect(Number(why?.['actual'])).toBeGreaterThan(59_000);
    expect(Number(why?.['bound'])).toBeGreaterThan(50_000);
  });
});
