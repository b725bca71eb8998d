import type { Operation } from '../operation.js';
import { accountOperations, journalOperations, notificationOperations, readinessOperations } from './account.js';
import { agentOperations } from './agents.js';
import { marketOperations } from './markets.js';
import { orderOperations, orderWriteOperations, proofOperations } from './orders.js';
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
