import { schema } from './0001-schema.js';
import { levelsOfOneOrder } from './0002-levels-of-one-order.js';
import { levelOwners } from './0003-level-owners.js';
import { marketMinutes } from './0004-market-minutes.js';
import { contractChanges } from './0005-contract-changes.js';
import { spendAndChanges } from './0006-spend-and-changes.js';
import { proofs } from './0007-proofs.js';
import { withdrawals } from './0008-withdrawals.js';
import { continuity } from './0009-continuity.js';
import { dataOfChanges } from './0010-data-of-changes.js';
import { netPositions } from './0011-net-positions.js';
import { actionNames } from './0012-action-names.js';
import { triggers } from './0013-triggers.js';
import type { Migration } from './migration.js';

/** In the order in which they are applied. */
export const MIGRATIONS: readonly Migration[] = [
  schema,
  levelsOfOneOrder,
  levelOwners,
  marketMinutes,
  contractChanges,
  spendAndChanges,
  proofs,
  withdrawals,
  continuity,
  dataOfChanges,
  netPositions,
  actionNames,
  triggers,
];
