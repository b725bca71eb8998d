import { BaseError, RpcRequestError, decodeErrorResult, isHex, parseAbi, size, type Abi } from 'viem';
import type { Revert } from '../../ports/simulation.js';
import type { Hex } from '../../types.js';
import { diamondAbi } from './diamond-abi.js';

/** Errors of collateral tokens, which the Diamond passes on. `Error(string)` and `Panic(uint256)` are known to viem. */
const TOKEN_ERRORS = parseAbi([
  'error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)',
  'error ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed)',
  'error ERC20InvalidSender(address sender)',
  'error ERC20InvalidReceiver(address receiver)',
  'error ERC20InvalidApprover(address approver)',
  'error ERC20InvalidSpender(address spender)',
  'error SafeERC20FailedOperation(address token)',
]);

const ERRORS: Abi = [...diamondAbi.filter(({ type }) => type === 'error'), ...TOKEN_ERRORS];

export function decodeRevert(data: Hex): Revert {
  if (size(data) < 4) return { name: null, args: [], data };
  try {
    const { errorName, args = [] } = decodeErrorResult({ abi: ERRORS, data });
    return { name: errorName, args: args.map(readable), data };
  } catch {
    return { name: null, args: [], data };
  }
}

const readable = (value: unknown): string => (typeof value === 'string' ? value : String(value));

const REVERTED = 3;
const FAILURE_MESSAGES = /revert|invalid opcode|out of gas|stack (?:under|over)flow|invalid jump|VM execution error|write protection/i;

/** The contract's revert; null when the node failed. Nodes report reverts in several forms. */
export function revertOf(error: unknown): Revert | null {
  const answer = error instanceof BaseError ? error.walk((cause) => cause instanceof RpcRequestError) : null;
  if (!(answer instanceof RpcRequestError)) return null;
  const data = revertData(answer.data);
  if (data !== null) return decodeRevert(data);
  return answer.code === REVERTED || FAILURE_MESSAGES.test(answer.details) ? { name: null, args: [], data: '0x' } : null;
}

/** `"0x…"`, `"Reverted 0x…"`, or an object around either. */
function revertData(data: unknown): Hex | null {
  if (typeof data === 'object' && data !== null && 'data' in data) return revertData(data.data);
  if (typeof data !== 'string') return null;
  const text = data.replace(/^Reverted /, '');
  return isHex(text) && text.length % 2 === 0 ? text : null;
}
