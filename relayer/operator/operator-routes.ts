import { ALERT_ROUTES } from './alert-routes.js';
import { COST_ROUTES } from './cost-routes.js';
import type { OperatorRoute } from './operator-route.js';
import { RULES_ROUTES } from './rules-routes.js';
import { HISTORY_ROUTES } from './history-routes.js';
import { QUOTA_ROUTES } from './quota-routes.js';
import { DRILL_ROUTES } from './drill-routes.js';
import { ROTATION_ROUTES } from './rotation-routes.js';
import { STATUS_ROUTES } from './status-routes.js';
import { SWITCH_ROUTES } from './switch-routes.js';

/** All operator routes: one file and one line per family. */
export const OPERATOR_ROUTES: readonly OperatorRoute[] = [
  ...STATUS_ROUTES,
  ...HISTORY_ROUTES,
  ...COST_ROUTES,
  ...ALERT_ROUTES,
  ...RULES_ROUTES,
  ...QUOTA_ROUTES,
  ...SWITCH_ROUTES,
  ...DRILL_ROUTES,
  ...ROTATION_ROUTES,
];
