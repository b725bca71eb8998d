import type { TradeContext } from '../actions/trade.js';
import type { Universe } from '../universe.js';

export interface TradeWork extends TradeContext {
  readonly universe: Universe;
  /** How long the reply may be delayed for the outcome. */
  readonly holdMs: number;
}
