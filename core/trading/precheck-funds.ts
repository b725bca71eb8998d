import { encodeFunctionData, parseAbi } from 'viem/utils';
import type { AgentCaller } from '../access/caller.js';
import { decimal, formatDecimal } from '../domain/decimal.js';
import type { Collateral } from '../domain/market.js';
import { GatewayError } from '../errors.js';
import type { Venue } from '../gateway.js';
import type { Address, Hex } from '../types.js';

const APPROVE = parseAbi(['function approve(address spender, uint256 amount)']);

interface Funds {
  readonly collateral: Collateral;
  readonly amount: bigint;
  readonly balance: bigint;
  readonly allowance: bigint;
  readonly inner: Hex;
}

/**
 * Tokens report missing balance or allowance with different errors, some with none. This gives the same error for all tokens, with the
 * figures and, where an approval is missing, the approval transaction.
 */
export function refuseShortage(venue: Venue, { trader }: AgentCaller, funds: Funds): void {
  const { amount, balance, allowance } = funds;
  if (balance < amount || allowance < amount) throw shortage(venue, trader, funds);
}

export function shortage({ definition }: Venue, trader: Address, funds: Funds): GatewayError {
  const { collateral, amount, balance, allowance, inner } = funds;
  const text = (units: bigint): string => formatDecimal(decimal(units, collateral.decimals));
  const figures = { collateral: collateral.symbol, required: text(amount), balance: text(balance), allowance: text(allowance) };
  const numbers = (have: bigint): string[] => [have.toString(), amount.toString()];
  if (balance < amount)
    return new GatewayError('SIMULATION_REVERTED', {
      errorName: 'ERC20InsufficientBalance',
      args: [trader, ...numbers(balance)],
      calldata: inner,
      funds: figures,
    });
  const data = encodeFunctionData({ abi: APPROVE, functionName: 'approve', args: [definition.diamond, amount] });
  return new GatewayError('SIMULATION_REVERTED', {
    errorName: 'ERC20InsufficientAllowance',
    args: [definition.diamond, ...numbers(allowance)],
    calldata: inner,
    funds: figures,
    approvalTx: { to: collateral.address, data, chainId: definition.chainId },
  });
}
