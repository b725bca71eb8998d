import type { ExchangeOrder } from '../../core/domain/relay/exchange-order.js';
import { wantedClosingSlippage } from '../../core/domain/relay/closing-slippage.js';
import { MAX_SLIPPAGE_P } from '../../core/domain/relay/price-bound.js';

export interface AttachedLevels {
  /** 0 = none. */
  readonly tp: bigint;
  readonly sl: bigint;
  /** Closing slippage of both, 1e3 percent, as the contract has one value for both; 0 = none. */
  readonly closingSlippageP: bigint;
}

/** The first take profit and the first stop loss among the children of a parent order. */
export function attachedLevels(children: readonly ExchangeOrder[]): AttachedLevels {
  const first = (tpsl: 'tp' | 'sl') => children.find(({ style }) => style.kind === 'trigger' && style.tpsl === tpsl);
  const [tp, sl] = [first('tp'), first('sl')];
  const closingSlippages = [tp, sl].map((level) => (level === undefined ? 0n : wantedClosingSlippage(level, MAX_SLIPPAGE_P)));
  return {
    tp: triggerOf(tp),
    sl: triggerOf(sl),
    closingSlippageP: closingSlippages.reduce((most, slippageP) => (slippageP > most ? slippageP : most), 0n),
  };
}

const triggerOf = (level: ExchangeOrder | undefined): bigint => (level?.style.kind === 'trigger' ? level.style.trigger : 0n);
