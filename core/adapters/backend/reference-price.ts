import type { Collateral, MarketConfig, PairInCollateral, PricePoint } from '../../domain/market.js';
import { marketPrice } from '../../domain/pricing/skew-impact.js';
import type { Quote } from './price-book.js';

/**
 * Public prices use the skew of one collateral: USDC where it is active, else the first active one. A pair is a core pair when that
 * collateral has a skew depth for it; its mark is then the feed's price moved by the current skew, as the contract's triggers use it. For
 * every other pair the feed's own mark is used (futures for volatile pairs, spot for the rest).
 */
export function referenceCollateral(config: MarketConfig): Collateral | null {
  const active = config.collaterals.filter(({ isActive }) => isActive);
  return active.find(({ symbol }) => symbol === 'USDC') ?? active[0] ?? null;
}

/** Null when the skew leaves no price the contract could hold. */
export function referencePrice(state: PairInCollateral | null, quote: Quote): PricePoint | null {
  if (!state || state.skewDepth === 0n) return { mark: quote.mark, index: quote.index, oracle: quote.mark, at: quote.at };
  try {
    return { mark: marketPrice(state, quote.mark), index: quote.index, oracle: quote.mark, at: quote.at };
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}
