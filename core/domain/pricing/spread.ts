import type { Pair } from '../market.js';
import type { TraderTerms } from './market-view.js';
import { pushesUp } from './units.js';

/** The trader's own part is stored with three decimals of percent, the pair's with ten. */
const USER_SPREAD_TO_P = 10n ** 7n;

/** 1e10 percent, both sides together. */
export const pairSpreadP = (pair: Pick<Pair, 'spreadP'>, terms: Pick<TraderTerms, 'fixedSpreadP'>): bigint =>
  pair.spreadP + terms.fixedSpreadP * USER_SPREAD_TO_P;

/** Half of the spread, signed by the direction the trade pushes. */
export function fixedSpreadP(input: { readonly spreadP: bigint; readonly long: boolean; readonly open: boolean }): bigint {
  const half = input.spreadP / 2n;
  return pushesUp(input) ? half : -half;
}
