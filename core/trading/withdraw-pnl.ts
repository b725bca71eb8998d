import type { AgentCaller } from '../access/caller.js';
import { positionOf, type Position } from '../account/list-positions.js';
import { decimal, formatDecimal, type Decimal } from '../domain/decimal.js';
import { PriceRangeError } from '../domain/pricing/exposure.js';
import { predictWithdrawal, type WithdrawalOutcome } from '../domain/pricing/predict-withdrawal.js';
import type { Gateway, Venue } from '../gateway.js';
import { fromNode } from '../ports/chain.js';
import type { UpdateFees } from '../ports/simulation.js';
import type { ChangedPosition } from './change-leverage.js';
import { onPosition, type HeldPosition, type PositionFigures } from './find-position.js';
import { exactUnits, invalid, MAX_COLLATERAL } from './order-request.js';
import { describePlaced, placeUnnamed } from './place-order.js';
import { afterWithdrawal } from './position-after.js';
import { closingSlippage, collateralAt, positionOrder, pricedPosition, undescribed } from './position-order.js';
import { draftOf, requireClosable, type CheckedOrder } from './prepare-order.js';
import { prepareTransaction, type PreparedWrite } from './prepare-transaction.js';
import { wouldRevert } from './refuse-revert.js';

export interface WithdrawalRequest {
  /** Token units; absent = all that is available. */
  readonly amount?: Decimal | undefined;
}

/** Pays the profit of a position to the trader; size, collateral and leverage stay. The result is an ordinary order, which waits for the oracle. */
export async function withdrawPnl(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  id: string,
  request: WithdrawalRequest,
): Promise<ChangedPosition> {
  const { position, checked } = await prepareWithdrawal(gateway, venue, caller, id, request);
  const { order, transaction } = describePlaced(venue, await placeUnnamed(gateway, venue, caller, { legs: [checked] }), checked.write);
  return { position, order, transaction };
}

async function prepareWithdrawal(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  id: string,
  request: WithdrawalRequest,
): Promise<{ readonly position: Position; readonly checked: CheckedOrder }> {
  const { position, made } = await onPosition(gateway, venue, caller, id, async (figures) => {
    // Paying profit out is possible while positions may only be closed.
    requireClosable(venue, caller, figures);
    const amount = amountOf(venue, figures, request);
    // Started in the same turn of the event loop, so that both go into one RPC batch.
    const [write, fees] = await Promise.all([
      prepareTransaction(gateway, venue, caller, { intent: { kind: 'withdrawPnl', tradeIndex: figures.tradeIndex, amount }, takes: null }),
      fromNode(venue.chain.updateFees(caller.trader, figures)),
    ]);
    return { amount, write, fees };
  });
  const { amount, write, fees } = made;
  const { figures, own, place } = position;
  const outcome = foreseeWithdrawal(venue, position, { amount, fees, write });
  refuse(venue, figures, request, outcome);
  const nothingTraded = { leverage: figures.leverage, sizeCollateral: 0n, sizeToken: 0n, slippageP: closingSlippage(figures) };
  const times = { now: venue.clock.now(), expiresAt: write.transaction.expiresAt };
  const order = positionOrder(caller, figures, { action: 'withdraw', ...nothingTraded, collateralAmount: amount }, times);
  return {
    position: positionOf(venue, afterWithdrawal(own, outcome), place),
    checked: { write, draft: draftOf(gateway, venue, caller, { order, write, spend: null }) },
  };
}

/** The contract cuts an amount above the profit down to it, so the largest number means all. */
export const amountOf = (venue: Venue, figures: PositionFigures, { amount }: WithdrawalRequest): bigint =>
  amount === undefined ? MAX_COLLATERAL : exactUnits('withdrawPnl.amount', amount, collateralAt(venue, figures).decimals);

function foreseeWithdrawal(
  venue: Venue,
  position: HeldPosition,
  { amount, fees, write }: { readonly amount: bigint; readonly fees: UpdateFees | null; readonly write: PreparedWrite },
): WithdrawalOutcome {
  const priced = pricedPosition(venue, position);
  if (priced === null) throw undescribed(venue, position.figures);
  const { context, pricing } = priced;
  const terms = { ...context.terms, feeMultiplier: fees?.feeMultiplier ?? context.terms.feeMultiplier };
  try {
    return predictWithdrawal({ ...context, terms }, { ...pricing, amount, govFeeP: fees?.govFeeP ?? 0n });
  } catch (error) {
    if (error instanceof PriceRangeError) throw wouldRevert(write.inner, error.code);
    throw error;
  }
}

/** A withdrawal of nothing would be mined and cost a fee, and one of too much would pay less than was asked for. */
function refuse(venue: Venue, figures: PositionFigures, { amount }: WithdrawalRequest, { withdrawable, paid }: WithdrawalOutcome): void {
  const { decimals } = collateralAt(venue, figures);
  if (paid === 0n) throw invalid('withdrawPnl', 'finds no profit: closing the position now would pay no more than its collateral');
  if (amount !== undefined && exactUnits('withdrawPnl.amount', amount, decimals) > withdrawable)
    throw invalid('withdrawPnl.amount', `must be at most ${formatDecimal(decimal(withdrawable, decimals))}, the profit available now`);
}
