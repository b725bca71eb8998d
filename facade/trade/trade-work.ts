import type { TradeContext } from '../actions/trade-handlers.js';
import type { Universe } from '../universe.js';

export interface TradeWork extends TradeContext {
  readonly universe: Universe;
  /** How long the answer may be held back for the outcome. */
  readonly holdMs: number;
}
