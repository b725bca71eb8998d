import { Wallet } from 'ethers';
import { price } from '../harness/diamond/diamond-calls.js';
import { order, orderAction, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import { hlInfo } from '../harness/hyperliquid/info.js';
import { eventually } from '../harness/time/eventually.js';
import { FACADE_CHAIN, newFacadeTrader } from '../harness/traders/facade-trader.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { tradeForMargin } from '../../facade/trade/send/relay-margin.js';

const BTC = 0;
const DONE = { status: 'ok', response: { type: 'default' } };

let sandbox: TestVenue;
beforeAll(async () => {
  sandbox = await sharedVenue();
  sandbox.controls.prices.jump(BTC, '60000');
  await eventually(
    () => sandbox.gateway.venues.get(FACADE_CHAIN)?.feed.lastPrice(BTC)?.oracle,
    (now) => now === price(60_000),
  );
});
afterAll(() => sandbox.stop());

interface Position {
  readonly liquidationPx: string;
  readonly leverage: { readonly type: string; readonly value: number };
  readonly marginUsed: string;
  readonly positionValue: string;
}

/** A bot whose three trades have a leverage of 5, 20 and 10, in this order, and whose setting is 40. */
async function newBot() {
  const { trader, address, agentKey } = await newFacadeTrader(sandbox);
  const user = address.toLowerCase() as `0x${string}`;
  const send = async (action: Record<string, unknown>): Promise<unknown> =>
    (await postExchange(sandbox.url, FACADE_CHAIN, await signL1(new Wallet(agentKey), action))).body;
  const setLeverage = (leverage: number): Promise<unknown> => send({ type: 'updateLeverage', asset: BTC, isCross: false, leverage });
  for (const [at, leverage] of [5, 20, 10].entries()) {
    expect(await setLeverage(leverage)).toEqual(DONE);
    await send(orderAction(order({ a: BTC, b: true, p: '63000', s: '0.1', r: false, t: { limit: { tif: 'Ioc' } } })));
    await eventually(
      () => sandbox.gateway.store.account.openPositions(FACADE_CHAIN, user),
      ({ length }) => length === at + 1,
    );
  }
  await setLeverage(40);
  return {
    send,
    changeMargin: (ntli: number) => send({ type: 'updateIsolatedMargin', asset: BTC, isBuy: true, ntli }),
    collaterals: async () => (await trader.trades()).map(({ collateralAmount }) => Number(collateralAmount) / 1e6),
    leverageSet: async () =>
      (await hlInfo(sandbox).ask<{ leverage: { value: number } }>('activeAssetData', { user, coin: 'BTC' })).leverage.value,
    async position(): Promise<Position> {
      const { assetPositions } = await hlInfo(sandbox).ask<{ assetPositions: { position: Position }[] }>('clearinghouseState', { user });
      const [only] = assetPositions;
      if (only === undefined) throw new Error('there is no position');
      return only.position;
    },
  };
}

describe('leverage and margin of a position', () => {
  it('are those of its trades, while the leverage that was set is what the next order gets', async () => {
    const bot = await newBot();
    const collateral = (await bot.collaterals()).reduce((sum, each) => sum + each, 0);
    const { leverage, marginUsed, positionValue } = await bot.position();
    expect(leverage).toMatchObject({ type: 'isolated', value: Math.round(18_000 / collateral) });
    expect(Math.abs(Number(marginUsed) - collateral)).toBeLessThan(30);
    expect(Number(positionValue)).toBeCloseTo(18_000, -2);
    expect(await bot.leverageSet()).toBe(40);
  });

  it('change where they matter: margin goes to the trade that is liquidated first, and comes from the last one', async () => {
    const bot = await newBot();
    const [before, held] = [await bot.position(), await bot.collaterals()];
    expect(await bot.changeMargin(100_000_000)).toEqual(DONE);
    const added = (await bot.collaterals()).map((collateral, at) => collateral - (held[at] ?? 0));
    expect(added[0]).toBe(0);
    expect(added[1]).toBeGreaterThan(95);
    expect(added[2]).toBe(0);
    expect(Number((await bot.position()).liquidationPx)).toBeLessThan(Number(before.liquidationPx) - 500);
    expect(await bot.changeMargin(-200_000_000)).toEqual(DONE);
    const taken = (await bot.collaterals()).map((collateral, at) => collateral - (held[at] ?? 0) - (added[at] ?? 0));
    expect(taken[0]).toBeLessThan(-190);
    expect(taken.slice(1)).toEqual([0, 0]);
  });
});

describe('the trade whose margin is changed', () => {
  const long = (liquidation: bigint, base = 1n) => ({ long: true, base, liquidation });
  const short = (liquidation: bigint, base = 1n) => ({ long: false, base, liquidation });

  it.each([
    ['of longs the highest liquidation price is the first', [long(50n), long(58n), long(0n)], 1, 2],
    ['of shorts the lowest one', [short(70n), short(62n), short(0n)], 1, 2],
    ['trades of the smaller side are left alone', [short(61n), long(50n, 3n), long(55n)], 2, 1],
    ['one trade is both', [short(61n)], 0, 0],
  ] as const)('%s', (_title, trades, first, last) => {
    expect([tradeForMargin(trades, true), tradeForMargin(trades, false)]).toEqual([trades[first], trades[last]]);
  });

  it('is none where trades cancel each other out, as clients see no position then', () => {
    expect(tradeForMargin([long(50n), short(70n)], true)).toBeUndefined();
  });
});
