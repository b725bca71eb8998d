import type { Operation } from '../operation.js';
import { accountOperations } from './account.js';
import { agentOperations } from './agents.js';
import { journalOperations } from './journal.js';
import { marketOperations } from './markets.js';
import { notificationOperations } from './notifications.js';
import { orderOperations } from './orders.js';
import { orderWriteOperations } from './order-writes.js';
import { proofOperations } from './proofs.js';
import { readinessOperations } from './readiness.js';
import { systemOperations } from './system.js';

/** The registry of all operations. */
export const OPERATIONS: readonly Operation[] = [
  ...systemOperations,
  ...marketOperations,
  ...agentOperations,
  ...accountOperations,
  ...orderOperations,
  ...journalOperations,
  ...orderWriteOperations,
  ...notificationOperations,
  ...readinessOperations,
  ...proofOperations,
];
