import { divideInteger } from '../decimal.js';
import type { PairInCollateral, PricePoint, Sides } from '../market.js';
import type { CollateralUnits, MarketView } from './market-view.js';
import { absolute, E18, E8, HUNDRED_PERCENT, MAX_PRICE, maximum, minimum, P10 } from './units.js';

type ExposureMarket = Pick<MarketView, 'state' | 'collateral'>;

/** Open interest of a borrowing group, 1e10 collateral; `max` 0 = no limit. */
export interface GroupOpenInterest extends Sides {
  readonly max: bigint;
}

const ofSide = (sides: Sides, long: boolean): bigint => (long ? sides.long : sides.short);

/** A 1e10 collateral figure in token units. */
const fromP10 = (value: bigint, collateral: CollateralUnits): bigint => (value * collateral.precision) / P10;

/** From token units, as the contract returns them, rounded up so that no free exposure is overstated. */
const toP10 = (units: bigint, { precision }: Pick<CollateralUnits, 'precision'>): bigint => divideInteger(units * P10, precision, 'up');

/** `getPairOisBeforeV10Collateral` has the collateral's precision, the backend's figure and every cap have 1e10. */
export const beforeV10InP10 = ({ long, short }: Sides, collateral: Pick<CollateralUnits, 'precision'>): Sides => ({
  long: toP10(long, collateral),
  short: toP10(short, collateral),
});

/** Token units: tokens at the current price, plus open interest from before v10. */
export function dynamicOpenInterest(
  { state, collateral }: ExposureMarket,
  side: { readonly long: boolean; readonly price: bigint },
): bigint {
  const before = fromP10(ofSide(state.oiBeforeV10, side.long), collateral);
  return before + (ofSide(state.oiToken, side.long) * side.price) / P10 / collateral.precisionDelta;
}

export const maxOpenInterest = ({ state, collateral }: ExposureMarket): bigint => fromP10(state.maxOi, collateral);

/** 1e10 collateral, signed. */
const skewCollateral = ({ state }: Pick<ExposureMarket, 'state'>, price: bigint): bigint => (netSkew(state.oiToken) * price) / E18;

/** A skew above the limit may only shrink, and not past the limit on the other side. */
export function isWithinSkewLimits(input: { readonly current: bigint; readonly next: bigint; readonly max: bigint }): boolean {
  const { current, next, max } = input;
  if (max === 0n || absolute(next) <= max) return true;
  return current >= 0n ? next < current && -next <= max : next > current && next <= max;
}

export interface ExposureInput {
  readonly market: ExposureMarket;
  readonly long: boolean;
  readonly positionSizeCollateral: bigint;
  readonly price: bigint;
  /** null where no borrowing group limits the pair. */
  readonly groupOi?: GroupOpenInterest | null;
}

function isWithinGroup({ market, long, positionSizeCollateral, groupOi }: ExposureInput): boolean {
  if (!groupOi || groupOi.max === 0n) return true;
  return ofSide(groupOi, long) + (positionSizeCollateral * P10) / market.collateral.precision <= groupOi.max;
}

const skewDelta = ({ market, positionSizeCollateral }: ExposureInput): bigint =>
  (positionSizeCollateral * market.collateral.precisionDelta) / E8;

export function isWithinExposureLimits(input: ExposureInput): boolean {
  const { market, long, price } = input;
  if (dynamicOpenInterest(market, { long, price }) + input.positionSizeCollateral > maxOpenInterest(market)) return false;
  if (!isWithinGroup(input)) return false;
  const current = skewCollateral(market, price);
  const next = long ? current + skewDelta(input) : current - skewDelta(input);
  return isWithinSkewLimits({ current, next, max: market.state.maxSkewCollateral });
}

/** The largest c with c × factor / divisor ≤ limit under truncation; 0 when the limit is negative. */
const largestWithin = (limit: bigint, factor: bigint, divisor: bigint): bigint =>
  limit < 0n ? 0n : ((limit + 1n) * divisor - 1n) / factor;

/** The largest position (collateral units) that `isWithinExposureLimits` accepts on a side. */
export function exposureRoom(input: Omit<ExposureInput, 'positionSizeCollateral'>): bigint {
  const { market, long, price, groupOi } = input;
  const { precision, precisionDelta } = market.collateral;
  const limits = [maxOpenInterest(market) - dynamicOpenInterest(market, { long, price })];
  if (groupOi && groupOi.max > 0n) limits.push(largestWithin(groupOi.max - ofSide(groupOi, long), P10, precision));
  const max = market.state.maxSkewCollateral;
  if (max > 0n) {
    const current = skewCollateral(market, price);
    limits.push(largestWithin(long ? max - current : max + current, precisionDelta, E8));
  }
  return maximum(limits.reduce(minimum), 0n);
}

/**
 * A counter trade must reduce the skew; null if it does not. Otherwise the part of the position (collateral units) that would
 * push the skew past zero and is therefore cut off.
 */
export function counterTradeExcess(
  market: Pick<MarketView, 'state' | 'collateral'>,
  order: { readonly long: boolean; readonly positionSizeCollateral: bigint; readonly price: bigint },
): bigint | null {
  const skew = (skewCollateral(market, order.price) * E8) / market.collateral.precisionDelta;
  if (skew === 0n || skew > 0n === order.long) return null;
  return maximum(order.positionSizeCollateral - absolute(skew), 0n);
}

type SkewState = Pick<PairInCollateral, 'oiToken' | 'skewDepth'>;

/** Longs minus shorts. */
export const netSkew = (sides: Sides): bigint => sides.long - sides.short;

/** Signed (1e10 percent): the skew impact on a trade, including half of its own size. */
export function skewImpactP(input: { readonly state: SkewState; readonly sizeToken: bigint; readonly up: boolean }): bigint {
  const { oiToken, skewDepth } = input.state;
  if (skewDepth === 0n) return 0n;
  const ownHalf = (input.up ? input.sizeToken : -input.sizeToken) / 2n;
  return ((netSkew(oiToken) + ownHalf) * P10) / skewDepth / 2n;
}

/** The oracle price shifted by the current skew. Triggers compare with it; liquidation compares with the oracle price. */
export const marketPrice = (state: SkewState, oraclePrice: bigint): bigint =>
  priceAfterImpact(oraclePrice, skewImpactP({ state, sizeToken: 0n, up: true }));

/**
 * The mark of a trade or order in one collateral. The contract shifts the oracle's price by the skew of that collateral, while the feed's mark
 * has the skew of the reference collateral and is used only where the own one is unknown. Where the skew gives no valid price, the oracle's
 * is used.
 */
export function markIn(state: SkewState | null | undefined, { mark, oracle }: Pick<PricePoint, 'mark' | 'oracle'>): bigint {
  if (!state) return mark;
  try {
    return marketPrice(state, oracle);
  } catch (error) {
    if (error instanceof PriceRangeError) return oracle;
    throw error;
  }
}

type PriceRangeCode = 'BelowMin' | 'AboveMax';

/** The contract reverts with this error, because no valid price exists. */
export class PriceRangeError extends RangeError {
  override readonly name = 'PriceRangeError';
  readonly code: PriceRangeCode;

  constructor(code: PriceRangeCode) {
    super(code === 'BelowMin' ? 'the impact leaves no positive price' : 'the price after impact does not fit the contract');
    this.code = code;
  }
}

export function priceAfterImpact(oraclePrice: bigint, impactP: bigint): bigint {
  const price = oraclePrice + (oraclePrice * impactP) / HUNDRED_PERCENT;
  if (price <= 0n) throw new PriceRangeError('BelowMin');
  if (price > MAX_PRICE) throw new PriceRangeError('AboveMax');
  return price;
}
