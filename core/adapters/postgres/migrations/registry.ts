import { deployment } from './0001-deployment.js';
import { access } from './0002-access.js';
import { admission } from './0003-admission.js';
import { candles } from './0004-candles.js';
import { tracking } from './0005-tracking.js';
import { notifications } from './0006-notifications.js';
import { orders } from './0007-orders.js';
import { journal } from './0008-journal.js';
import { signers } from './0009-signers.js';
import { relay } from './0010-relay.js';
import { facadeReads } from './0011-facade-reads.js';
import { exchange } from './0012-exchange.js';
import { funding } from './0013-funding.js';
import { relayOrders } from './0014-relay-orders.js';
import { spendingOfOrders } from './0015-spending-of-orders.js';
import { operatorEyes } from './0016-operator-eyes.js';
import { relayRules } from './0017-relay-rules.js';
import { switches } from './0018-switches.js';
import { lanes } from './0019-lanes.js';
import { owedRooms } from './0022-owed-rooms.js';
import { timedOutOrders } from './0023-timed-out-orders.js';
import { dueAndRefused } from './0024-due-and-refused.js';
import { busyOrders } from './0025-busy-orders.js';
import { openCancels } from './0027-open-cancels.js';
import { toldOrders } from './0028-told-orders.js';
import { unminedOpenings } from './0030-unmined-openings.js';
import { dailyBudgets } from './0031-daily-budgets.js';
import { reclaimTries } from './0032-reclaim-tries.js';
import { agentApprovals } from './0033-agent-approvals.js';
import { nonceFloors } from './0035-nonce-floors.js';
import { agentUse } from './0036-agent-use.js';
import { entryPrices } from './0042-entry-prices.js';
import { answeredOrders } from './0043-answered-orders.js';
import { childrenOfOrders } from './0044-children-of-orders.js';
import { referrals } from './0046-referrals.js';
import { unsentGrowth } from './0047-unsent-growth.js';
import { balanceHours } from './0048-balance-hours.js';
import type { Migration } from './migration.js';

/** In the order in which they are applied. */
export const MIGRATIONS: readonly Migration[] = [
  deployment,
  access,
  admission,
  candles,
  tracking,
  notifications,
  orders,
  journal,
  signers,
  relay,
  facadeReads,
  exchange,
  funding,
  relayOrders,
  spendingOfOrders,
  operatorEyes,
  relayRules,
  switches,
  lanes,
  owedRooms,
  timedOutOrders,
  dueAndRefused,
  busyOrders,
  openCancels,
  toldOrders,
  unminedOpenings,
  dailyBudgets,
  reclaimTries,
  agentApprovals,
  nonceFloors,
  agentUse,
  entryPrices,
  answeredOrders,
  childrenOfOrders,
  referrals,
  unsentGrowth,
  balanceHours,
];
