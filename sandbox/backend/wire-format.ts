import { decimal, formatDecimal } from '../../core/domain/decimal.js';

/** Production's format of contract values: integers as decimal strings, human values as JSON numbers. */

export type WireValue = string | number | boolean | null | readonly WireValue[] | { readonly [key: string]: WireValue };

/** Exact up to 15 significant digits: the number whose text is the decimal. */
export const humanNumber = (units: bigint, scale: number): number => Number(formatDecimal(decimal(units, scale)));

/** A struct of the contract with every number as text; storage padding is left out. */
export function structText(value: unknown): WireValue {
  if (typeof value === 'bigint' || typeof value === 'number') return value.toString();
  if (Array.isArray(value)) return value.map(structText);
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(
      Object.entries(value)
        .filter(([key]) => key !== '__placeholder')
        .map(([key, field]) => [key, structText(field)]),
    );
  return typeof value === 'boolean' || typeof value === 'string' ? value : null;
}

export const texts = (values: readonly unknown[]): WireValue[] => values.map(structText);
