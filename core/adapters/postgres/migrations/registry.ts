import { baseline } from './0001-baseline.js';
import type { Migration } from './migration.js';

/** In the order in which they are applied. */
export const MIGRATIONS: readonly Migration[] = [baseline];
