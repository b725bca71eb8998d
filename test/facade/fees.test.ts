import { lower } from '../../core/domain/interpret-executions.js';
import { givenRules } from '../../core/domain/relay/guardrails.js';
import { venueOf } from '../../core/gateway.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { diamondCall, price, usdc } from '../harness/diamond/diamond-calls.js';
import { hlInfo, type HlInfo } from '../harness/hyperliquid/info.js';
import { hlSocket } from '../harness/hyperliquid/socket.js';
import { eventually } from '../harness/time/eventually.js';
import { newTrader, type ChainTrader } from '../harness/traders/chain-trader.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';

/** What the fills say of money is held to the trader's balance in the token: nothing else moves it. */

const CHAIN = 'arbitrum-sepolia';
const ETH = 1;
const PRICE = 3_000;
const WIDE_SLIPPAGE = 50_000;

let sandbox: TestVenue;
let chain: ChainControls;
let info: HlInfo;
beforeAll(async () => {
  sandbox = await startOwnVenue();
  chain = firstChain(sandbox);
  info = hlInfo(sandbox);
});
afterAll(() => sandbox.stop());
beforeEach(() => jumpTo(PRICE));

interface Fill {
  dir: string;
  sz: string;
  closedPnl: string;
  fee: string;
  hash: string;
  time: number;
  liquidation?: object;
}

async function jumpTo(value: number): Promise<void> {
  sandbox.controls.prices.jump(ETH, String(value));
  await eventually(
    () => venueOf(sandbox.gateway, CHAIN).feed.lastPrice(ETH)?.oracle,
    (oracle) => oracle === price(value),
  );
}

/** Everything on the chain is indexed. */
async function followed(): Promise<void> {
  const head = BigInt((await chain.request('eth_blockNumber', [])) as string);
  await eventually(
    () => venueOf(sandbox.gateway, CHAIN).state.followed.block ?? 0n,
    (block) => block >= head,
  );
}

const settled = (trader: ChainTrader): Promise<unknown> =>
  eventually(
    () => trader.pending(),
    (pending) => pending === 0,
  );
const none = (trader: ChainTrader): Promise<unknown> =>
  eventually(
    () => trader.trades(),
    (trades) => trades.length === 0,
  );

async function call(trader: ChainTrader, data: `0x${string}`): Promise<void> {
  await trader.send(chain.definition.diamond, data);
  await settled(trader);
}

async function open(trader: ChainTrader, changes: Parameters<ChainTrader['open']>[0]): Promise<void> {
  await trader.open({ pairIndex: ETH, openPrice: price(PRICE), ...changes }, WIDE_SLIPPAGE);
  await settled(trader);
}

const fillsOf = async (trader: ChainTrader): Promise<Fill[]> => {
  await followed();
  return info.ask<Fill[]>('userFills', { user: trader.account.address });
};

/** Millionths of a dollar, exactly: floats would hide a wrong unit. */
const micro = (text: string): bigint => {
  const [whole = '0', digits = ''] = text.replace('-', '').split('.');
  const units = BigInt(whole) * 1_000_000n + BigInt(digits.padEnd(6, '0').slice(0, 6));
  return text.startsWith('-') ? -units : units;
};
const shownCash = (fills: readonly Fill[]): bigint => fills.reduce((sum, { closedPnl, fee }) => sum + micro(closedPnl) - micro(fee), 0n);

/** Millionths of a dollar: the newest profit of all time. */
async function shownProfit(trader: ChainTrader): Promise<bigint> {
  const periods = await info.ask<[string, { pnlHistory: [number, string][] }][]>('portfolio', { user: trader.account.address });
  return micro(new Map(periods).get('allTime')?.pnlHistory.at(-1)?.[1] ?? '');
}

async function shownValue(trader: ChainTrader): Promise<bigint> {
  const state = await info.ask<{ marginSummary: { accountValue: string } }>('clearinghouseState', { user: trader.account.address });
  return micro(state.marginSummary.accountValue);
}

/** What the rule of the daily loss counts, from the day of the first fill on. */
async function profitOfDay(trader: ChainTrader, fills: readonly Fill[]): Promise<bigint> {
  const { gateway } = sandbox;
  const venue = venueOf(gateway, CHAIN);
  const question = {
    given: givenRules(gateway.facade.rules, trader.account.address),
    collaterals: new Map(venue.feed.config().collaterals.map((collateral) => [collateral.index, collateral])),
    instead: null,
    now: Math.min(...fills.map(({ time }) => time)),
  };
  const { facts } = await gateway.store.rules.rulesWithFacts(CHAIN, lower(trader.account.address), question, 'all');
  return facts.dayPnlUsd / 10n ** 12n;
}

/** Pseudo-random whole numbers below a bound, repeatable by their seed. */
function createDice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * sides);
  };
}

type Step = (trader: ChainTrader, roll: (sides: number) => number) => Promise<void>;

const openMore: Step = (trader, roll) =>
  open(trader, { collateralAmount: usdc(100 + roll(200)), leverage: 1_000 * (5 + roll(20)), long: roll(2) === 0 });
/** Of one of the open trades, if there is one. */
const ofTrade =
  (data: (trade: Awaited<ReturnType<ChainTrader['trades']>>[number], roll: (sides: number) => number) => `0x${string}`): Step =>
  async (trader, roll) => {
    const trades = await trader.trades();
    const trade = trades[roll(trades.length)];
    if (trade) await call(trader, data(trade, roll));
  };

const STEPS: readonly Step[] = [
  openMore,
  openMore,
  ofTrade(({ index, collateralAmount }, roll) =>
    diamondCall('decreasePositionSize', [index, (collateralAmount * BigInt(1 + roll(4))) / 10n, 0, price(PRICE)]),
  ),
  ofTrade(({ index, leverage }) => diamondCall('decreasePositionSize', [index, 0n, Math.floor(leverage / 4), price(PRICE)])),
  ofTrade(({ index, leverage }, roll) =>
    diamondCall('increasePositionSize', [index, usdc(50 + roll(50)), leverage, price(PRICE), WIDE_SLIPPAGE]),
  ),
  ofTrade(({ index, leverage }, roll) => diamondCall('updateLeverage', [index, leverage + (roll(2) === 0 ? 1_000 : -1_000)])),
  ofTrade(({ index }, roll) => diamondCall('withdrawPositivePnl', [index, usdc(1 + roll(3))])),
  ofTrade(({ index }) => diamondCall('closeTradeMarket', [index, price(PRICE)])),
  async (_trader, roll) => {
    await chain.warp(600 + roll(7_200));
    await chain.mine(1);
  },
  (_trader, roll) => jumpTo(PRICE - 25 + roll(50)),
];

/** Closes what is left; at a price that liquidates some of it, if so rolled. */
async function end(trader: ChainTrader, isCrash: boolean): Promise<void> {
  if (isCrash) await jumpTo(2_850);
  await settled(trader);
  if (isCrash) await chain.mine(3);
  for (const { index } of await trader.trades()) {
    // A trade that is liquidated meanwhile has nothing left to close.
    await trader.close(index, price(isCrash ? 2_850 : PRICE)).catch(() => undefined);
    await settled(trader);
  }
  await none(trader);
}

describe('the fills of an account', () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])('say what cash moved, whatever became of its trades (seed %i)', async (seed) => {
    const roll = createDice(seed);
    const trader = await newTrader(chain, { usdc: '10000' });
    const before = await trader.usdc();
    await openMore(trader, roll);
    for (let step = 0; step < 12; step += 1) await STEPS[roll(STEPS.length)]?.(trader, roll);
    await end(trader, seed % 2 === 0);
    const fills = await fillsOf(trader);
    expect(fills.filter(({ dir }) => dir.startsWith('Close')).length).toBeGreaterThan(0);
    const moved = (await trader.usdc()) - before;
    expect(shownCash(fills)).toBe(moved);
    expect(await shownProfit(trader)).toBe(moved);
    expect(await profitOfDay(trader, fills)).toBe(moved);
  });

  it('and a withdrawal of profit leave the profit of the account as it is', async () => {
    const trader = await newTrader(chain, { usdc: '10000' });
    await open(trader, { collateralAmount: usdc(1_000), leverage: 10_000 });
    await jumpTo(3_100);
    const [{ index } = { index: 0 }] = await trader.trades();
    await call(trader, diamondCall('withdrawPositivePnl', [index, usdc(100)]));
    expect(await trader.usdc()).toBe(usdc(9_100));
    const fills = await fillsOf(trader);
    // The opening fee is not paid before the trade is closed, but the account is worth less by it.
    expect(await profitOfDay(trader, fills)).toBe(usdc(100));
    expect(await shownProfit(trader)).toBe((await shownValue(trader)) - usdc(10_000));
    await call(trader, diamondCall('closeTradeMarket', [index, price(3_100)]));
    const closed = await fillsOf(trader);
    expect(await profitOfDay(trader, closed)).toBe((await trader.usdc()) - usdc(10_000));
    expect(await shownProfit(trader)).toBe((await trader.usdc()) - usdc(10_000));
  });

  it('charge a trade that is wiped out for no more than it had', async () => {
    const trader = await newTrader(chain, { usdc: '1000' });
    const before = await trader.usdc();
    await open(trader, { collateralAmount: usdc(120), leverage: 50_000 });
    // Far beyond liquidation: the price alone takes all of the collateral, and nothing is left for a fee.
    await jumpTo(2_500);
    await none(trader);
    const [liquidation, opening] = await fillsOf(trader);
    expect(await trader.usdc()).toBe(before - usdc(120));
    expect(liquidation).toMatchObject({ liquidation: { method: 'market' }, fee: '0.0' });
    expect(Number(opening?.fee)).toBeGreaterThan(0);
    expect(micro(liquidation?.closedPnl ?? '')).toBe(-usdc(120) + micro(opening?.fee ?? ''));
  });

  it('have a fee of their own, and what a position cost to hold beside it', async () => {
    const trader = await newTrader(chain, { usdc: '10000' });
    const user = trader.account.address;
    const socket = await hlSocket(sandbox.url);
    await socket.subscribe('userFundings', { user });
    expect(await socket.find('userFundings')).toMatchObject({ fundings: [], isSnapshot: true });
    await open(trader, { collateralAmount: usdc(1_000), leverage: 20_000 });
    expect(await info.ask('userFunding', { user, startTime: 0 })).toEqual([]);
    await chain.warp(86_400);
    await chain.mine(1);
    const [{ index } = { index: 0 }] = await trader.trades();
    await call(trader, diamondCall('closeTradeMarket', [index, price(PRICE)]));
    const [closing, opening] = await fillsOf(trader);
    // The same size at nearly the same price: the contract's rate is 0.06 %.
    expect(Number(closing?.fee)).toBe(Number(opening?.fee));
    const [payment, ...others] = await info.ask<{ time: number; hash: string; delta: Record<string, unknown> }[]>('userFunding', { user });
    expect(others).toEqual([]);
    expect(payment).toMatchObject({ time: closing?.time, hash: closing?.hash, delta: { coin: 'ETH', szi: closing?.sz, nSamples: null } });
    expect(Number(payment?.delta['usdc'])).toBeLessThan(0);
    expect(Number(payment?.delta['fundingRate'])).toBeGreaterThan(0);
    const { fundings } = await socket.find<{ fundings: object[]; isSnapshot?: true }>('userFundings', ({ isSnapshot }) => !isSnapshot);
    expect(fundings).toMatchObject([{ coin: 'ETH', usdc: payment?.delta['usdc'] }]);
    expect(await info.ask('userFunding', { user, startTime: (payment?.time ?? 0) + 1 })).toEqual([]);
    await socket.close();
  });
});
