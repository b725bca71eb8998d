import type { ClientReport } from './compat.js';

/** Written by `npm run compat` from what the client tests did; never by hand. */
export const COMPAT_REPORT: readonly ClientReport[] = [];
