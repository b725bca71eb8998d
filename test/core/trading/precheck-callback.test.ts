import type { Opening } from '../../../core/trading/order-request.js';
import { predictCallback, viewAt } from '../../../core/trading/precheck-callback.js';
import type { OpeningFacts } from '../../../core/ports/simulation.js';
import { exposureRoom, markIn } from '../../../core/domain/pricing/exposure.js';
import { E18 } from '../../../core/domain/pricing/units.js';
import type { Venue } from '../../../core/gateway.js';
import { createManualClock } from '../../harness/time/manual-clock.js';
import { currentWindow, goldenMarket, MOMENT, price, usd, USDC, usdc, withWindows } from '../domain/pricing/fixture.js';

const DAI = { precision: E18, precisionDelta: 1n, priceUsd: 10n ** 8n };
const ORACLE = price(60_000);
const SKEWED = { ...goldenMarket.state, skewDepth: 2_000n * E18 };

const facts = (oi: OpeningFacts['oi']): OpeningFacts => ({
  fixedSpreadP: 0n,
  cumulVolPriceImpactMultiplier: 0n,
  isWithinGroupOi: true,
  oi,
});
const opening = (collateral: typeof USDC): Pick<Opening, 'view' | 'collateral'> => ({
  view: { ...goldenMarket, collateral, state: SKEWED },
  collateral: collateral as Opening['collateral'],
});

describe('the market that an opening is checked against', () => {
  it('is the feed’s where the chain does not say', () => {
    const asked = opening(USDC);
    expect(viewAt(asked, null)).toBe(asked.view);
    expect(viewAt(asked, facts(null))).toBe(asked.view);
  });

  it.each([
    ['USDC', USDC, 10n ** 12n],
    ['DAI', DAI, 10n ** 24n],
  ])('has the open interest of the block: a million %s from before v10 leave a million less to open', (_, collateral, million) => {
    const none = { long: 0n, short: 0n };
    const spare = (oiBeforeV10: { long: bigint; short: bigint }): bigint =>
      exposureRoom({ market: viewAt(opening(collateral), facts({ oiToken: none, oiBeforeV10 })), long: true, price: ORACLE });
    expect(spare(none) - spare({ long: million, short: 0n })).toBe(million);
    expect(spare({ long: 0n, short: million })).toBe(spare(none));
  });

  it('has the skew of the block, which moves the mark', () => {
    const { state } = viewAt(opening(USDC), facts({ oiToken: { long: 800n * E18, short: 0n }, oiBeforeV10: { long: 0n, short: 0n } }));
    expect(markIn(state, { mark: 1n, oracle: ORACLE })).toBe(price(60_120));
    expect(markIn(null, { mark: 1n, oracle: ORACLE })).toBe(1n);
    // A skew that leaves no price the contract could hold.
    const upside = { ...state, oiToken: { long: 0n, short: 10n ** 30n } };
    expect(markIn(upside, { mark: 1n, oracle: ORACLE })).toBe(ORACLE);
  });
});

describe('the moment that an opening is checked at', () => {
  const nowMs = Number(MOMENT.timestamp) * 1000;
  const terms = {
    type: 'market',
    long: true,
    leverage: 10_000n,
    collateralAmount: usdc(100),
    price: ORACLE,
    tp: 0n,
    sl: 0n,
    slippageP: 1000n,
  };
  const busy = { ...opening(USDC), view: withWindows(goldenMarket, [currentWindow({ up: usd(1_000_000) })]), terms } as unknown as Opening;
  const impactAt = (ms: number, head: unknown): bigint => {
    const feed = { session: () => 'open', price: () => ({ oracle: ORACLE }) };
    const venue = { state: { head }, clock: createManualClock(ms), feed } as unknown as Venue;
    return predictCallback(venue, busy, { facts: null }).impact.volumeImpactP;
  };
  const headAt = (timestamp: bigint, seenAt: number) => ({ block: { timestamp, number: 1n }, seenAt });
  /** The windows of the last four minutes count. */
  const [counted, forgotten] = [impactAt(nowMs, null), impactAt(nowMs + 240_000, null)];

  it('is that of the clock while no block is known', () => {
    expect(counted).toBeGreaterThan(forgotten);
    expect([impactAt(nowMs + 239_999, null), impactAt(nowMs - 60_000, null)]).toEqual([counted, forgotten]);
  });

  it('is that of the newest block and what has passed since', () => {
    const before = MOMENT.timestamp - 60n;
    expect(impactAt(0, headAt(before, 0))).toBe(forgotten);
    expect([impactAt(60_000, headAt(before, 0)), impactAt(299_999, headAt(before, 0))]).toEqual([counted, counted]);
    expect(impactAt(300_000, headAt(before, 0))).toBe(forgotten);
    expect(impactAt(0, headAt(MOMENT.timestamp, 5_000))).toBe(counted); // the clock was set back
  });
});
