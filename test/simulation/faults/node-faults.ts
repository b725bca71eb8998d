import type { RpcAnswer } from '../../../sandbox/chain/engine.js';
import type { Hex } from '../../../core/types.js';
import type { Random } from '../../fuzz/random.js';
import type { NodeFault } from '../venue.js';
import type { Fault } from './fault-table.js';

/** Answers of a node that is wrong, late or forgetful. */
export interface NodeFaults {
  readonly fault: NodeFault;
  begin(fault: Fault): void;
  end(fault: Fault): void;
  /** Every signed transaction that has left a replica. */
  readonly sent: ReadonlySet<Hex>;
}

type Ask = () => Promise<RpcAnswer>;

interface Parts {
  readonly random: Random;
  readonly request: (method: string, params: readonly unknown[]) => Promise<unknown>;
  /** Removes a transaction from the node's pool. */
  readonly drop: (hash: string) => Promise<unknown>;
  readonly nameOf: (fault: Fault) => string;
}

/** One promise for all runs would keep whatever has ever waited for it. */
const silence = (): Promise<RpcAnswer> => new Promise(() => undefined);
const internal: RpcAnswer = { error: { code: -32603, message: 'internal error' } };
const hex = (value: number): string => `0x${Math.max(0, value).toString(16)}`;

export function createNodeFaults({ random, request, drop, nameOf }: Parts): NodeFaults {
  const active = new Set<Fault>();
  const sent = new Set<Hex>();

  /** As a node sees the chain that is some blocks behind. */
  async function stale(behind: number, method: string, params: readonly unknown[], ask: Ask): Promise<RpcAnswer> {
    const head = Number(await request('eth_blockNumber', []));
    const seen = Math.max(0, head - behind);
    const [first, second] = params;
    if (method === 'eth_blockNumber') return { result: hex(seen) };
    if (method === 'eth_getBlockByNumber') {
      if (first === 'latest') return { result: await request(method, [hex(seen), second]) };
      return Number(first) > seen ? { result: null } : ask();
    }
    if (method === 'eth_getTransactionCount' && second === 'latest') return { result: await request(method, [first, hex(seen)]) };
    if (method === 'eth_getTransactionReceipt') {
      const answer = await ask();
      const receipt = ('result' in answer ? answer.result : null) as { blockNumber?: string } | null;
      return receipt?.blockNumber !== undefined && Number(receipt.blockNumber) > seen ? { result: null } : answer;
    }
    return ask();
  }

  async function apply(fault: Fault, method: string, params: readonly unknown[], ask: Ask): Promise<RpcAnswer> {
    const isSend = method === 'eth_sendRawTransaction';
    switch (fault.kind) {
      case 'rpc-error':
        return fault.isHarsh || random.chance(0.5) ? internal : ask();
      case 'rpc-silence':
        return fault.isHarsh || random.chance(0.4) ? silence() : ask();
      case 'rpc-stale-head':
        return stale(fault.amount, method, params, ask);
      case 'rpc-wrong-count': {
        const answer = await ask();
        if (method !== 'eth_getTransactionCount' || 'error' in answer) return answer;
        return { result: hex(Number(answer.result) + fault.amount) };
      }
      case 'rpc-forgets': {
        const answer = await ask();
        if (isSend && 'result' in answer && (fault.isHarsh || random.chance(0.5))) await drop(String(answer.result));
        return answer;
      }
      case 'rpc-answer-lost': {
        const answer = await ask();
        if (!isSend) return answer;
        return fault.isHarsh ? silence() : internal;
      }
      case 'rpc-underpriced':
        return isSend && (fault.isHarsh || random.chance(0.5))
          ? { error: { code: -32000, message: 'replacement transaction underpriced' } }
          : ask();
      case 'rpc-late-receipts':
        return method === 'eth_getTransactionReceipt' ? { result: null } : ask();
      case 'rpc-invalid':
        if (!isSend || !random.chance(fault.amount / 100)) return ask();
        // It may have passed on what it refuses.
        if (fault.isHarsh) await ask();
        return { error: { code: -32000, message: 'invalid sender' } };
      default:
        return ask();
    }
  }

  return {
    begin: (fault) => void active.add(fault),
    end: (fault) => void active.delete(fault),
    sent,
    fault(replica, method, params, ask) {
      if (method === 'eth_sendRawTransaction') sent.add(params[0] as Hex);
      const own = [...active].filter((fault) => nameOf(fault) === replica);
      return own.reduce<Ask>((inner, fault) => () => apply(fault, method, params, inner), ask)();
    },
  };
}
