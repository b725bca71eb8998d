import { l1Row, userRow, type ActionRow } from './action-row.js';
import { NO_OP_ACTIONS } from './no-ops.js';
import { REFUSED_ACTIONS } from './refusals.js';
import { isTradeType, TRADE_SCHEMAS } from './trade.js';
import { userSigned } from '../signing/user-signed.js';

const TRADE_ACTIONS: readonly ActionRow[] = Object.entries(TRADE_SCHEMAS).flatMap(([type, schema]) =>
  isTradeType(type) ? [l1Row(type, schema, { kind: 'trade', type })] : [],
);

const AGENT_ACTIONS: readonly ActionRow[] = [
  userRow(
    'approveAgent',
    userSigned('ApproveAgent', 'string hyperliquidChain', 'address agentAddress', 'string agentName', 'uint64 nonce'),
    { kind: 'approve-agent' },
  ),
];

/** Every action with a row: those that trade, those of agents, those without effect, and those that are refused with a reason. */
export const ACTIONS: ReadonlyMap<string, ActionRow> = new Map(
  [...TRADE_ACTIONS, ...AGENT_ACTIONS, ...NO_OP_ACTIONS, ...REFUSED_ACTIONS].map((row) => [row.type, row]),
);
