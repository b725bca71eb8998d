import { decodeFunctionData, type Hex } from 'viem';
import { diamondAbi } from '../../../core/adapters/evm/diamond-abi.js';
import { startFaultyNode } from './faulty-node.js';

export interface RpcCall {
  readonly id: number;
  readonly method: string;
  readonly params?: readonly unknown[];
}
export type Twist = (call: RpcCall, answer: Record<string, unknown>) => Record<string, unknown>;

/** The node behind `target`, but for what the twist makes of its answers: `afterEach(closeFaultyNodes)`. */
export async function startTamperingProxy(target: string, twist: Twist): Promise<string> {
  const { url } = await startFaultyNode((_request, response, body) => {
    const calls = [JSON.parse(body) as RpcCall | RpcCall[]].flat();
    const forward = async (): Promise<void> => {
      const reply = await fetch(target, { method: 'POST', body, headers: { 'Content-Type': 'application/json' } });
      const answers = [(await reply.json()) as Record<string, unknown> | Record<string, unknown>[]].flat();
      const twisted = answers.map((answer) => {
        const call = calls.find(({ id }) => id === answer['id']);
        return call === undefined ? answer : twist(call, answer);
      });
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify(body.trimStart().startsWith('[') ? twisted : twisted[0]));
    };
    forward().catch(() => response.destroy());
  });
  return url;
}

const calldata = ({ method, params }: RpcCall): Hex | null =>
  method === 'eth_call' ? ((params?.[0] as { readonly data?: Hex } | undefined)?.data ?? null) : null;
/** Whether this is a call of the Diamond's function. */
export const asks = (call: RpcCall, name: string): boolean => {
  const data = calldata(call);
  if (data === null) return false;
  try {
    return decodeFunctionData({ abi: diamondAbi, data }).functionName === name;
  } catch {
    return false;
  }
};
