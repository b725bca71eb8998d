import type { ChainControls } from '../../sandbox/controls.js';
import { BUSY_AGENTS, done, newAgentTrader, prepared, refusal, type AgentTrader, type Json } from '../harness/traders/agent-trader.js';
import { expectViewEqualsChain } from '../harness/diamond/chain-checker.js';
import { operatorOf, type Operator } from '../harness/venue/operator.js';
import { eventually } from '../harness/time/eventually.js';
import { EVERYTHING } from '../harness/traders/master-wallet.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { setClassOpen } from '../harness/venue/market-hours.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';
import { MARKET } from '../harness/venue/trading-venue.js';

let sandbox: TestVenue;
let chain: ChainControls;
let agent: AgentTrader;
let operator: Operator;
let position: Json;

const TIMEOUT_BLOCKS = 200;

beforeAll(async () => {
  sandbox = await startOwnVenue({ ...BUSY_AGENTS, MAX_UNSENT_ORDERS: '3' });
  chain = firstChain(sandbox);
  sandbox.controls.prices.jump(0, '60000');
  operator = operatorOf(chain);
  agent = await newAgentTrader(sandbox, chain);
});
afterEach(() => chain.setOraclePolicy(null, { mode: 'auto' }));
afterAll(() => sandbox.stop());

const viewEqualsChain = () => expectViewEqualsChain(sandbox.gateway, chain.definition.slug, agent.trader);
const idOf = (order: Json): string => String(order['id']);
const AT_60000 = { openPrice: 60_000n * 10n ** 10n };

/** The position of the tests after it, until one of them closes it. */
async function opened(changes: Json = {}): Promise<void> {
  await agent.place({ ...MARKET, ...changes }, 'filled');
  position = await agent.position();
}

/** Sends a close and waits for what becomes of it. */
async function closed(body: Json = {}, status = 'filled'): Promise<Json> {
  const answer = await agent.close(idOf(position), body);
  await agent.send(prepared(answer));
  return agent.reaches(idOf(done(answer).order), status);
}

const gone = (): Promise<Json[]> =>
  eventually(
    () => agent.positions(),
    (positions) => positions.length === 0,
  );

const marketIs = (isOpen: boolean, symbol = 'BTC-USD') =>
  eventually(
    () => sandbox.get(`/v1/${chain.definition.slug}/markets/${symbol}`),
    ({ body }) => (body as { isOpen: boolean }).isOpen === isOpen,
  );

describe('POST /positions/{id}/close of a long', () => {
  beforeAll(() => opened());

  it.each([
    ['more than the position has', { size: '0.03' }, 400, 'VALIDATION_ERROR'],
    ['a size with ten decimals', { size: '0.0012345678' }, 422, 'PRECISION_ERROR'],
    ['an unknown field', { price: '60000' }, 400, 'VALIDATION_ERROR'],
  ])('refuses %s', async (_what, body, status, code) => {
    expect(refusal(await agent.close(idOf(position), body))).toEqual([status, code]);
  });

  it.each([
    ['a part whose fee is more than it is worth', () => ({ size: '0.00001' }), 'WRONG_TRADE', 'callback'],
    ['a slippage that the spread alone passes', () => ({ slippage: '0.001' }), 'SLIPPAGE', 'callback'],
    [
      'a part that leaves less than the contracts accept',
      ({ size }: Json) => ({ size: (Number(size) - 0.00001).toFixed(8) }),
      'InsufficientCollateral',
      undefined,
    ],
  ])('foresees that %s would be refused', async (_what, bodyOf, errorName, stage) => {
    const answer = await agent.close(idOf(position), bodyOf(position));
    expect(refusal(answer)).toEqual([422, 'SIMULATION_REVERTED']);
    const details = answer.body['details'] as Json;
    expect([details['errorName'], details['stage']]).toEqual([errorName, stage]);
    expect(details['calldata']).toMatch(/^0x(36ce736b|a7cac572|ac9650d8)/);
  });

  it('says 502 while the node is gone, and nothing of all that was refused is remembered', async () => {
    chain.setRpcFault({ mode: 'down' });
    try {
      expect(refusal(await agent.close(idOf(position)))).toEqual([502, 'UPSTREAM_UNAVAILABLE']);
    } finally {
      chain.setRpcFault({ mode: 'ok' });
    }
    expect(await agent.openOrders()).toEqual([]);
  });

  it("does not show another trader's position, and keeps agents to their markets", async () => {
    const scoped = await newAgentTrader(sandbox, chain, { scope: { ...EVERYTHING, markets: ['ETH/USD'] } });
    for (const id of [idOf(position), '999999999', 'x']) expect(refusal(await scoped.close(id))).toEqual([404, 'POSITION_NOT_FOUND']);
    await scoped.trader.open(AT_60000);
    expect(refusal(await scoped.close(idOf(await scoped.position())))).toEqual([403, 'SCOPE_MARKET_NOT_ALLOWED']);
  });

  it('closes a part, never more than was asked for', async () => {
    const before = position;
    expect(await closed({ size: '0.01' })).toMatchObject({ side: 'short', size: '0.01', reduceOnly: true, leverage: '10' });
    position = await eventually(
      () => agent.position(),
      ({ size }) => size !== before['size'],
    );
    expect(position['id']).toBe(before['id']);
    const taken = Number(before['size']) - Number(position['size']);
    expect(taken).toBeLessThanOrEqual(0.01 + 1e-10);
    expect(taken).toBeGreaterThan(0.009_999);
    await viewEqualsChain();
  });

  it('moves to rejected with the reason of the contracts when they refuse', async () => {
    chain.setOraclePolicy(null, { mode: 'reject', reason: 3 });
    expect(await closed({}, 'rejected')).toMatchObject({ reason: 'SLIPPAGE', fill: null });
  });

  it('names the order that is in the way and from when it can be reclaimed', async () => {
    chain.setOraclePolicy(null, { mode: 'hold' });
    const waiting = await closed({ size: '0.005' }, 'pending');
    const early = await agent.close(idOf(position));
    expect(refusal(early)).toEqual([409, 'ORDER_NOT_MODIFIABLE']);
    expect(early.body['details']).toMatchObject({ id: waiting['id'], status: 'pending' });
    expect((early.body['details'] as { reclaimableAt: number }).reclaimableAt).toBeGreaterThan(Date.now());
    await chain.mine(TIMEOUT_BLOCKS);
    await agent.reaches(idOf(waiting), 'timed_out');
    const late = await agent.close(idOf(position));
    expect(refusal(late)).toEqual([409, 'ORDER_NOT_MODIFIABLE']);
    expect((late.body['details'] as { reclaimableAt: number }).reclaimableAt).toBeLessThanOrEqual(Date.now() + 1000);
    await agent.send(prepared(await agent.cancel(idOf(waiting))));
    await agent.reaches(idOf(waiting), 'canceled');
  });

  it('closes the whole position as an ordinary order of the opposite side', async () => {
    const answer = await agent.close(idOf(position));
    expect(answer.status).toBe(200);
    expect(done(answer).order).toMatchObject({
      market: 'BTC/USD',
      side: 'short',
      type: 'market',
      size: position['size'],
      price: null,
      leverage: '10',
      collateral: 'USDC',
      reduceOnly: true,
      slippage: '1',
      clientId: null,
      status: 'prepared',
      fill: null,
    });
    await agent.send(prepared(answer));
    const filled = await agent.reaches(idOf(done(answer).order), 'filled');
    expect(filled).toMatchObject({ side: 'short', reduceOnly: true, fill: { positionId: position['id'] } });
    await gone();
    await viewEqualsChain();
    expect(refusal(await agent.close(idOf(position)))).toEqual([404, 'POSITION_NOT_FOUND']);
  });
});

describe('POST /positions/{id}/close', () => {
  it('closes what the trader opened elsewhere, with a slippage of its own, stored with the position in the same transaction', async () => {
    await agent.trader.open(AT_60000);
    position = await agent.position();
    const { size } = position;
    expect(await closed({ size, slippage: '3.5' })).toMatchObject({ size, slippage: '3.5', status: 'filled' });
    await gone();
    await viewEqualsChain();
  });

  it('is refused while too many prepared orders wait to be sent', async () => {
    await opened({ side: 'short' });
    for (let turn = 0; turn < 3; turn += 1) expect((await agent.close(idOf(position))).status).toBe(200);
    const answer = await agent.close(idOf(position));
    expect([...refusal(answer), answer.body['details']]).toMatchObject([429, 'RATE_LIMITED', { scope: 'agent-writes' }]);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(30);
    const [oldest] = (await agent.openOrders()).toReversed();
    await agent.cancel(idOf(oldest ?? {}));
  });

  it('takes no body for the whole of it, and is allowed when the contracts only let positions be closed', async () => {
    await operator.control('sandboxSetTradingActivated', [1]);
    try {
      await marketIs(false);
      expect(refusal(await agent.create(MARKET))).toEqual([422, 'MARKET_CLOSED']);
      const answer = await agent.call('closePosition', 'POST', `/positions/${idOf(position)}/close`);
      expect(done(answer).order).toMatchObject({ side: 'long', reduceOnly: true });
      await agent.send(prepared(answer));
      await gone();
    } finally {
      await operator.control('sandboxSetTradingActivated', [0]);
      await marketIs(true);
    }
    await viewEqualsChain();
    for (const left of await agent.openOrders()) await agent.cancel(idOf(left));
  });

  it('is refused while the market is shut: no oracle would answer', async () => {
    const euro = ((await sandbox.get(`/v1/${chain.definition.slug}/markets/EUR-USD`)).body as { pairIndex: number }).pairIndex;
    setClassOpen(sandbox, euro, true);
    await marketIs(true, 'EUR-USD');
    await opened({ market: 'EUR/USD', size: '1000' });
    expect(refusal(await agent.close(idOf(position), { size: '0.00000001' }))).toEqual([422, 'SIZE_BELOW_MINIMUM']);
    setClassOpen(sandbox, euro, false);
    await marketIs(false, 'EUR-USD');
    try {
      const answer = await agent.close(idOf(position));
      expect([...refusal(answer), answer.body['details']]).toEqual([422, 'MARKET_CLOSED', { market: 'EUR/USD', session: 'closed' }]);
    } finally {
      setClassOpen(sandbox, euro, true);
    }
  });
});
