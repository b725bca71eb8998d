import type { OperatorRoute } from './operator-route.js';
import { STATUS_ROUTES } from './status-routes.js';

/** The table: one file per family, one line per family here. */
export const OPERATOR_ROUTES: readonly OperatorRoute[] = [...STATUS_ROUTES];
