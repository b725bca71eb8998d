import { listPositions } from '../../core/account/list-positions.js';
import { decimal, formatDecimal, type Decimal } from '../../core/domain/decimal.js';
import { GatewayError } from '../../core/errors.js';
import { venueOf, type Venue } from '../../core/gateway.js';
import { priceAccount, readAccount } from '../../facade/info/account-state.js';
import { hlInfo } from '../harness/hyperliquid/info.js';
import { price } from '../harness/diamond/diamond-calls.js';
import { eventually } from '../harness/time/eventually.js';
import { done, newAgentTrader, prepared, refusal, type AgentTrader } from '../harness/traders/agent-trader.js';
import { createShiftedClock } from '../harness/time/shifted-clock.js';
import { startSecondGateway } from '../harness/venue/second-gateway.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { operatorOf, type Operator } from '../harness/venue/operator.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';

/** AVAX has a skew depth in both collaterals, and here the shorts in DAI outweigh the longs: its market price is lower in DAI alone. */

const AVAX = 3;
const ORACLE = price(25);
const SHORTS = 600_000n * 10n ** 18n;
const NONE = { oiLongCollateral: 0n, oiShortCollateral: 0n };
const ORDER = { market: 'AVAX/USD', side: 'long', type: 'market', size: '100', leverage: '50', collateral: 'DAI' };

let sandbox: TestVenue;
let operator: Operator;
let agent: AgentTrader;
let mark: bigint;

const skewDai = (oiShortToken: bigint): Promise<void> =>
  operator.control('sandboxSetOpenInterest', [operator.collateral('DAI'), AVAX, { oiLongToken: 0n, oiShortToken }, NONE]);
const text = (units: bigint): string => formatDecimal(decimal(units, 10));
const quoted = async (): Promise<Record<string, unknown>> =>
  (await sandbox.post('/v1/arbitrum-sepolia/quote', ORDER)).body as Record<string, unknown>;

beforeAll(async () => {
  sandbox = await sharedVenue();
  operator = operatorOf(firstChain(sandbox));
  sandbox.controls.prices.jump(AVAX, '25');
  agent = await newAgentTrader(sandbox, firstChain(sandbox), { dai: '10000' });
  await skewDai(SHORTS);
  mark = await operator.marketPrice(operator.collateral('DAI'), AVAX, ORACLE);
});
afterAll(async () => {
  await skewDai(0n);
  await sandbox.stop();
});

describe('an order in a collateral that is skewed while another is not', () => {
  it('expects the market price of its own collateral, is sized at it, and keeps take profits on its side', async () => {
    expect(text(mark)).toBe('24.95');
    const quote = await eventually(quoted, ({ price: expected }) => expected === '24.95');
    expect(quote).toMatchObject({ size: '100', collateralNeeded: '49.9', price: '24.95' });
    expect(await quotedIn('USDC')).toMatchObject({ price: '25' });
    // Between both marks: ahead of a long in DAI, behind one in USDC.
    expect((await agent.create({ ...ORDER, tp: '24.98' })).status).toBe(201);
  });

  it('is shown, closed and protected as a position at that price', async () => {
    await agent.place(ORDER, 'filled');
    const position = await agent.position();
    const id = String(position['id']);
    const now = await operator.marketPrice(operator.collateral('DAI'), AVAX, ORACLE);
    expect(position).toMatchObject({ collateralSymbol: 'DAI', markPrice: text(now) });
    const [entry, size, collateral] = ['entryPrice', 'size', 'collateral'].map((field) => Number(position[field]));
    const fee = (collateral ?? 0) * 50 * 0.0006;
    const gross = ((Number(text(now)) - (entry ?? 0)) / (entry ?? 1)) * (collateral ?? 0) * 50;
    expect(Number(position['unrealizedPnl'])).toBeCloseTo(gross - fee, 1);
    // A position is shown by the contract's own figures; orders expect what the feed has received.
    await eventually(quoted, ({ price: expected }) => expected === text(now));
    expect(prepared(await agent.close(id)).data).toContain(now.toString(16).padStart(64, '0'));
    expect(refusal(await agent.adjust(id, { tp: '24.94' }))).toEqual([400, 'VALIDATION_ERROR']);
    expect(done(await agent.adjust(id, { tp: '24.98' })).transaction).not.toBeNull();

    const { assetPositions } = await hlInfo(sandbox).ask<{ assetPositions: { position: { positionValue: string; szi: string } }[] }>(
      'clearinghouseState',
      { user: agent.trader.account.address },
    );
    expect(Number(assetPositions[0]?.position.positionValue)).toBeCloseTo(Number(text(now)) * (size ?? 0), 2);
  });
});

describe('a position in a collateral that is switched off', () => {
  const none = (): never => {
    throw new GatewayError('NOT_READY', { reason: 'there never was a price' });
  };
  const shown = async (venue: Venue, gateway = sandbox.gateway): Promise<Record<string, unknown>[]> => {
    const trader = agent.trader.account.address.toLowerCase() as `0x${string}`;
    return (await listPositions(gateway, venue, trader)).map((position) =>
      Object.fromEntries(
        Object.entries<Decimal | string | number>({ ...position }).map(([key, value]) => [
          key,
          typeof value === 'object' ? formatDecimal(value) : value,
        ]),
      ),
    );
  };
  const own = (): Venue => venueOf(sandbox.gateway, 'arbitrum-sepolia');
  const setDai = (isActive: boolean): Promise<void> =>
    operator.control('sandboxSetCollateral', [operator.collateral('DAI'), isActive, 10n ** 8n]);

  beforeAll(async () => {
    await agent.place({ ...ORDER, collateral: 'USDC', size: '50' }, 'filled');
    await setDai(false);
  });
  afterAll(() => setDai(true));

  it('is listed without the backend, beside the others and at its own mark', async () => {
    const clock = createShiftedClock();
    const beside = await startSecondGateway(sandbox, { clock, hosts: { backendUrl: 'http://127.0.0.1:9' } });
    try {
      clock.move(16_000);
      const venue = venueOf(beside.gateway, 'arbitrum-sepolia');
      await eventually(
        () => venue.feed.status(),
        ({ ready, configFrom }) => ready && configFrom === 'chain',
      );
      const now = await operator.marketPrice(operator.collateral('DAI'), AVAX, ORACLE);
      const listed = await eventually(
        () => shown(venue, beside.gateway),
        (found) => found.every(({ markSource }) => markSource === 'live'),
      );
      expect(listed).toMatchObject([
        { collateralSymbol: 'DAI', collateral: '49.9', markPrice: text(now) },
        { collateralSymbol: 'USDC', markSource: 'live' },
      ]);
      for (const { liquidationPrice } of listed) expect(Number(liquidationPrice)).toBeGreaterThan(20);
    } finally {
      await beside.stop();
    }
  });

  it('is listed with what the contract says of it where nothing describes its collateral', async () => {
    const venue = own();
    const { collaterals, ...config } = venue.feed.config();
    const undescribed = { ...config, collaterals: collaterals.filter(({ symbol }) => symbol !== 'DAI') };
    const bare = { ...venue, feed: { ...venue.feed, config: () => undescribed } };
    const [full] = await shown(venue);
    const [position, other] = await shown(bare);
    expect(position).toMatchObject({
      ...{ collateralSymbol: `#${operator.collateral('DAI')}`, markPrice: other?.['markPrice'], liquidationPrice: '0' },
      ...{ size: full?.['size'], collateral: full?.['collateral'], leverage: '50' },
    });
    expect(other).toMatchObject({ collateralSymbol: 'USDC' });
    const account = await readAccount(sandbox.gateway, bare, agent.trader.account.address);
    expect(priceAccount(bare, account).trades.map(({ base }) => Number(base / 10n ** 18n))).toEqual([
      Math.trunc(Number(full?.['size'])),
      Math.trunc(Number(other?.['size'])),
    ]);
  });

  it('says that its mark is the entry price where there never was another', async () => {
    const venue = own();
    const feed = { ...venue.feed, prices: () => new Map(), lastPrice: () => null, price: none };
    for (const position of await shown({ ...venue, feed }))
      expect(position).toMatchObject({
        markSource: 'entry',
        markPrice: position['entryPrice'],
        unrealizedPnl: '0',
        unrealizedPnlPercent: '0',
      });
    const stale = { ...venue.feed, price: none };
    expect(await shown({ ...venue, feed: stale })).toMatchObject([{ markSource: 'last' }, { markSource: 'last' }]);
  });
});

describe('an account', () => {
  it('is read although one of its tokens does not answer', async () => {
    const { chain } = venueOf(sandbox.gateway, 'arbitrum-sepolia');
    const usdc = firstChain(sandbox).collaterals.find(({ symbol }) => symbol === 'USDC')?.address ?? '0x';
    const { tokens } = await chain.accountFacts(agent.trader.account.address, ['0x000000000000000000000000000000000000dEaD', usdc]);
    expect(tokens).toEqual([null, { balance: expect.any(BigInt) as bigint, allowance: expect.any(BigInt) as bigint }]);
  });
});

async function quotedIn(collateral: string): Promise<unknown> {
  return (await sandbox.post('/v1/arbitrum-sepolia/quote', { ...ORDER, collateral })).body;
}
