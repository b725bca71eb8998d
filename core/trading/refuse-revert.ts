import { encodeFunctionData, parseAbi } from 'viem/utils';
import type { AgentCaller } from '../access/caller.js';
import { delegationTx, forgetDelegate } from '../access/delegation.js';
import type { Intent } from '../domain/intent.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Address, Hex } from '../types.js';
import { reclaimableAt } from './reclaim-time.js';
import type { Revert } from '../ports/simulation.js';
import { decimal, formatDecimal } from '../domain/decimal.js';
import type { Collateral } from '../domain/market.js';

/** The chain reports another delegate for the trader, so the cached one is dropped. */
export function notTheDelegate(venue: Venue, { trader, agent, sender }: AgentCaller, delegate: Address | null): GatewayError {
  forgetDelegate(venue, trader);
  return new GatewayError('AGENT_NOT_DELEGATED', { trader, agent, delegate, delegationTx: delegationTx(venue.definition, sender) });
}

/** Translates a revert of the simulated call into an API error. */
export async function refusalOf(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  { intent, inner, revert }: { readonly intent: Intent; readonly inner: Hex; readonly revert: Revert },
): Promise<GatewayError> {
  const trades = 'tradeIndex' in intent ? [intent.tradeIndex] : intent.kind === 'reduce' ? intent.parts.map((part) => part.tradeIndex) : [];
  if (revert.name === 'ConflictingPendingOrder' && trades.length > 0) return busy(gateway, venue, caller, trades);
  return wouldRevert(inner, nameOf(revert), revert.args);
}

/** `calldata` is the trader's own call: replayed from the trader's address, it fails the same way. */
export const wouldRevert = (calldata: Hex, errorName: string, args: readonly string[] = []): GatewayError =>
  new GatewayError('SIMULATION_REVERTED', { errorName, args, calldata });

/** How Diamonds answer a call of a function that they do not have. */
export const namesNoFunction = ({ name, args, data }: Revert): boolean =>
  name === 'NotFound' || data === '0x' || (name === 'Error' && /function does not exist/i.test(args[0] ?? ''));

/** An error that is not in the ABI is named by its selector. */
const nameOf = ({ name, data }: Revert): string => name ?? (data.length < 10 ? 'EmptyRevert' : data.slice(0, 10));

/** Another action on the same position waits for the oracle; if it is never answered, it must be reclaimed first. */
async function busy(gateway: Gateway, venue: Venue, { trader }: AgentCaller, trades: readonly number[]): Promise<GatewayError> {
  const live = await gateway.store.account.liveOrders(venue.definition.slug, trader);
  const oldest = live.findLast(
    ({ order }) =>
      order.tradeIndex !== null && trades.includes(order.tradeIndex) && (order.status === 'pending' || order.status === 'timed_out'),
  );
  if (!oldest) return new GatewayError('ORDER_NOT_MODIFIABLE', { id: null, status: 'pending' });
  const { id, order } = oldest;
  const at = reclaimableAt(venue, order);
  return new GatewayError('ORDER_NOT_MODIFIABLE', {
    id: id.toString(),
    status: order.status,
    ...(at === undefined ? {} : { reclaimableAt: at }),
  });
}

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
