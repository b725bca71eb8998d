import type { Universe } from '../universe.js';
import { ZERO_TEXT } from '../format.js';

interface MarginTable {
  readonly description: string;
  readonly marginTiers: readonly { readonly lowerBound: string; readonly maxLeverage: number }[];
}

export interface Meta {
  readonly universe: readonly {
    readonly szDecimals: number;
    readonly name: string;
    readonly maxLeverage: number;
    readonly marginTableId: number;
    readonly isDelisted?: true;
  }[];
  readonly marginTables: readonly (readonly [number, MarginTable])[];
  readonly collateralToken: 0;
}

export const EMPTY_META: Meta = { universe: [], marginTables: [], collateralToken: 0 };

/** Margin does not depend on size here: a table has one tier, and its id is that tier's leverage. */
const flatTable = (maxLeverage: number): MarginTable => ({ description: '', marginTiers: [{ lowerBound: ZERO_TEXT, maxLeverage }] });

/** `onlyIsolated` is left out on purpose: clients that trade with cross margin would refuse the market. */
export const metaOf = ({ assets }: Universe): Meta => ({
  universe: assets.map(({ coin, szDecimals, maxLeverage, isDelisted }) => ({
    szDecimals,
    name: coin,
    maxLeverage,
    marginTableId: maxLeverage,
    ...(isDelisted ? { isDelisted } : {}),
  })),
  marginTables: leverages(assets).map((maxLeverage) => [maxLeverage, flatTable(maxLeverage)]),
  collateralToken: 0,
});

const leverages = (assets: Universe['assets']): number[] =>
  [...new Set(assets.map(({ maxLeverage }) => maxLeverage))].sort((a, b) => a - b);

/** By convention every id below fifty is a flat table, listed or not. */
const CONVENTIONAL_TABLES = 50;

export const marginTable = ({ assets }: Universe, id: number): MarginTable | null =>
  (id > 0 && id < CONVENTIONAL_TABLES) || leverages(assets).includes(id) ? flatTable(id) : null;
