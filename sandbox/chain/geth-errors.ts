import { decodeErrorResult, parseAbi } from 'viem';
import type { RpcError } from './engine.js';

/** Clients recognise failures by geth's codes and texts only; the engine has its own. */

const REASONS = parseAbi(['error Error(string)', 'error Panic(uint256)']);

const PANICS: Readonly<Record<string, string>> = {
  1: 'assert(false)',
  17: 'arithmetic underflow or overflow',
  18: 'division or modulo by zero',
  33: 'enum overflow',
  34: 'invalid encoded storage byte array accessed',
  49: 'out-of-bounds array access; popping on an empty array',
  50: 'out-of-bounds access of an array or bytesN',
  65: 'out of memory',
  81: 'uninitialized function',
};

const refused = (message: string): RpcError => ({ code: -32000, message });

type Rule = readonly [pattern: RegExp, shape: (found: RegExpExecArray) => RpcError];

const RULES: readonly Rule[] = [
  [/^Method (\S+) is not supported/, ([, method]) => methodNotFound(method ?? '')],
  [/^Known transaction/, () => refused('already known')],
  [/^Replacement transaction underpriced/, () => refused('replacement transaction underpriced')],
  [
    /nonce too low\. Expected nonce to be at least (\d+) but got (\d+)/,
    ([, next, given]) => refused(`nonce too low: next nonce ${next ?? ''}, tx nonce ${given ?? ''}`),
  ],
  [
    /doesn't have enough funds to send tx\. The max upfront cost is: (\d+) and the sender's balance is: (\d+)/,
    ([, cost, balance]) => refused(overspent(BigInt(balance ?? 0), BigInt(cost ?? 0))),
  ],
  [
    /^Transaction requires at least (\d+) gas but got (\d+)/,
    ([, needed, gas]) => refused(`intrinsic gas too low: gas ${gas ?? ''}, minimum needed ${needed ?? ''}`),
  ],
  [/exceeds block gas limit/, () => refused('exceeds block gas limit')],
  [/invalid chainId\. The expected chainId is (\d+)/, ([, id]) => refused(`invalid sender: invalid chain id for signer: want ${id ?? ''}`)],
  [/^Invalid transaction type/, () => refused('transaction type not supported')],
  [
    /init code length is (\d+).*is (\d+)/,
    ([, size, limit]) => refused(`max initcode size exceeded: code size ${size ?? ''}, limit ${limit ?? ''}`),
  ],
  [/^Received invalid block tag/, () => refused('header not found')],
  [/^blockHash cannot be found/, () => refused('unknown block')],
  [/^Unknown account/, () => refused('unknown account')],
  [
    /^expected params sequence with length (\d+) but got (\d+)/,
    ([, , got]) => invalidParams(`missing value for required argument ${got ?? ''}`),
  ],
];

const HALTS: readonly (readonly [RegExp, string])[] = [
  [/ran out of gas/, 'out of gas'],
  [/invalid opcode/, 'invalid opcode: INVALID'],
  [/^InvalidJump/, 'invalid jump destination'],
  [/^StackUnderflow/, 'stack underflow'],
  [/^StackOverflow/, 'stack limit reached 1024 (1024)'],
];

export const methodNotFound = (method: string): RpcError => ({
  code: -32601,
  message: `the method ${method} does not exist/is not available`,
});

export const invalidParams = (message: string): RpcError => ({ code: -32602, message });

export const overspent = (balance: bigint, cost: bigint): string =>
  `insufficient funds for gas * price + value: balance ${balance}, tx cost ${cost}, overshot ${cost - balance}`;

export function gethError(error: RpcError): RpcError {
  const execution = executionError(error);
  if (execution !== null) return execution;
  for (const [pattern, shape] of RULES) {
    const found = pattern.exec(error.message.trim());
    if (found !== null) return shape(found);
  }
  return { code: error.code, message: error.message };
}

interface Execution {
  reason?: unknown;
  data?: unknown;
}

/** A revert carries its bytes and code 3; a halt (out of gas, bad opcode) is a plain error without data. */
function executionError(error: RpcError): RpcError | null {
  if (typeof error.data !== 'object' || error.data === null) return null;
  const { reason, data }: Execution = error.data;
  if (typeof data !== 'string' || reason === undefined) return null;
  const reverted = typeof reason === 'object' && reason !== null && 'Revert' in reason;
  if (!reverted) return refused(HALTS.find(([pattern]) => pattern.test(error.message))?.[1] ?? error.message);
  const text = revertReason(data);
  return { code: 3, message: text === null ? 'execution reverted' : `execution reverted: ${text}`, data };
}

function revertReason(data: string): string | null {
  if (!data.startsWith('0x08c379a0') && !data.startsWith('0x4e487b71')) return null;
  try {
    const { errorName, args } = decodeErrorResult({ abi: REASONS, data: data as `0x${string}` });
    if (errorName === 'Error') return args[0];
    return `panic: ${PANICS[String(args[0])] ?? 'unknown code'} (0x${args[0].toString(16)})`;
  } catch {
    return null; // a contract may revert with these four bytes and nonsense behind them
  }
}
