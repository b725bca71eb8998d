import type { Cutting } from './plan.js';

/** Runs that showed a defect once, each cut to what it needs. `npm run simulate` prints the row of a new one. */
export const FOUND_PLANS: readonly (Cutting & { readonly because: string })[] = [];
