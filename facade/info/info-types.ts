import { ACCOUNT_TYPES } from './account-types.js';
import { CONSTANT_TYPES } from './constant-types.js';
import { FILL_TYPES } from './fill-types.js';
import type { InfoType } from './info-type.js';
import { MARKET_TYPES } from './market-types.js';
import { ORDER_TYPES } from './order-types.js';

/** All supported info requests. */
export const INFO_TYPES: ReadonlyMap<string, InfoType> = new Map(
  [...MARKET_TYPES, ...ACCOUNT_TYPES, ...ORDER_TYPES, ...FILL_TYPES, ...CONSTANT_TYPES].map((row) => [row.type, row]),
);
