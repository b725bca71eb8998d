import type { RpcFailure } from './rpc-exchange.js';

/**
 * What an error inside an answer is about. `question`: every node would say it. `elsewhere`: this node lacks what another may have.
 * `rest`: this node is in trouble or has had enough of us.
 */
export const TROUBLES = ['question', 'elsewhere', 'rest'] as const;
export type Trouble = (typeof TROUBLES)[number];

const CONTRACT = /revert|invalid opcode|out of gas|stack (?:under|over)flow|invalid jump|vm execution error|write protection/i;
/** A range of logs that is too long or holds too much is asked for again in pieces, by whoever asked. */
const TOO_MUCH =
  /block range|range (?:is )?(?:too|limit|exceed)|too (?:many|large).*(?:results|logs|range|blocks)|more than \d+ (?:results|logs)|response size|query (?:timeout|returned)|limited to/i;
const MISSING = /header not found|unknown block|missing trie node|block not found|historical state|state .*not available|pruned/i;
const BUSY =
  /rate.?limit|too many requests|(?:request|daily|monthly).*(?:limit|quota)|exceeded.*(?:quota|capacity|limit)|compute units|unauthori[sz]ed|forbidden|api key|unavailable|overloaded|internal (?:server )?error|timed? ?out|try again/i;
/** A plan that reads only, in the words of those who sell it. */
const UNSERVED = /not (?:available|supported|allowed|permitted|enabled|whitelisted)|method not found|does not exist|read.?only/i;

const UNSERVED_CODES: ReadonlySet<number> = new Set([-32601, -32004]);
const BUSY_CODES: ReadonlySet<number> = new Set([-32005, -32016, -32002, -32603, 429]);
const MISSING_CODES: ReadonlySet<number> = new Set([-32001]);

export function troubleOf(method: string, { code, message }: RpcFailure): Trouble {
  if (CONTRACT.test(message) || code === 3) return 'question';
  if (method === 'eth_getLogs' && TOO_MUCH.test(message)) return 'question';
  if (MISSING.test(message) || MISSING_CODES.has(code)) return 'elsewhere';
  if (BUSY.test(message)) return 'rest';
  // A transaction is refused in many words and under any code; these are the only ones that are not about it. Where they are after all,
  // nothing is lost: the same bytes are the same transaction everywhere.
  if (method === 'eth_sendRawTransaction') return UNSERVED.test(message) || UNSERVED_CODES.has(code) ? 'elsewhere' : 'question';
  return BUSY_CODES.has(code) ? 'rest' : 'question';
}
