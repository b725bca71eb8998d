import type { Opening } from '../../../core/trading/order-request.js';
import { viewAt } from '../../../core/trading/precheck-callback.js';
import type { OpeningFacts } from '../../../core/ports/simulation.js';
import { exposureRoom, markIn } from '../../../core/domain/pricing/exposure.js';
import { E18 } from '../../../core/domain/pricing/units.js';
import { goldenMarket, price, USDC } from '../domain/pricing/fixture.js';

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
