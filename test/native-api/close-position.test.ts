import type { ChainControls } from '../../sandbox/controls.js';
import { BUSY_AGENTS, done, newAgentTrader, prepared, refusal, type AgentTrader, type Json } from '../harness/traders/agent-trader.js';
import { expectViewEqualsChain } from '../harness/diamond/chain-checker.js';
import { chainTrader } from '../harness/traders/chain-trader.js';
import { controlCall } from '../harness/diamond/diamond-calls.js';
import { eventually } from '../harness/time/eventually.js';
import { EVERYTHING } from '../harness/traders/master-wallet.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { setClassOpen } from '../harness/venue/market-hours.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';
import { MARKET } from '../harness/venue/trading-venue.js';

let sandbox: TestVenue;
let chain: ChainControls;
let agent: AgentTrader;

const TIMEOUT_BLOCKS = 200;

beforeAll(async () => {
  sandbox = await startOwnVenue({ ...BUSY_AGENTS, MAX_UNSENT_ORDERS: '3' });
  chain = firstChain(sandbox);
  sandbox.controls.prices.jump(0, '60000');
}, 60_000);
beforeEach(async () => {
  agent = await newAgentTrader(sandbox, chain);
});
afterEach(() => {
  chain.setOraclePolicy(null, { mode: 'auto' });
  sandbox.controls.prices.jump(0, '60000');
});
afterAll(() => sandbox.stop());

const viewEqualsChain = (of = agent) => expectViewEqualsChain(sandbox.gateway, chain.definition.slug, of.trader);
const idOf = (order: Json): string => String(order['id']);

async function opened(changes: Json = {}, of = agent): Promise<Json> {
  await of.place({ ...MARKET, ...changes }, 'filled');
  return of.position();
}

/** Sends a close and waits for what becomes of it. */
async function closed(positionId: string, body: Json = {}, status = 'filled', of = agent): Promise<Json> {
  const answer = await of.close(positionId, body);
  await of.send(prepared(answer));
  return of.reaches(idOf(done(answer).order), status);
}

const gone = (of = agent): Promise<Json[]> =>
  eventually(
    () => of.positions(),
    (positions) => positions.length === 0,
  );

describe('POST /positions/{id}/close', () => {
  it('closes the whole position as an ordinary order of the opposite side', async () => {
    const position = await opened();
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
  }, 30_000);

  it('takes no body for the whole of it', async () => {
    const position = await opened({ side: 'short' });
    const answer = await agent.call('closePosition', 'POST', `/positions/${idOf(position)}/close`);
    expect(done(answer).order).toMatchObject({ side: 'long', reduceOnly: true });
    await agent.send(prepared(answer));
    await gone();
    await viewEqualsChain();
  }, 30_000);

  it('closes a part, never more than was asked for', async () => {
    const position = await opened({ size: '0.05' });
    const order = await closed(idOf(position), { size: '0.02' });
    expect(order).toMatchObject({ side: 'short', size: '0.02', reduceOnly: true, leverage: '10' });
    const left = await eventually(
      () => agent.position(),
      ({ size }) => size !== position['size'],
    );
    expect(left['id']).toBe(position['id']);
    const taken = Number(position['size']) - Number(left['size']);
    expect(taken).toBeLessThanOrEqual(0.02 + 1e-10);
    expect(taken).toBeGreaterThan(0.019_999);
    await viewEqualsChain();
    expect(await closed(idOf(position), { size: left['size'] })).toMatchObject({ size: left['size'] });
    await gone();
    await viewEqualsChain();
  }, 40_000);

  it('closes with a slippage of its own, stored with the position in the same transaction', async () => {
    const position = await opened();
    const order = await closed(idOf(position), { slippage: '3.5' });
    expect(order).toMatchObject({ slippage: '3.5', status: 'filled' });
    await viewEqualsChain();
  }, 30_000);

  it('closes what the trader opened elsewhere', async () => {
    await agent.trader.open({ openPrice: 60_000n * 10n ** 10n });
    const position = await agent.position();
    await closed(idOf(position));
    await gone();
    await viewEqualsChain();
  }, 30_000);

  it('moves to rejected with the reason of the contracts when they refuse', async () => {
    const position = await opened();
    chain.setOraclePolicy(null, { mode: 'reject', reason: 3 });
    expect(await closed(idOf(position), {}, 'rejected')).toMatchObject({ reason: 'SLIPPAGE', fill: null });
    await viewEqualsChain();
  }, 30_000);

  it('names the order that is in the way and from when it can be reclaimed', async () => {
    const position = await opened();
    chain.setOraclePolicy(null, { mode: 'hold' });
    const waiting = await closed(idOf(position), { size: '0.01' }, 'pending');
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
    chain.setOraclePolicy(null, { mode: 'auto' });
    await closed(idOf(position));
    await gone();
    await viewEqualsChain();
  }, 60_000);

  it.each([
    ['more than the position has', { size: '0.03' }, 400, 'VALIDATION_ERROR'],
    ['a size of 0', { size: '0' }, 400, 'VALIDATION_ERROR'],
    ['a negative size', { size: '-0.01' }, 400, 'VALIDATION_ERROR'],
    ['a size with ten decimals', { size: '0.0012345678' }, 422, 'PRECISION_ERROR'],
    ['a slippage above what the contracts hold', { slippage: '70' }, 400, 'VALIDATION_ERROR'],
    ['a slippage with four decimals', { slippage: '0.1234' }, 422, 'PRECISION_ERROR'],
    ['a field nobody knows', { price: '60000' }, 400, 'VALIDATION_ERROR'],
    ['an array', [], 400, 'VALIDATION_ERROR'],
  ])(
    'refuses %s',
    async (_what, body, status, code) => {
      const of = await shared();
      const [position] = await of.positions();
      expect(refusal(await of.close(idOf(position ?? {}), body))).toEqual([status, code]);
    },
    30_000,
  );

  it.each([
    ['a part whose fee is more than it is worth', () => ({ size: '0.00001' }), 'WRONG_TRADE', 'callback'],
    ['a slippage that the spread alone passes', () => ({ slippage: '0.001' }), 'SLIPPAGE', 'callback'],
    [
      'a part that leaves less than the contracts accept',
      ({ size }: Json) => ({ size: (Number(size) - 0.00001).toFixed(8) }),
      'InsufficientCollateral',
      undefined,
    ],
  ])(
    'foresees that %s would be refused',
    async (_what, bodyOf, errorName, stage) => {
      const of = await shared();
      const [position] = await of.positions();
      const answer = await of.close(idOf(position ?? {}), bodyOf(position ?? {}));
      expect(refusal(answer)).toEqual([422, 'SIMULATION_REVERTED']);
      const details = answer.body['details'] as Json;
      expect([details['errorName'], details['stage']]).toEqual([errorName, stage]);
      expect(details['calldata']).toMatch(/^0x(36ce736b|a7cac572|ac9650d8)/);
      expect((await of.openOrders()).filter(({ status }) => status === 'prepared')).toEqual([]);
    },
    30_000,
  );

  let own: Promise<AgentTrader> | undefined;
  /** A position that refusals leave as it is. */
  const shared = (): Promise<AgentTrader> =>
    (own ??= newAgentTrader(sandbox, chain).then(async (made) => {
      await opened({}, made);
      return made;
    }));

  it('is allowed when the contracts only let positions be closed', async () => {
    const position = await opened();
    const operator = chainTrader(chain, sandbox.controls.accounts.operator.privateKey);
    await operator.send(chain.definition.diamond, controlCall('sandboxSetTradingActivated', [1]));
    try {
      await marketIs(false);
      expect(refusal(await agent.create(MARKET))).toEqual([422, 'MARKET_CLOSED']);
      await closed(idOf(position));
      await gone();
    } finally {
      await operator.send(chain.definition.diamond, controlCall('sandboxSetTradingActivated', [0]));
      await marketIs(true);
    }
    await viewEqualsChain();
  }, 30_000);

  it('is refused while the market is shut: no oracle would answer', async () => {
    const euro = ((await sandbox.get(`/v1/${chain.definition.slug}/markets/EUR-USD`)).body as { pairIndex: number }).pairIndex;
    setClassOpen(sandbox, euro, true);
    await marketIs(true, 'EUR-USD');
    const position = await opened({ market: 'EUR/USD', size: '1000' });
    expect(refusal(await agent.close(idOf(position), { size: '0.00000001' }))).toEqual([422, 'SIZE_BELOW_MINIMUM']);
    setClassOpen(sandbox, euro, false);
    await marketIs(false, 'EUR-USD');
    try {
      const answer = await agent.close(idOf(position));
      expect([...refusal(answer), answer.body['details']]).toEqual([422, 'MARKET_CLOSED', { market: 'EUR/USD', session: 'closed' }]);
    } finally {
      setClassOpen(sandbox, euro, true);
    }
  }, 40_000);

  const marketIs = (isOpen: boolean, symbol = 'BTC-USD') =>
    eventually(
      () => sandbox.get(`/v1/${chain.definition.slug}/markets/${symbol}`),
      ({ body }) => (body as { isOpen: boolean }).isOpen === isOpen,
    );

  it('is refused while too many prepared orders wait to be sent', async () => {
    const position = await opened();
    for (let turn = 0; turn < 3; turn += 1) expect((await agent.close(idOf(position))).status).toBe(200);
    const answer = await agent.close(idOf(position));
    expect([...refusal(answer), answer.body['details']]).toMatchObject([429, 'RATE_LIMITED', { scope: 'agent-writes' }]);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(30);
    const [oldest] = (await agent.openOrders()).toReversed();
    await agent.cancel(idOf(oldest ?? {}));
    expect((await agent.close(idOf(position))).status).toBe(200);
  }, 30_000);

  it("does not show another trader's position", async () => {
    const position = await opened();
    const other = await newAgentTrader(sandbox, chain);
    for (const id of [idOf(position), '999999999', 'x']) expect(refusal(await other.close(id))).toEqual([404, 'POSITION_NOT_FOUND']);
  }, 30_000);

  it('keeps agents to their markets', async () => {
    const scoped = await newAgentTrader(sandbox, chain, { scope: { ...EVERYTHING, markets: ['ETH/USD'] } });
    await scoped.trader.open({ openPrice: 60_000n * 10n ** 10n });
    expect(refusal(await scoped.close(idOf(await scoped.position())))).toEqual([403, 'SCOPE_MARKET_NOT_ALLOWED']);
  }, 30_000);

  it('says 502 while the node is gone, and prepares nothing', async () => {
    const position = await opened();
    chain.setRpcFault({ mode: 'down' });
    try {
      expect(refusal(await agent.close(idOf(position)))).toEqual([502, 'UPSTREAM_UNAVAILABLE']);
      expect(await agent.openOrders()).toEqual([]);
    } finally {
      chain.setRpcFault({ mode: 'ok' });
    }
  }, 30_000);
});
