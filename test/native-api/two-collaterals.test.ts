import { decimal, formatDecimal } from '../../core/domain/decimal.js';
import { hlInfo } from '../harness/hyperliquid/info.js';
import { price } from '../harness/diamond/diamond-calls.js';
import { eventually } from '../harness/time/eventually.js';
import { done, newAgentTrader, prepared, refusal, type AgentTrader } from '../harness/traders/agent-trader.js';
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
  operator = operatorOf(sandbox);
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

async function quotedIn(collateral: string): Promise<unknown> {
  return (await sandbox.post('/v1/arbitrum-sepolia/quote', { ...ORDER, collateral })).body;
}
