import { userSigned } from '../signing/user-signed.js';
import { userRow, type ActionRow } from './action-row.js';

export const AGENT_ACTIONS: readonly ActionRow[] = [
  userRow(
    'approveAgent',
    userSigned('ApproveAgent', 'string hyperliquidChain', 'address agentAddress', 'string agentName', 'uint64 nonce'),
    { kind: 'approve-agent' },
  ),
];
