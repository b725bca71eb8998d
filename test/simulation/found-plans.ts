import type { Cutting } from './plan.js';

/** Runs that showed a defect once, each cut to what it needs. `npm run simulate` prints the row of a new one. */
export const FOUND_PLANS: readonly (Cutting & { readonly because: string })[] = [
  // A node that finds every transaction underpriced: the fee was raised to the cap, far beyond the day's budget.
  { because: 'the budget of a wallet holds', rules: 1, runMs: 30_000, seed: 5_499, faults: [1], actions: [20] },
  // Reorganisations in which changes of levels revert and are mined again: their orders were shown as canceled.
  { because: 'every level is listed under its order', rules: 4, seed: 2_001_023, faults: [4, 5], actions: [15, 18] },
  // Openings that are checked at the same time: each was compared with the budget before any of them was reserved.
  { because: 'the budget of a wallet holds', rules: 3, seed: 2_300_050, faults: [0, 1], actions: [0, 1, 2, 7, 10] },
  // A bot's stop loss that is mined after the one of the trader's wallet, but was asked for before it: their times were compared.
  { because: 'every level is listed under its order', rules: 4, seed: 3_100_086, faults: [], actions: [10, 13, 14] },
  // On another branch a trade and an order that rests change their numbers: the stop loss that came with one of them was no longer found.
  { because: 'every level is listed under its order', rules: 5, seed: 4_000_045, faults: [4], actions: [5, 6, 7, 11] },
];
