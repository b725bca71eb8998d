import { l1Row, type ActionRow } from './action-row.js';
import { AGENT_ACTIONS } from './agents.js';
import { NO_OP_ACTIONS } from './no-ops.js';
import { REFUSED_ACTIONS } from './refusals.js';
import { isTradeType, TRADE_SCHEMAS } from './trade.js';

const TRADE_ACTIONS: readonly ActionRow[] = Object.entries(TRADE_SCHEMAS).flatMap(([type, schema]) =>
  isTradeType(type) ? [l1Row(type, schema, { kind: 'trade', type })] : [],
);

/** Every action with a row: those that trade, those of agents, those without effect, and those that are refused with a reason. */
export const ACTIONS: ReadonlyMap<string, ActionRow> = new Map(
  [...TRADE_ACTIONS, ...AGENT_ACTIONS, ...NO_OP_ACTIONS, ...REFUSED_ACTIONS].map((row) => [row.type, row]),
);
