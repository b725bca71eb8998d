import type { FeeGroup, Group, Collateral, PairInCollateral } from '../../domain/market.js';
import { columnsOf, pairInCollateral } from './collateral-wire.js';
import { rows } from './pair-wire.js';
import type { Problems } from './problems.js';
import { naturals } from './struct.js';
import { field, flag, isObject, natural, position, symbol } from './wire.js';
import { wireUnits } from './wire-number.js';

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
