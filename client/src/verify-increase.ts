import type { UpdatePositionRequest } from './api.js';
import type { CollateralOnChain, StoredTrade } from './chain-reader.js';
import type { Call } from './decode-calls.js';
import { requireSame, VerificationError } from './errors.js';
import {
  DEFAULT_ORDER_SLIPPAGE,
  leverageUnits,
  priceUnits,
  referencePrice,
  requireNear,
  requireOwnBound,
  requirePrice,
  requireSize,
  slippageUnits,
  toleranceOf,
  units,
  type Context,
} from './verify-context.js';

type Increase = NonNullable<UpdatePositionRequest['increase']>;
type Withdrawal = NonNullable<UpdatePositionRequest['withdrawPnl']>;
type IncreaseCall = Extract<Call, { functionName: 'increasePositionSize' }>;
type WithdrawalCall = Extract<Call, { functionName: 'withdrawPositivePnl' }>;

/** A position and what it is held in, as the chain has them. */
interface Held {
  readonly market: string;
  readonly trade: StoredTrade;
  readonly collateral: CollateralOnChain;
}

/** As an opening: the chain does not have the price that the size is worth, so the caller's own bound decides what may be taken. */
export async function verifyIncrease(
  context: Context,
  asked: Increase,
  { market, trade, collateral }: Held,
  { args }: IncreaseCall,
): Promise<void> {
  requireOwnBound({ type: 'market', price: asked.price }, context.limits);
  const [, taken, leverage, expected, slippageP] = args;
  requireLeverage(asked, trade, leverage);
  const wanted = asked.slippage === undefined ? DEFAULT_ORDER_SLIPPAGE : slippageUnits(asked.slippage);
  requireSame('SLIPPAGE', 'the slippage is another, in thousandths of a percent', wanted, slippageP);
  if (asked.price !== undefined) requirePrice('PRICE', 'the price is another', priceUnits('price', asked.price), expected);
  const reference = await referencePrice(context, market, asked.price);
  if (asked.price === undefined) requireNear(context, 'the expected price is too far from the market', reference, expected);
  // Without collateral the contract adds the leverage to that of the whole position.
  if (taken === 0n) throw new VerificationError('SIZE', 'the transaction adds leverage and no collateral');
  const collateralUsd = await context.reader.collateralPriceUsd(collateral.index);
  const sized = { size: asked.size, price: reference, leverage: BigInt(leverage), collateral, collateralUsd };
  requireSize(context, { ...sized, tolerance: toleranceOf(context) }, taken);
}

/** A part at the leverage of the position may have one thousandth more: the contract rounds down to three decimals, and so the position keeps its own. */
function requireLeverage(asked: Increase, trade: StoredTrade, found: number): void {
  const wanted = asked.leverage === undefined ? BigInt(trade.leverage) : leverageUnits(asked.leverage);
  const isKept = wanted === BigInt(trade.leverage) && found === trade.leverage + 1;
  if (!isKept) requireSame('LEVERAGE', 'the leverage of the added part is another, in thousandths', wanted, BigInt(found));
}

/** The contract cuts an amount above the profit down to it. */
const ALL = 2n ** 120n - 1n;

export function verifyWithdrawal({ amount }: Withdrawal, { collateral }: Pick<Held, 'collateral'>, { args }: WithdrawalCall): void {
  const wanted = amount === undefined ? ALL : units('withdrawPnl.amount', amount, collateral.decimals);
  requireSame('AMOUNT', 'the transaction withdraws another amount, in token units', wanted, args[1]);
}
