import fc from 'fast-check';
import { diamondAbi } from '../../../core/adapters/evm/diamond-abi.js';
import { parseDecimal, toUnits } from '../../../core/domain/decimal.js';
import { positionSizeToken } from '../../../core/domain/pricing/size.js';
import type { ChainControls } from '../../../sandbox/controls.js';
import { SANDBOX_MARKETS } from '../../../sandbox/markets.js';
import { newTrader, type ChainTrader } from '../../harness/traders/chain-trader.js';
import { eventually } from '../../harness/time/eventually.js';
import type { Reply, TestVenue } from '../../harness/venue/own-venue.js';
import { sharedVenue } from '../../harness/venue/shared-venue.js';

const BASE = '/v1/arbitrum-sepolia/markets';
let sandbox: TestVenue;
beforeAll(async () => (sandbox = await sharedVenue()));
afterAll(() => sandbox.stop());

type Body = Record<string, unknown>;
const get = (path: string): Promise<Reply> => sandbox.get(`${BASE}${path}`);
const body = async (path: string): Promise<Body> => (await get(path)).body as Body;
const outcome = async (path: string): Promise<[number, unknown]> => {
  const { status, body: answer } = await get(path);
  return [status, (answer as Body)['code']];
};
function chain(): ChainControls {
  const [first] = sandbox.controls.chains;
  if (!first) throw new Error('the sandbox has no chain');
  return first;
}

describe('one market', () => {
  it('is what the list says of it', async () => {
    const listed = ((await body('')) as { data: Body[] }).data.find(({ symbol }) => symbol === 'TSLA/USD');
    const one = { ...(await body('/TSLA-USD')), funding: expect.any(Object) };
    expect(listed).toEqual(one);
    expect(one).toMatchObject({ symbol: 'TSLA/USD', base: 'TSLA', quote: 'USD', group: 'stocks', maxLeverage: '4', onlyIsolated: true });
  });

  it('answers to every spelling of its symbol', async () => {
    const symbols = SANDBOX_MARKETS.flatMap((market) => (market ? [`${market.from}/${market.to}`] : []));
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...symbols),
        fc.infiniteStream(fc.boolean()),
        fc.constantFrom('-', '%2F', '%2f'),
        async (symbol, upper, joint) => {
          const written = symbol
            .split(/(?:)/)
            .map((letter) => (letter === '/' ? joint : upper.next().value ? letter : letter.toLowerCase()))
            .join('');
          expect(await body(`/${written}`)).toMatchObject({ symbol });
        },
      ),
      { numRuns: 40 },
    );
  });

  it.each(['/NOPE-USD', '/BTC-EUR', '/BTC%2FEUR', '/NOPE-USD/book', '/NOPE-USD/candles', '/NOPE-USD/trades', '/NOPE-USD/funding'])(
    '%s is unknown',
    async (path) => {
      const { status, body: answer } = await get(path);
      expect([status, answer]).toEqual([
        404,
        expect.objectContaining({ code: 'MARKET_NOT_FOUND', details: { market: expect.any(String) } }),
      ]);
    },
  );

  it.each([
    '/BTCUSD',
    '/BTC_USD',
    '/B%C4%B0TC-USD',
    '/%F0%9F%9A%80-USD',
    '/-USD',
    '/BTC-',
    `/${'A'.repeat(16)}-USD`,
    '/BTC%2F%2FUSD',
    '/__proto__',
    '/BTC-USD%00',
  ])('%s is no symbol', async (path) => {
    const { status, body: answer } = await get(path);
    expect([status, answer]).toEqual([
      400,
      expect.objectContaining({ code: 'VALIDATION_ERROR', details: { issues: [expect.objectContaining({ path: 'symbol' })] } }),
    ]);
  });

  it('does not exist on a chain that is not served', async () => {
    expect((await sandbox.get('/v1/base/markets/BTC-USD')).body).toMatchObject({ code: 'CHAIN_NOT_FOUND' });
  });
});

describe('funding', () => {
  it('has every figure as a canonical decimal', async () => {
    const answer = await body('/ETH-USD/funding');
    expect(Object.keys(answer).sort()).toEqual(
      [
        'borrowingRateHourly',
        'fundingRateLongHourly',
        'fundingRateShortHourly',
        'market',
        'openInterestLongUsd',
        'openInterestShortUsd',
        'skewUsd',
      ].sort(),
    );
    expect(answer['market']).toBe('ETH/USD');
    for (const [key, value] of Object.entries(answer)) if (key !== 'market') expect(value).toMatch(/^-?(?:0|[1-9]\d*)(?:\.\d*[1-9])?$/);
    expect(answer['borrowingRateHourly']).toMatch(/^0\.00[01]/);
  });

  it('follows open interest', async () => {
    const trader = await newTrader(chain());
    await trader.open(
      { pairIndex: 4, long: false, leverage: 5_000, openPrice: 14n * 10n ** 10n, collateralAmount: 1_000n * 10n ** 6n },
      20_000,
    );
    await trader.event('MarketExecuted');
    const funding = await eventually(
      () => body('/LINK-USD/funding'),
      (answer) => Number(answer['openInterestShortUsd']) > 4_000,
    );
    expect(Number(funding['skewUsd'])).toBeLessThan(-4_000);
  });
});

interface Level {
  readonly price: string;
  readonly size: string;
  readonly sizeUsd: string;
  readonly cumulativeUsd: string;
}
interface Book {
  readonly market: string;
  readonly markPrice: string;
  readonly bids: readonly Level[];
  readonly asks: readonly Level[];
  readonly timestamp: number;
}

describe('the order book', () => {
  const book = async (query = '', symbol = 'BTC-USD') => (await body(`/${symbol}/book${query}`)) as unknown as Book;

  it.each([
    ['', 20],
    ['?levels=1', 1],
    ['?levels=20', 20],
  ])('with %s has %i levels a side at most', async (query, most) => {
    // No other test trades it: open positions take up the nearest levels.
    const { asks, bids, market } = await book(query, 'DOGE-USD');
    expect(market).toBe('DOGE/USD');
    expect([asks.length, bids.length]).toEqual([most, most]);
  });

  it.each([
    'levels=0',
    'levels=31',
    'levels=-1',
    'levels=1.5',
    'levels=',
    'levels=abc',
    'levels=1e1',
    'levels=1&levels=2',
    'depth=5',
    'levels=99999999999999999999',
  ])('refuses ?%s', async (query) => expect(await outcome(`/BTC-USD/book?${query}`)).toEqual([400, 'VALIDATION_ERROR']));

  it('is best first, adds up, and has the price of now between its sides', async () => {
    const { asks, bids, markPrice } = await book('?levels=30', 'SOL-USD');
    for (const [levels, sign] of [
      [asks, 1],
      [bids, -1],
    ] as const) {
      const prices = levels.map(({ price }) => Number(price) * sign);
      expect(prices).toEqual([...prices].sort((a, b) => a - b));
      const sums = levels.map((_, at) => levels.slice(0, at + 1).reduce((sum, { sizeUsd }) => sum + units(sizeUsd), 0n));
      expect(levels.map(({ cumulativeUsd }) => units(cumulativeUsd))).toEqual(sums);
    }
    expect(Number(bids[0]?.price)).toBeLessThan(Number(markPrice));
    expect(Number(asks[0]?.price)).toBeGreaterThan(Number(markPrice));
  });

  it('has prices that an order may have', async () => {
    const { pricePrecision } = (await get('/SOL-USD')).body as { pricePrecision: number };
    const { asks, bids } = await book('?levels=30', 'SOL-USD');
    const decimals = [...asks, ...bids].map(({ price }) => (price.split('.')[1] ?? '').length);
    expect(Math.max(...decimals)).toBeLessThanOrEqual(pricePrecision);
  });

  it('averages, weighted by USD, to the execution price of the contract at every level', async () => {
    const oracle = 61_234_500_000_000n * 10n;
    await sandbox.post('/sandbox/price', { market: 'BTC/USD', price: '61234.5' });
    const trader = await newTrader(chain(), { usdc: '20000' });
    await trader.open({ pairIndex: 0, long: true, leverage: 50_000, openPrice: oracle, collateralAmount: 10_000n * 10n ** 6n }, 50_000);
    await trader.event('MarketExecuted');
    const compare = async (): Promise<{ ours: bigint[]; contract: bigint[] }> => {
      const { asks, bids } = await book('?levels=30');
      const at = [0, 2, 6, 12];
      const sides = await Promise.all(
        [asks, bids].flatMap((levels, side) =>
          at.map((edge) => executed(trader, oracle, side === 0, units(levels[edge]?.cumulativeUsd ?? '0'))),
        ),
      );
      return {
        ours: [asks, bids].flatMap((levels, side) => at.map((edge) => average(levels.slice(0, edge + 1), side === 0))),
        contract: sides,
      };
    };
    // Every level is rounded away from the middle to the last digit of a price, and never towards it.
    const isWorse = (ours: bigint, contract: bigint, at: number): boolean => {
      const worse = at < 4 ? ours - contract : contract - ours;
      return worse === 0n || worse === 1n;
    };
    const areEqual = ({ ours, contract }: Awaited<ReturnType<typeof compare>>): boolean =>
      ours.every((price, at) => isWorse(price, contract[at] ?? 0n, at));
    // The volume of the opening counts until its window ends, and the book includes it a moment after the contract.
    const { ours } = await eventually(compare, areEqual);
    expect(new Set(ours).size).toBe(8);
  });

  const units = (text: string): bigint => toUnits(parseDecimal(text), 18, 'down');

  /** 1e10, over the rounding each side names. */
  function average(levels: readonly Level[], isAsk: boolean): bigint {
    const cost = levels.reduce((sum, { price, sizeUsd }) => sum + toUnits(parseDecimal(price), 22, 'down') * units(sizeUsd), 0n);
    const scale = levels.reduce((sum, { sizeUsd }) => sum + units(sizeUsd), 0n) * 10n ** 12n;
    return isAsk ? cost / scale : (cost + scale - 1n) / scale;
  }

  /** What the contract's own views make of an opening of this size. */
  async function executed({ client, account }: ChainTrader, oracle: bigint, long: boolean, usd: bigint): Promise<bigint> {
    const diamond = { address: chain().definition.diamond, abi: diamondAbi } as const;
    const collateralIndex = chain().collaterals.find(({ symbol }) => symbol === 'USDC')?.index ?? 0;
    const [spread, volume, pricedAt] = await Promise.all([
      client.readContract({ ...diamond, functionName: 'pairSpreadP', args: [account.address, 0n] }),
      client.readContract({
        ...diamond,
        functionName: 'getTradeCumulVolPriceImpactP',
        args: [account.address, 0, long, usd, false, true, 0n],
      }),
      client.readContract({ ...diamond, functionName: 'getCollateralPriceUsd', args: [collateralIndex] }),
    ]);
    const positionSizeCollateral = await client.readContract({
      ...diamond,
      functionName: 'getCollateralFromUsdNormalizedValue',
      args: [collateralIndex, usd],
    });
    const before = (long ? spread / 2n : -(spread / 2n)) + volume;
    const sizeToken = positionSizeToken({
      positionSizeCollateral,
      price: oracle + (oracle * before) / 10n ** 12n,
      collateral: { precision: 10n ** 6n, precisionDelta: 10n ** 12n, priceUsd: pricedAt },
    });
    const skew = await client.readContract({
      ...diamond,
      functionName: 'getTradeSkewPriceImpactP',
      args: [collateralIndex, 0, long, sizeToken, true],
    });
    return oracle + (oracle * (before + skew)) / 10n ** 12n;
  }
});

describe('recent trades', () => {
  const trades = async (query = '', symbol = 'ETH-USD') => ((await body(`/${symbol}/trades${query}`)) as { data: Body[] }).data;

  it('are none where nothing was traded', async () => expect(await trades('', 'XAG-USD')).toEqual([]));

  it('show an opening and a close a moment after they were executed, newest first', async () => {
    await sandbox.post('/sandbox/price', { market: 'ETH/USD', price: '3000' });
    const before = await trades('?limit=500');
    const trader = await newTrader(chain());
    await trader.open(
      { pairIndex: 1, long: true, leverage: 10_000, openPrice: 3_000n * 10n ** 10n, collateralAmount: 500n * 10n ** 6n },
      20_000,
    );
    await trader.event('MarketExecuted');
    const [opened] = await eventually(
      () => trades('?limit=500'),
      (all) => all.length === before.length + 1,
    );
    expect(opened).toMatchObject({ market: 'ETH/USD', side: 'long', action: 'open', txHash: expect.stringMatching(/^0x[0-9a-f]{64}$/) });
    expect(Number(opened?.['sizeUsd'])).toBeGreaterThan(4_900);
    expect(Number(opened?.['price'])).toBeGreaterThan(3_000);
    const [position] = await trader.trades();
    await trader.close(position?.index ?? -1, 3_000n * 10n ** 10n);
    const [closed, next] = await eventually(
      () => trades('?limit=500'),
      (all) => all.length === before.length + 2,
    );
    expect(closed).toMatchObject({ action: 'close', txHash: expect.not.stringMatching(String(opened?.['txHash'])) });
    expect(next).toEqual(opened);
    expect(await trades('?limit=1')).toEqual([closed]);
  });

  it.each(['limit=0', 'limit=501', 'limit=x', 'limit=', 'limit=-1', 'limit=1&limit=2', 'count=1'])('refuse ?%s', async (query) => {
    expect(await outcome(`/ETH-USD/trades?${query}`)).toEqual([400, 'VALIDATION_ERROR']);
  });

  it('may be asked for by five hundred', async () => expect((await get('/ETH-USD/trades?limit=500')).status).toBe(200));
});
