import type { BorrowingState, FundingParams, FundingState, PairInCollateral } from '../../domain/market.js';
import { naturals, struct } from './struct.js';
import { field, flag, integer, natural, slot } from './wire.js';

/** Data of one pair in one collateral, from seven parallel arrays of different lengths. */

const oiBeforeV10 = naturals('long', 'short', 'max');
const oiCollateral = naturals('oiLongCollateral', 'oiShortCollateral');
const oiToken = naturals('oiLongToken', 'oiShortToken');
const globalParams = naturals('maxSkewCollateral');
const borrowingParams = naturals('borrowingRatePerSecondP');
const borrowingData = naturals('accBorrowingFeeP', 'lastBorrowingUpdateTs');
const fundingParams = struct({
  skewCoefficientPerYear: natural,
  absoluteVelocityPerYearCap: natural,
  absoluteRatePerSecondCap: natural,
  thetaThresholdUsd: natural,
  fundingFeesEnabled: flag,
  aprMultiplierEnabled: flag,
});
const fundingData = struct({
  accFundingFeeLongP: integer,
  accFundingFeeShortP: integer,
  lastFundingRatePerSecondP: integer,
  lastFundingUpdateTs: natural,
});

export type OpenInterest = Pick<PairInCollateral, 'maxOi' | 'oiBeforeV10' | 'oiCollateral' | 'oiToken'>;

/** The same object is used in `pairOis[]` and in the open-interest event. */
export function openInterest(value: unknown): OpenInterest | null {
  const before = oiBeforeV10(field(value, 'beforeV10'));
  const collateral = oiCollateral(field(value, 'collateral'));
  const token = oiToken(field(value, 'token'));
  if (!before || !collateral || !token) return null;
  return {
    maxOi: before.max,
    oiBeforeV10: { long: before.long, short: before.short },
    oiCollateral: { long: collateral.oiLongCollateral, short: collateral.oiShortCollateral },
    oiToken: { long: token.oiLongToken, short: token.oiShortToken },
  };
}

export const fundingState = (value: unknown): FundingState | null => fundingData(value);

export type BorrowingAccumulator = Omit<BorrowingState, 'borrowingRatePerSecondP'>;
export const borrowingAccumulator = (value: unknown): BorrowingAccumulator | null => borrowingData(value);

interface Columns {
  readonly ois: unknown;
  readonly skewDepths: unknown;
  readonly global: unknown;
  readonly fundingParams: unknown;
  readonly fundingData: unknown;
  readonly borrowingParams: unknown;
  readonly borrowingData: unknown;
}

export function columnsOf(collateral: unknown): Columns {
  const funding = field(collateral, 'fundingFees');
  const borrowing = field(field(collateral, 'borrowingFees'), 'v2');
  return {
    ois: field(collateral, 'pairOis'),
    skewDepths: field(collateral, 'pairSkewDepths'),
    global: field(funding, 'pairGlobalParams'),
    fundingParams: field(funding, 'pairParams'),
    fundingData: field(funding, 'pairData'),
    borrowingParams: field(borrowing, 'pairParams'),
    borrowingData: field(borrowing, 'pairData'),
  };
}

/** Null when the collateral has no open-interest row for the pair, 'malformed' when the row cannot be parsed. */
export function pairInCollateral(columns: Columns, index: number): PairInCollateral | 'malformed' | null {
  const oiRow = slot(columns.ois, index);
  if (oiRow === undefined || oiRow === null) return null;
  const oi = openInterest(oiRow);
  const skewDepth = natural(slot(columns.skewDepths, index) ?? 0);
  const global = globalParams(slot(columns.global, index));
  const params: FundingParams | null = fundingParams(slot(columns.fundingParams, index));
  const funding = fundingData(slot(columns.fundingData, index));
  const rate = borrowingParams(slot(columns.borrowingParams, index));
  const accumulated = borrowingData(slot(columns.borrowingData, index));
  if (!oi || skewDepth === null || !global || !params || !funding || !rate || !accumulated) return 'malformed';
  return {
    ...oi,
    skewDepth,
    maxSkewCollateral: global.maxSkewCollateral,
    fundingParams: params,
    funding,
    borrowing: { ...rate, ...accumulated },
  };
}
