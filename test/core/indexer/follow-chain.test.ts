import { getOrder, listFills, listOpenOrders, listOrderHistory, type FillHistoryEntry } from '../../../core/account/list-orders.js';
import { listPositions, type Position } from '../../../core/account/list-positions.js';
import { listEvents } from '../../../core/account/list-events.js';
import type { Order } from '../../../core/account/describe-order.js';
import { formatDecimal } from '../../../core/domain/decimal.js';
import { venueOf, type Venue } from '../../../core/gateway.js';
import type { ChainControls } from '../../../sandbox/controls.js';
import { expectViewEqualsChain, lowerOf } from '../../harness/diamond/chain-checker.js';
import { newTrader, type ChainTrader } from '../../harness/traders/chain-trader.js';
import { diamondCall, price, usdc } from '../../harness/diamond/diamond-calls.js';
import { eventually } from '../../harness/time/eventually.js';
import { firstChain } from '../../harness/venue/first-chain.js';
import { operatorOf } from '../../harness/venue/operator.js';
import type { TestVenue } from '../../harness/venue/own-venue.js';
import { sharedVenue } from '../../harness/venue/shared-venue.js';

const CHAIN = 'arbitrum-sepolia';
let sandbox: TestVenue;
let chain: ChainControls;
let venue: Venue;

beforeAll(async () => {
  sandbox = await sharedVenue();
  chain = firstChain(sandbox);
  venue = venueOf(sandbox.gateway, CHAIN);
});
afterAll(() => sandbox.stop());
afterEach(() => chain.setOraclePolicy(null, { mode: 'auto', delayMs: 50 }));

function first<Item>(items: readonly Item[]): Item {
  const [item] = items;
  if (item === undefined) throw new Error('there is none');
  return item;
}

const send = (trader: ChainTrader, data: `0x${string}`) => trader.send(chain.definition.diamond, data);
const history = async (trader: ChainTrader): Promise<Order[]> =>
  (await listOrderHistory(sandbox.gateway, venue, lowerOf(trader), { limit: 500 })).data;
const fills = async (trader: ChainTrader): Promise<FillHistoryEntry[]> =>
  (await listFills(sandbox.gateway, venue, lowerOf(trader), { limit: 500 })).data;
const positions = (trader: ChainTrader) => listPositions(sandbox.gateway, venue, lowerOf(trader));
const newest = (trader: ChainTrader, status: Order['status'], count: number) =>
  eventually(
    () => history(trader),
    (orders) => orders.length === count && orders[0]?.status === status,
  ).then((orders) => first(orders));
const said = (order: unknown) =>
  JSON.parse(JSON.stringify(order, (_key, value: unknown) => (isUnits(value) ? formatDecimal(value) : value))) as Record<string, unknown>;
const isUnits = (value: unknown): value is Parameters<typeof formatDecimal>[0] =>
  typeof value === 'object' && value !== null && 'units' in value;

async function openAt(
  trader: ChainTrader,
  pairIndex: number,
  at: string,
  changes: Parameters<ChainTrader['open']>[0] = {},
): Promise<Order> {
  sandbox.controls.prices.jump(pairIndex, at);
  const count = (await history(trader)).length;
  await trader.open({ pairIndex, openPrice: price(Number(at)), ...changes });
  return newest(trader, 'filled', count + 1);
}

describe('a wallet outside the gateway', () => {
  it('opens and closes a position, and every read shows it', async () => {
    const trader = await newTrader(chain);
    const order = await openAt(trader, 1, '3000', { sl: price(2900), tp: price(3500) });
    const [position] = await positions(trader);
    expect(said(order)).toMatchObject({
      market: 'ETH/USD',
      side: 'long',
      type: 'market',
      leverage: '10',
      collateral: 'USDC',
      size: '0.3333333333',
      sl: '2900',
      tp: '3500',
      reduceOnly: false,
      slippage: '1',
      clientId: null,
      expiresAt: null,
      reason: null,
    });
    expect(said(order)['fill']).toMatchObject({ collateral: '100', feeCollateral: '0.75', positionId: position?.id });
    expect(order.fill && formatDecimal(order.fill.price)).toBe(position && formatDecimal(position.entryPrice));
    await expectViewEqualsChain(sandbox.gateway, CHAIN, trader);

    await trader.close(0, price(3000));
    const close = await newest(trader, 'filled', 2);
    expect(said(close)).toMatchObject({
      side: 'short',
      reduceOnly: true,
      leverage: '10',
      size: said(order)['fill'] && (said(order)['fill'] as { size: string }).size,
    });
    expect((await fills(trader)).map(({ action, side }) => `${action} ${side}`)).toEqual(['close long', 'open long']);
    const executed = await trader.event('MarketExecuted');
    const [closed] = await fills(trader);
    expect(closed && formatDecimal(closed.pnl)).toBe(String(Number((executed['amountSentToTrader'] as bigint) - usdc(100)) / 1e6));
    expect(await positions(trader)).toEqual([]);
    await expectViewEqualsChain(sandbox.gateway, CHAIN, trader);
    expect((await getOrder(sandbox.gateway, venue, { via: 'apiKey', trader: lowerOf(trader), label: '' }, order.id)).id).toBe(order.id);
  });

  it('rests, amends, and cancels an order', async () => {
    const trader = await newTrader(chain);
    sandbox.controls.prices.jump(0, '60000');
    await trader.open({ tradeType: 1, openPrice: price(50_000), tp: price(70_000) });
    expect(said(await newest(trader, 'open', 1))).toMatchObject({ type: 'limit', price: '50000', tp: '70000', sl: null, status: 'open' });
    await send(trader, diamondCall('updateOpenOrder', [0, price(51_000), 0n, price(40_000), 2000]));
    const amended = await eventually(
      () => history(trader),
      ([order]) => order?.tp === null,
    );
    const [stored] = await trader.trades();
    expect(said(first(amended))).toMatchObject({
      price: '51000',
      tp: null,
      sl: String(Number(stored?.sl) / 1e10),
      slippage: '2',
      status: 'open',
    });
    await expectViewEqualsChain(sandbox.gateway, CHAIN, trader);
    await send(trader, diamondCall('cancelOpenOrder', [0]));
    await newest(trader, 'canceled', 1);
    expect(await listOpenOrders(sandbox.gateway, venue, lowerOf(trader))).toEqual([]);
    await expectViewEqualsChain(sandbox.gateway, CHAIN, trader);
  });

  it.each([
    ['limit', 1, 3_000, '2990'],
    ['stop', 2, 3_010, '3011'],
  ] as const)('has a %s order filled under a new trade index', async (type, tradeType, trigger, moves) => {
    const trader = await newTrader(chain);
    sandbox.controls.prices.jump(1, '3005');
    await trader.open({ pairIndex: 1, tradeType, openPrice: price(trigger) });
    expect((await newest(trader, 'open', 1)).type).toBe(type);
    sandbox.controls.prices.jump(1, moves);
    const filled = await newest(trader, 'filled', 1);
    const [position] = await positions(trader);
    expect(filled.fill?.positionId).toBe(position?.id);
    expect((await trader.trades()).map(({ index }) => index)).toEqual([1]);
    await expectViewEqualsChain(sandbox.gateway, CHAIN, trader);
  });

  it('is closed by its take profit, its stop loss and its liquidation', async () => {
    const trader = await newTrader(chain);
    for (const [at, [action, changes, moves]] of (
      [
        ['tp', { tp: price(156) }, '157'],
        ['sl', { sl: price(146) }, '145'],
        ['liquidation', {}, '120'],
      ] as const
    ).entries()) {
      await openAt(trader, 2, '150', changes);
      sandbox.controls.prices.jump(2, moves);
      const [closed] = await eventually(
        () => fills(trader),
        (all) => all.length === 2 * (at + 1),
      );
      expect(closed?.action).toBe(action);
      if (action === 'liquidation') expect(closed && formatDecimal(closed.pnl)).toBe('-100');
    }
    await expectViewEqualsChain(sandbox.gateway, CHAIN, trader);
  });

  it('grows, shrinks and changes the leverage of a position', async () => {
    const trader = await newTrader(chain);
    await openAt(trader, 1, '3000');
    await send(trader, diamondCall('increasePositionSize', [0, usdc(50), 10_000, price(3000), 1000]));
    await newest(trader, 'filled', 2);
    await expectViewEqualsChain(sandbox.gateway, CHAIN, trader);
    await send(trader, diamondCall('decreasePositionSize', [0, usdc(30), 0, price(3000)]));
    await newest(trader, 'filled', 3);
    await expectViewEqualsChain(sandbox.gateway, CHAIN, trader);
    await send(trader, diamondCall('updateLeverage', [0, 5_000]));
    const leverage = await newest(trader, 'filled', 4);
    expect(said(leverage)).toMatchObject({ leverage: '5', size: '0', reduceOnly: false });
    await send(trader, diamondCall('updateTp', [0, price(3333)]));
    await send(trader, diamondCall('updateSl', [0, price(2900)]));
    await expectViewEqualsChain(sandbox.gateway, CHAIN, trader);
    const fillsOfPosition = (await fills(trader)).map((fill) => [fill.action, formatDecimal(fill.collateral)]);
    expect(fillsOfPosition.map(([action]) => action)).toEqual(['leverage', 'decrease', 'increase', 'open']);
    expect(fillsOfPosition.slice(1).map(([, amount]) => amount)).toEqual(['30', '50', '100']);
  });

  it('is refused with the reason of the chain; it waits, times out, and is filled late or taken back', async () => {
    const trader = await newTrader(chain);
    chain.setOraclePolicy(3, { mode: 'reject', reason: 6 });
    await trader.open({ pairIndex: 3, openPrice: price(25) });
    expect((await newest(trader, 'rejected', 1)).reason).toBe('EXPOSURE_LIMITS');
    chain.setOraclePolicy(4, { mode: 'hold' });
    await trader.open({ pairIndex: 4, openPrice: price(14) });
    await trader.open({ pairIndex: 4, openPrice: price(14) });
    expect((await newest(trader, 'pending', 3)).txHash).toMatch(/^0x/);
    await expectViewEqualsChain(sandbox.gateway, CHAIN, trader);
    await chain.mine(venue.feed.config().marketOrdersTimeoutBlocks);
    await newest(trader, 'timed_out', 3);
    expect((await listOpenOrders(sandbox.gateway, venue, lowerOf(trader))).map(({ status }) => status)).toEqual(['timed_out', 'timed_out']);
    await send(trader, diamondCall('cancelOrderAfterTimeout', [2]));
    await newest(trader, 'canceled', 3);
    await expectViewEqualsChain(sandbox.gateway, CHAIN, trader);
    sandbox.controls.prices.jump(4, '14');
    chain.setOraclePolicy(4, { mode: 'auto' });
    await eventually(
      () => history(trader),
      (orders) => orders[1]?.status === 'filled',
    );
    await expectViewEqualsChain(sandbox.gateway, CHAIN, trader);
  });

  it('withdraws profit as an order that trades nothing, and closes with a slippage that it sets in the same transaction', async () => {
    const trader = await newTrader(chain);
    await openAt(trader, 2, '150');
    sandbox.controls.prices.jump(2, '155');
    await send(trader, diamondCall('withdrawPositivePnl', [0, usdc(1)]));
    expect(said(await newest(trader, 'filled', 2))).toMatchObject({ side: 'long', size: '0', reduceOnly: false });
    expect((await fills(trader)).map(({ action }) => action)).toEqual(['open']);
    await expectViewEqualsChain(sandbox.gateway, CHAIN, trader);
    const [position] = await positions(trader);
    expect(said(position)).toMatchObject({ realizedPnl: '1' });
    const { data } = await listEvents(sandbox.gateway, venue, lowerOf(trader), { after: 0, limit: 500 });
    expect(data.filter(({ kind }) => kind === 'withdrawal').map(({ data: withdrawal }) => said(withdrawal))).toMatchObject([
      { positionId: position?.id, market: 'SOL/USD', collateralSymbol: 'USDC', amount: '1', price: '155' },
    ]);
    const calls = [diamondCall('updateMaxClosingSlippageP', [0, 2500]), diamondCall('closeTradeMarket', [0, price(155)])];
    await send(trader, diamondCall('multicall', [calls]));
    expect(said(await newest(trader, 'filled', 3))).toMatchObject({ reduceOnly: true, slippage: '2.5' });
  });

  it('lowers the leverage of a losing position: the loss is counted once, when it is closed', async () => {
    const trader = await newTrader(chain);
    await openAt(trader, 3, '25', { leverage: 20_000 });
    const before = await trader.usdc();
    sandbox.controls.prices.jump(3, '24.5');
    await send(trader, diamondCall('decreasePositionSize', [0, 0n, 10_000, price(24.5)]));
    await newest(trader, 'filled', 2);
    expect(said(first(await fills(trader)))).toMatchObject({ action: 'decrease', pnl: '0' });
    expect(await trader.usdc()).toBe(before);
    await trader.close(0, price(24.5));
    await newest(trader, 'filled', 3);
    const paid = (await trader.usdc()) - before;
    const total = (await fills(trader)).reduce((sum, { pnl }) => sum + Number(formatDecimal(pnl)), 0);
    expect(total).toBeCloseTo(Number(paid - usdc(100)) / 1e6, 6);
  });

  it('closes a position from before v10, which has no tokens, by its size', async () => {
    const trader = await newTrader(chain);
    await openAt(trader, 3, '25');
    await operatorOf(chain).control('sandboxSetTradeVersion', [trader.account.address, 0, 1]);
    const wholeOf = ({ entryPrice }: Position): number => 1000 / Number(formatDecimal(entryPrice));
    // A read at a block before the change of the version still shows the tokens.
    const [position] = (await eventually(
      () => positions(trader),
      ([only]) => only !== undefined && Math.abs(Number(formatDecimal(only.size)) - wholeOf(only)) < 1e-7,
    )) as [Position];
    const whole = wholeOf(position);
    await send(trader, diamondCall('decreasePositionSize', [0, usdc(25), 0, price(25)]));
    await newest(trader, 'filled', 2);
    await trader.close(0, price(25));
    const order = await newest(trader, 'filled', 3);
    const [closed, part] = await fills(trader);
    expect([closed, part].map((fill) => Number(formatDecimal(fill?.size ?? order.size)))).toEqual([
      expect.closeTo(whole * 0.75, 6),
      expect.closeTo(whole * 0.25, 6),
    ]);
    expect([order.size, order.fill?.size].map((shown) => Number(formatDecimal(shown ?? order.size)))).toEqual([
      expect.closeTo(whole * 0.75, 6),
      expect.closeTo(whole * 0.75, 6),
    ]);
  });
});
