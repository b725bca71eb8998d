import { Wallet } from 'ethers';
import { generatePrivateKey } from 'viem/accounts';
import { listPositions, type Position } from '../../../core/account/list-positions.js';
import { formatDecimal } from '../../../core/domain/decimal.js';
import { venueOf } from '../../../core/gateway.js';
import type { ChainControls } from '../../../sandbox/controls.js';
import { expectViewEqualsChain, lowerOf } from '../../harness/diamond/chain-checker.js';
import { newTrader, type ChainTrader } from '../../harness/traders/chain-trader.js';
import { price, usdc } from '../../harness/diamond/diamond-calls.js';
import { eventually } from '../../harness/time/eventually.js';
import { hlInfo, type HlInfo } from '../../harness/hyperliquid/info.js';
import { agentsOf, authorization, domainOf, revocation, signWith } from '../../harness/traders/master-wallet.js';
import { startOwnVenue, type TestVenue } from '../../harness/venue/own-venue.js';

const CHAIN = 'arbitrum-sepolia';
let sandbox: TestVenue;
let chain: ChainControls;
let info: HlInfo;
let trader: ChainTrader;

interface Net {
  coin: string;
  szi: string;
  leverage: { type: string; value: number; rawUsd?: string };
  entryPx: string;
  positionValue: string;
  unrealizedPnl: string;
  returnOnEquity: string;
  liquidationPx: string | null;
  marginUsed: string;
  cumFunding: { sinceOpen: string };
}
interface State {
  marginSummary: { accountValue: string; totalNtlPos: string; totalRawUsd: string; totalMarginUsed: string };
  withdrawable: string;
  assetPositions: { position: Net }[];
}

const settle = (who: ChainTrader): Promise<unknown> => expectViewEqualsChain(sandbox.gateway, CHAIN, who);
const stateOf = (user: string): Promise<State> => info.ask<State>('clearinghouseState', { user });
const netOf = ({ assetPositions }: State, coin: string): Net => {
  const found = assetPositions.find(({ position }) => position.coin === coin);
  if (!found) throw new Error(`no position in ${coin}`);
  return found.position;
};
const positionsOf = (who: ChainTrader): Promise<Position[]> =>
  listPositions(sandbox.gateway, venueOf(sandbox.gateway, CHAIN), lowerOf(who));
const number = (value: Parameters<typeof formatDecimal>[0]): number => Number(formatDecimal(value));
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

async function open(changes: Parameters<ChainTrader['open']>[0]): Promise<void> {
  await trader.open(changes, 50_000);
  await eventually(
    () => trader.pending(),
    (pending) => pending === 0,
  );
}

beforeAll(async () => {
  sandbox = await startOwnVenue();
  info = hlInfo(sandbox);
  const [first] = sandbox.controls.chains;
  if (!first) throw new Error('the sandbox has no chain');
  chain = first;
  trader = await newTrader(chain);
  sandbox.controls.prices.jump(0, '60000');
  sandbox.controls.prices.jump(1, '3000');
  sandbox.controls.prices.jump(8, '0.00000845');
  await open({ pairIndex: 0, openPrice: price(60_000) });
  await open({ pairIndex: 0, collateralAmount: usdc(250), leverage: 4_000, openPrice: price(60_000) });
  await open({ pairIndex: 0, collateralAmount: usdc(60), leverage: 5_000, long: false, openPrice: price(60_000) });
  await open({ pairIndex: 1, collateralAmount: usdc(300), leverage: 20_000, long: false, openPrice: price(3_000) });
  await open({ pairIndex: 8, collateralAmount: usdc(200), leverage: 10_000, openPrice: 84_500n });
  await settle(trader);
});
afterAll(() => sandbox.stop());

describe('several trades of one market', () => {
  it('are one position: sizes add up by side, the entry is that of the side that is left', async () => {
    const { position } = { position: netOf(await stateOf(trader.account.address), 'BTC') };
    const own = (await positionsOf(trader)).filter(({ market }) => market === 'BTC/USD');
    expect(own).toHaveLength(3);
    const longs = own.filter(({ side }) => side === 'long');
    const size = sum(own.map(({ side, size: base }) => (side === 'long' ? number(base) : -number(base))));
    expect(Number(position.szi)).toBe(Math.floor(size * 1e5) / 1e5);
    const weighted = sum(longs.map((one) => number(one.size) * number(one.entryPrice))) / sum(longs.map((one) => number(one.size)));
    expect(Number(position.entryPx)).toBeCloseTo(weighted, 3);
    expect(Number(position.liquidationPx)).toBe(Math.round(Math.max(...longs.map((one) => number(one.liquidationPrice)))));
  });

  it('have the profit of the price alone, and their costs beside it', async () => {
    await chain.warp(7_200);
    await chain.mine(2);
    const own = async (): Promise<Position[]> => (await positionsOf(trader)).filter(({ market }) => market === 'BTC/USD');
    const costs = (await own()).map(({ fundingFee, borrowingFee }) => number(fundingFee) + number(borrowingFee));
    const position = netOf(await stateOf(trader.account.address), 'BTC');
    expect(sum(costs)).toBeGreaterThan(0);
    expect(Number(position.cumFunding.sinceOpen)).toBeCloseTo(sum(costs), 3);
    const moved = (await own()).map(
      (one) => (number(one.markPrice) - number(one.entryPrice)) * number(one.size) * (one.side === 'long' ? 1 : -1),
    );
    expect(Number(position.unrealizedPnl)).toBeCloseTo(sum(moved), 1);
  });

  it('are worth together what closing each of them would pay', async () => {
    const state = await stateOf(trader.account.address);
    const worth = (await positionsOf(trader)).map(({ collateral, unrealizedPnl }) => number(collateral) + number(unrealizedPnl));
    expect(Number(state.withdrawable)).toBe(Number(await trader.usdc()) / 1e6);
    expect(Number(state.marginSummary.accountValue)).toBeCloseTo(Number(state.withdrawable) + sum(worth), 1);
    const exposure = sum(
      state.assetPositions.map(({ position: { szi, positionValue } }) => Math.sign(Number(szi)) * Number(positionValue)),
    );
    expect(Number(state.marginSummary.totalRawUsd)).toBeCloseTo(Number(state.marginSummary.accountValue) - exposure, 2);
    expect(Number(state.marginSummary.totalNtlPos)).toBeCloseTo(
      sum(state.assetPositions.map(({ position }) => Number(position.positionValue))),
      3,
    );
  });

  it('are counted in thousands where a coin is cheaper than a cent', async () => {
    const { szi, entryPx, positionValue } = netOf(await stateOf(trader.account.address), 'kPEPE');
    expect(Number(szi) * Number(entryPx)).toBeCloseTo(2_000, -2);
    expect(Number(positionValue)).toBeCloseTo(2_000, -2);
    expect(Number(entryPx)).toBeGreaterThan(0.008);
  });
});

describe('the leverage of a market', () => {
  const user = (): string => trader.account.address;

  it('is what the trades have, cross, unless the trader chooses otherwise', async () => {
    const { leverage, positionValue, marginUsed, unrealizedPnl, returnOnEquity, szi, entryPx } = netOf(await stateOf(user()), 'ETH');
    expect(leverage).toEqual({ type: 'cross', value: 20 });
    expect(Number(marginUsed)).toBeCloseTo(Number(positionValue) / 20, 3);
    expect(Number(returnOnEquity)).toBeCloseTo(Number(unrealizedPnl) / ((Math.abs(Number(szi)) * Number(entryPx)) / 20), 4);
    expect(await info.ask('activeAssetData', { user: user(), coin: 'ETH' })).toMatchObject({ leverage: { type: 'cross', value: 5 } });
  });

  it('stays that of the trades when the trader chooses another one for the next order, and an isolated one shows what stands behind it', async () => {
    await sandbox.gateway.store.facade.leverage.set(CHAIN, lowerOf(trader), 1, { leverage: 7, isCross: false });
    const { leverage, marginUsed, szi, positionValue } = netOf(await stateOf(user()), 'ETH');
    expect(leverage).toMatchObject({ type: 'isolated', value: 20 });
    expect(Number(leverage.rawUsd)).toBeCloseTo(300 + 6_000, -2);
    expect(Number(marginUsed)).toBeCloseTo(Number(leverage.rawUsd) + Math.sign(Number(szi)) * Number(positionValue), 3);
    const active = await info.ask<{ leverage: object; maxTradeSzs: [string, string]; availableToTrade: [string, string]; markPx: string }>(
      'activeAssetData',
      { user: user(), coin: 'ETH' },
    );
    expect(active.leverage).toEqual({ ...leverage, value: 7 });
    const [buy, sell] = active.maxTradeSzs.map(Number);
    expect((buy ?? 0) - (sell ?? 0)).toBeCloseTo(Math.abs(Number(szi)), 3);
    expect(sell).toBeCloseTo((Number(active.availableToTrade[1]) * 7) / Number(active.markPx), 2);
  });
});

describe('the leverage of several trades', () => {
  it('is that of their sizes and collateral together', async () => {
    const { leverage } = netOf(await stateOf(trader.account.address), 'BTC');
    expect(leverage.value).toBe(Math.round((1_000 + 1_000 + 300) / (100 + 250 + 60)));
  });
});

describe('an agent', () => {
  it('is answered as its trader until it is revoked, and its role says whose it is', async () => {
    const master = new Wallet(trader.privateKey);
    const agent = new Wallet(generatePrivateKey());
    const domain = await domainOf(sandbox);
    const sign = signWith(master, domain);
    const agents = agentsOf(sandbox);
    await agents.create(await authorization(domain, sign, { trader: master.address, agent: agent.address }));
    expect(await info.ask('userRole', { user: agent.address })).toEqual({ role: 'agent', data: { user: lowerOf(trader) } });
    expect((await stateOf(agent.address)).assetPositions).toHaveLength(3);
    expect(await info.ask<unknown[]>('userFills', { user: agent.address })).toHaveLength(5);
    expect(await info.ask('extraAgents', { user: master.address })).toEqual([]);
    await agents.revoke(agent.address, await revocation(sign, master.address, agent.address));
    expect(await info.ask('userRole', { user: agent.address })).toEqual({ role: 'missing' });
    expect((await stateOf(agent.address)).assetPositions).toEqual([]);
    expect(await info.ask('userRole', { user: master.address })).toEqual({ role: 'user' });
  });

  it('is no part of a wallet that only holds money, which is a user all the same', async () => {
    const rich = await newTrader(chain);
    expect(await info.ask('userRole', { user: rich.account.address })).toEqual({ role: 'user' });
  });
});

describe('figures about an account', () => {
  it('count what was traded', async () => {
    const { cumVlm } = await info.ask<{ cumVlm: string }>('userRateLimit', { user: trader.account.address });
    expect(Number(cumVlm)).toBeCloseTo(1_000 + 1_000 + 300 + 6_000 + 2_000, -2);
    const { dailyUserVlm, userCrossRate } = await info.ask<{ dailyUserVlm: { userCross: string }[]; userCrossRate: string }>('userFees', {
      user: trader.account.address,
    });
    expect(sum(dailyUserVlm.map(({ userCross }) => Number(userCross)))).toBeCloseTo(Number(cumVlm), 2);
    expect(userCrossRate).toBe('0.0006');
    const portfolio = await info.ask<[string, { vlm: string; accountValueHistory: [number, string][] }][]>('portfolio', {
      user: trader.account.address,
    });
    expect(portfolio.map(([name]) => name)).toContain('perpAllTime');
    expect(portfolio.every(([, { vlm }]) => vlm === cumVlm)).toBe(true);
  });

  it('come all at once for a page', async () => {
    const { clearinghouseState, user } = await info.ask<{ clearinghouseState: State; user: string }>('webData2', {
      user: trader.account.address,
    });
    expect(user).toBe(lowerOf(trader));
    expect(clearinghouseState.assetPositions).toHaveLength(3);
  });
});
