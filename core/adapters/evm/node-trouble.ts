import type { RpcFailure } from './rpc-exchange.js';

/**
 * Cause of a JSON-RPC error. `question`: every node would return it. `elsewhere`: this node lacks what another may have. `rest`: this node
 * fails or limits us, and must rest.
 */
export const TROUBLES = ['question', 'elsewhere', 'rest'] as const;
export type Trouble = (typeof TROUBLES)[number];

const CONTRACT = /revert|invalid opcode|out of gas|stack (?:under|over)flow|invalid jump|vm execution error|write protection/i;
/** The range of logs is too long or has too many results; the caller splits it. */
const TOO_MUCH =
  /block range|range (?:is )?(?:too|limit|exceed)|too (?:many|large).*(?:results|logs|range|blocks)|more than \d+ (?:results|logs)|response size|query (?:timeout|returned)|limited to/i;
const MISSING = /header not found|unknown block|missing trie node|block not found|historical state|state .*not available|pruned/i;
const BUSY =
  /rate.?limit|too many requests|(?:request|daily|monthly).*(?:limit|quota)|exceeded.*(?:quota|capacity|limit)|compute units|unauthori[sz]ed|forbidden|api key|unavailable|overloaded|internal (?:server )?error|timed? ?out|try again/i;
/** Read-only plans, in the wording of providers. */
const UNSERVED = /not (?:available|supported|allowed|permitted|enabled|whitelisted)|method not found|does not exist|read.?only/i;

const UNSERVED_CODES: ReadonlySet<number> = new Set([-32601, -32004]);
const BUSY_CODES: ReadonlySet<number> = new Set([-32005, -32016, -32002, -32603, 429]);
const MISSING_CODES: ReadonlySet<number> = new Set([-32001]);

export function troubleOf(method: string, { code, message }: RpcFailure): Trouble {
  if (CONTRACT.test(message) || code === 3) return 'question';
  if (method === 'eth_getLogs' && TOO_MUCH.test(message)) return 'question';
  if (MISSING.test(message) || MISSING_CODES.has(code)) return 'elsewhere';
  if (BUSY.test(message)) return 'rest';
  // Nodes reject transactions with many messages and codes; only these mean that the node does not serve the method. A wrong guess is
  // harmless, because the same bytes are the same transaction on every node.
  if (method === 'eth_sendRawTransaction') return UNSERVED.test(message) || UNSERVED_CODES.has(code) ? 'elsewhere' : 'question';
  return BUSY_CODES.has(code) ? 'rest' : 'question';
}
