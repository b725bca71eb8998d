import type { BorrowingState, Collateral, FeeGroup, FundingParams, FundingState, Group, PairInCollateral } from '../../domain/market.js';
import { field, flag, integer, isObject, natural, naturals, position, slot, struct, symbol, wireUnits, type Problems } from './wire.js';
import { rows } from './pair-wire.js';

export type MutableCollateral = Omit<Collateral, 'pairs'> & { readonly pairs: (PairInCollateral | null)[] };

const feeRow = naturals('totalPositionSizeFeeP', 'totalLiqCollateralFeeP', 'oraclePositionSizeFeeP', 'minPositionSizeUsd');
const leverages = naturals('minLeverage', 'maxLeverage');

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
const isAddress = (value: unknown): value is `0x${string}` => typeof value === 'string' && ADDRESS.test(value);

/** The position is the index; a malformed row is null and disables the pairs that refer to it. */
export function readGroups(value: unknown, problems: Problems): (Group | null)[] {
  return rows(value, 'groups').map((cell, index) => {
    const [name, limits] = [symbol(field(cell, 'name')), isObject(cell) ? leverages(cell) : null];
    if (name !== null && limits !== null) return { index, name, ...limits };
    problems.note(`groups[${index}]`);
    return null;
  });
}

export function readFees(value: unknown, problems: Problems): (FeeGroup | null)[] {
  return rows(value, 'fees').map((cell, index) => {
    const row = isObject(cell) ? feeRow(cell) : null;
    if (row !== null) return { index, ...row };
    problems.note(`fees[${index}]`);
    return null;
  });
}

/** A malformed collateral is skipped: collaterals have their own index. */
export function readCollaterals(value: unknown, problems: Problems): MutableCollateral[] {
  return rows(value, 'collaterals').flatMap((cell, at) => {
    const collateral = readCollateral(cell, at, problems);
    if (collateral !== null) return [collateral];
    problems.note(`collaterals[${at}]`);
    return [];
  });
}

function readCollateral(cell: unknown, at: number, problems: Problems): MutableCollateral | null {
  const index = position(field(cell, 'collateralIndex'));
  const [name, address] = [symbol(field(cell, 'symbol')), field(cell, 'collateral')];
  const [isActive, config] = [flag(field(cell, 'isActive')), field(cell, 'collateralConfig')];
  const decimals = position(field(config, 'decimals'));
  const [precision, precisionDelta] = [natural(field(config, 'precision')), natural(field(config, 'precisionDelta'))];
  const priceUsd = wireUnits(field(field(cell, 'prices'), 'collateralPriceUsd'), 8);
  if (index === null || index === 0 || name === null || !isAddress(address) || isActive === null) return null;
  if (decimals === null || decimals > 18 || !precision || !precisionDelta || priceUsd === null || priceUsd <= 0n) return null;
  return { index, symbol: name, address, isActive, decimals, precision, precisionDelta, priceUsd, pairs: pairsOf(cell, at, problems) };
}

function pairsOf(cell: unknown, at: number, problems: Problems): MutableCollateral['pairs'] {
  const columns = columnsOf(cell);
  const count = Array.isArray(columns.ois) ? rows(columns.ois, 'pairOis').length : 0;
  return Array.from({ length: count }, (_, index) => {
    const read = pairInCollateral(columns, index);
    if (read !== 'malformed') return read;
    problems.note(`collaterals[${at}] of pair ${index}`);
    return null;
  });
}

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

function columnsOf(collateral: unknown): Columns {
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
function pairInCollateral(columns: Columns, index: number): PairInCollateral | 'malformed' | null {
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
