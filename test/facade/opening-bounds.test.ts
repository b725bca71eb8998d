import type { OpenIntent } from '../../core/domain/intent.js';
import { collateralForBaseSize } from '../../core/domain/pricing/size.js';
import type { Address } from '../../core/types.js';
import { isWithinSigned, namesNoOther, type OpeningFacts } from '../../facade/trade/opening-bounds.js';

const USDC = { index: 3, precision: 10n ** 6n, precisionDelta: 10n ** 12n, priceUsd: 10n ** 8n };
const CONFIGURED: Address = `0x${'ab'.repeat(20)}`;
const FOREIGN: Address = `0x${'ee'.repeat(20)}`;
const UNIT = 10n ** 18n;
const LOT = UNIT / 100n;
const at = (price: number): bigint => BigInt(price) * 10n ** 10n;

const intent = (changes: Partial<OpenIntent>): OpenIntent => ({
  ...{ kind: 'open', type: 'limit', pairIndex: 0, collateralIndex: USDC.index, long: true, leverage: 10_000n, collateralAmount: 1n },
  ...{ price: at(2_000), tp: 0n, sl: 0n, slippageP: 1_000n, ...changes },
});

const facts = (live: number | null): Pick<OpeningFacts, 'feed'> =>
  ({
    feed: { config: () => ({ collaterals: [USDC] }), lastPrice: () => (live === null ? null : { oracle: at(live) }) },
  }) as unknown as OpeningFacts;

/** In USDC: what so many units cost at a price, at 10x. */
const cost = (size: bigint, price: bigint): bigint =>
  collateralForBaseSize({ baseSize: size, price, leverage: 10_000n, collateral: USDC, rounding: 'half-up' });

describe('the most that an opening of one unit at 10x may take', () => {
  it.each<[string, boolean, number, number | null, number]>([
    ['for a buyer, of the limit', true, 2_000, 1_800, 2_000],
    ['for a buyer, of the limit, also where the price is above it', true, 2_000, 2_600, 2_000],
    ['for a buyer, of the limit, also without a price', true, 2_000, null, 2_000],
    ['for a seller, of the price above the limit', false, 2_000, 2_600, 2_600],
    ['for a seller, of the limit above the price', false, 2_000, 1_800, 2_000],
  ])('is half more than its price, and two lots: %s', (_of, isBuy, limit, live, price) => {
    const most = cost(UNIT + 2n * LOT, (at(price) * 3n) / 2n);
    const isWithin = (collateralAmount: bigint, changes: Partial<OpenIntent> = {}): boolean | null =>
      isWithinSigned(facts(live), { isBuy, limit: at(limit), size: UNIT }, intent({ collateralAmount, ...changes }), LOT);
    expect([isWithin(cost(UNIT, at(price))), isWithin(most), isWithin(most + 1n)]).toEqual([true, true, false]);
    // The same collateral at a higher leverage is a larger position.
    expect([isWithin(most / 10n, { leverage: 100_000n }), isWithin(most, { leverage: 100_000n })]).toEqual([true, false]);
  });

  it('is not known for a seller without a price, who may get any above the limit: more than the limit allows waits for one', () => {
    const isWithin = (collateralAmount: bigint): boolean | null =>
      isWithinSigned(facts(null), { isBuy: false, limit: at(2_000), size: UNIT }, intent({ collateralAmount }), LOT);
    expect(isWithin(cost(UNIT, at(2_000)))).toBe(true);
    expect(isWithin(10n ** 30n)).toBeNull();
  });

  it('is nothing in a collateral that the contract does not have', () => {
    for (const isBuy of [true, false])
      expect(isWithinSigned(facts(null), { isBuy, limit: at(2_000), size: UNIT }, intent({ collateralIndex: 4 }), LOT)).toBe(false);
  });
});

it.each<[string, Address | null, Partial<OpenIntent>, boolean]>([
  ['none, where none is configured', null, {}, true],
  ['none, although one is configured', CONFIGURED, {}, true],
  ['the configured one', CONFIGURED, { referrer: CONFIGURED }, true],
  ['another one', CONFIGURED, { referrer: FOREIGN }, false],
  ['one where none is configured', null, { referrer: FOREIGN }, false],
])('an opening that names a referrer is judged by the settings: %s', (_named, referrer, changes, isAllowed) => {
  expect(namesNoOther({ referrer }, intent(changes))).toBe(isAllowed);
});
