import { zeroAddress, type Hex } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { RevertedError, controlCall, diamondCall, packed, price, trade } from '../../harness/diamond/diamond-calls.js';
import { FUNDING_OFF, setMarket } from '../../harness/diamond/diamond-markets.js';
import { OPERATOR, account, closeWorlds, createDiamondWorld, type DiamondWorld, type Id } from '../../harness/diamond/bare-diamond.js';

/** Small and seeded: the same walk every time, so that a failure can be looked at again. */
function createDice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
}

const ACTIONS = 60;

const USDC = { symbol: 'USDC', collateralIndex: 3, unit: 10n ** 6n } as const;
const DAI = { symbol: 'DAI', collateralIndex: 1, unit: 10n ** 18n } as const;
type Money = typeof USDC | typeof DAI;

afterEach(closeWorlds);

const WALKS: [number, Money][] = [
  [42, DAI],
  [11, USDC],
  [77, USDC],
];

/** `npm run test:slow` takes all of them. */
describe.each(process.env['SLOW_TESTS'] === '1' ? WALKS : WALKS.slice(0, 1))(
  'after any walk of trading, answering, rejecting and triggering (seed %d, $symbol)',
  (seed, money: Money) => {
    it('no token is lost, counters count what is open, and open interest is the sum of the trades', async () => {
      const world = await createDiamondWorld();
      const funding = {
        ...FUNDING_OFF,
        skewCoefficientPerYear: 10n ** 24n,
        absoluteVelocityPerYearCap: 1_000_000,
        absoluteRatePerSecondCap: 31_709,
        fundingFeesEnabled: true,
        aprMultiplierEnabled: true,
      };
      await setMarket(world, {
        collateralIndex: money.collateralIndex,
        skewDepth: 2000n * 10n ** 18n,
        funding,
        borrowingRatePerSecondP: 2777,
      });
      const traders = [account(1), account(2), account(3)];
      for (const trader of traders) await world.fund(trader, { [money.symbol]: 50_000n * money.unit });
      const supply = await total(world, traders, money);
      const executed = await walk(world, traders, createDice(seed), money);
      expect(executed).toBeGreaterThan(ACTIONS / 2);
      expect(await total(world, traders, money)).toBe(supply);
      await checkBooks(world, traders, money);
    });
  },
);

async function total(world: DiamondWorld, traders: readonly PrivateKeyAccount[], { symbol }: Money): Promise<bigint> {
  const balances = await Promise.all(
    [world.diamond, ...traders.map(({ address }) => address)].map((owner) => world.balanceOf(symbol, owner)),
  );
  return balances.reduce((sum, balance) => sum + balance, 0n);
}

/** Refusals are part of the walk; anything else is a failure. */
async function walk(
  world: DiamondWorld,
  traders: readonly PrivateKeyAccount[],
  roll: (sides: number) => number,
  money: Money,
): Promise<number> {
  let oracle = 60_000;
  let executed = 0;
  for (let step = 0; step < ACTIONS; step++) {
    oracle = Math.round(oracle * (1 + (roll(41) - 20) / 1000));
    const trader = traders[roll(traders.length)] ?? traders[0];
    if (!trader) throw new Error('no trader');
    await world.mine(roll(900));
    try {
      await world.send(...(await next(world, trader, roll, oracle, money)));
      executed += 1;
    } catch (error) {
      if (!(error instanceof RevertedError)) throw error;
      expect(['Panic', 'empty']).not.toContain(error.errorName);
    }
    await answerPending(world, traders, roll, oracle);
  }
  return executed;
}

async function next(
  world: DiamondWorld,
  trader: PrivateKeyAccount,
  roll: (sides: number) => number,
  oracle: number,
  { collateralIndex, unit }: Money,
): Promise<[PrivateKeyAccount, Hex]> {
  const open = await world.read('getTrades', [trader.address]);
  const picked = open[roll(Math.max(1, open.length))];
  const expected = price(oracle);
  if (!picked || open.length < 2) {
    const tradeType = roll(3);
    const changes = {
      collateralIndex,
      long: roll(2) === 0,
      tradeType,
      leverage: 2000 + roll(60_000),
      collateralAmount: BigInt(10 + roll(500)) * unit,
      openPrice: price(oracle + (tradeType === 0 ? 0 : roll(400) - 200)),
    };
    return [trader, diamondCall('openTrade', [trade(changes), 3000, zeroAddress])];
  }
  const { index, collateralAmount, leverage } = picked;
  if (picked.tradeType !== 0) {
    const candle = [expected, price(oracle + 300), price(oracle - 300), expected] as const;
    if (roll(3) > 0) return [OPERATOR, controlCall('sandboxTrigger', [packed(picked.tradeType + 1, trader.address, index), ...candle])];
    return [trader, diamondCall('cancelOpenOrder', [index])];
  }
  const moves: Hex[] = [
    diamondCall('closeTradeMarket', [index, expected]),
    diamondCall('increasePositionSize', [index, BigInt(5 + roll(100)) * unit, 1000 + roll(30_000), expected, 3000]),
    diamondCall('increasePositionSize', [index, 0n, 1 + roll(5000), expected, 3000]),
    diamondCall('decreasePositionSize', [index, collateralAmount / BigInt(2 + roll(4)), 0, expected]),
    diamondCall('decreasePositionSize', [index, 0n, Math.floor(leverage / (2 + roll(4))), expected]),
    diamondCall('updateLeverage', [index, 1000 + roll(60_000)]),
    diamondCall('withdrawPositivePnl', [index, BigInt(1 + roll(50)) * unit]),
    diamondCall('updateSl', [index, price(oracle * 0.97)]),
  ];
  if (roll(6) === 0)
    return [OPERATOR, controlCall('sandboxTrigger', [packed(6, trader.address, index), expected, expected, expected, expected])];
  return [trader, moves[roll(moves.length)] ?? moves[0] ?? '0x'];
}

async function answerPending(
  world: DiamondWorld,
  traders: readonly PrivateKeyAccount[],
  roll: (sides: number) => number,
  oracle: number,
): Promise<void> {
  for (const { address } of traders) {
    for (const { user, index } of await world.read('getPendingOrders', [address])) {
      const id: Id = { user, index };
      if (roll(8) === 0) await world.reject(id, 3);
      else await world.fulfil(id, price(oracle * (1 + (roll(11) - 5) / 1000)));
    }
  }
}

async function checkBooks(world: DiamondWorld, traders: readonly PrivateKeyAccount[], { collateralIndex }: Money): Promise<void> {
  const sums = { oiLongToken: 0n, oiShortToken: 0n };
  for (const { address } of traders) {
    const open = await world.read('getTrades', [address]);
    const counter = await world.read('getCounters', [address, 0]);
    expect(counter.openCount).toBe(open.length);
    expect(await world.read('getTradeInfos', [address])).toHaveLength(open.length);
    expect((await world.read('getCounters', [address, 1])).openCount).toBe(0);
    for (const { long, positionSizeToken, tradeType } of open) {
      if (tradeType !== 0) continue;
      sums[long ? 'oiLongToken' : 'oiShortToken'] += positionSizeToken;
    }
  }
  expect(await world.read('getPairOiAfterV10Token', [collateralIndex, 0])).toEqual(sums);
}
