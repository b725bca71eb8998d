import type { Executed } from './chain-event.js';
import { divideInteger } from './decimal.js';
import { positionSizeCollateral } from './pricing/size.js';

/** Collateral units. */
export interface TradeResult {
  /** The result of what was closed, before `fee` and after everything else that closing cost. */
  readonly closedPnl: bigint;
  /** The trading fee, but no more than was left to pay it. */
  readonly fee: bigint;
  /** Funding and borrowing that the closing settled, part of `closedPnl`; positive costs the trader. */
  readonly holding: bigint;
}

/**
 * Results of the executions of one trade, in the order of the chain and from its opening on. An opening names its fee at once, but the
 * contract takes it from what a close pays. Over the life of a trade `closedPnl - fee` comes to what the contract paid out less what it
 * took in: profit withdrawn between, and fees of refused changes, are part of the close that settles them.
 */
export function tradeResults(executions: readonly Executed[]): TradeResult[] {
  /** The results so far less the cash so far: what the next closes still have to settle. */
  let ahead = 0n;
  return executions.map((executed, nth) => {
    const result = resultOf(executed, ahead, nth < SHARED_BY);
    ahead += (isShown(executed) ? result.closedPnl - result.fee : 0n) - executed.netPnl;
    return result;
  });
}

/** What a close of an earlier trade's part has to settle is shared among so many executions; a later close settles all that is left at once. */
const SHARED_BY = 500;

/**
 * So many executions of a trade, from its opening on, decide each other's results; a later one counts by itself, whichever others are read
 * with it. What earlier ones left to settle was settled by then.
 */
export const COUNTED_TOGETHER = 2 * SHARED_BY;

/** The result of an execution that counts by itself. */
export const resultAlone = (executed: Executed): TradeResult => resultOf(executed, 0n, false);

/** Changes of leverage and withdrawals of profit are no fills. */
const isShown = ({ action }: Executed): boolean => action !== 'leverage' && action !== 'withdraw';

function resultOf(executed: Executed, ahead: bigint, isShared: boolean): TradeResult {
  const { action, fee, grossPnl, netPnl, collateral } = executed;
  if (!isShown(executed)) return { closedPnl: 0n, fee: 0n, holding: 0n };
  if (action === 'open' || action === 'increase') return { closedPnl: 0n, fee, holding: 0n };
  // A lower leverage takes no collateral out: its result stays in the trade and is settled by the closes that follow.
  if (action === 'decrease' && collateral === 0n) return { closedPnl: grossPnl, fee, holding: 0n };
  const settled = netPnl - (isShared ? shareOf(ahead, executed) : ahead);
  const isWipedOut = executed.after === null && netPnl <= -collateral;
  if (!isWipedOut) return { closedPnl: settled + fee, fee, holding: grossPnl - settled - fee };
  const paid = limited(grossPnl - settled, fee);
  return { closedPnl: settled + paid, fee: paid, holding: 0n };
}

/** Rounded towards zero: the last close settles the rest. */
function shareOf(ahead: bigint, { after, sizeCollateral }: Executed): bigint {
  if (after === null) return ahead;
  const whole = sizeCollateral + positionSizeCollateral(after);
  return whole === 0n ? 0n : divideInteger(ahead * sizeCollateral, whole, 'down');
}

const limited = (amount: bigint, most: bigint): bigint => (amount < 0n ? 0n : amount > most ? most : amount);
