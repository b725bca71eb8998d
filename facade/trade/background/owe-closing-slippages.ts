import { DEFAULT_CLOSING_SLIPPAGE_P } from '../../../core/domain/pricing/slippage.js';
import { wantedClosingSlippage } from '../../../core/domain/relay/closing-slippage.js';
import { MAX_SLIPPAGE_P } from '../../../core/domain/relay/price-bound.js';
import type { Leg } from '../../../core/domain/relay/exchange-order.js';
import type { RelayedLeg } from '../../../core/ports/stores/relay.js';
import type { Prepared } from '../plan/plan-items.js';

/** A protection sets its slippage itself; it is checked once more, because a pending close may have set another. */
const SECOND_LOOK_MS = 15_000;

const wantedBy = ({ asked, manner }: Prepared): bigint =>
  manner === 'protection' ? wantedClosingSlippage(asked.order, MAX_SLIPPAGE_P) : asked.closingSlippageP;

export const owesClosingSlippage = (prepared: Prepared): boolean => wantedBy(prepared) > DEFAULT_CLOSING_SLIPPAGE_P;

/** What is stored with a leg before anything is sent, so that a crash cannot leave a stop loss without its closing slippage. */
export function owedClosingSlippage(prepared: Prepared, now: number): (leg: Leg) => Pick<RelayedLeg, 'owed'> {
  if (!owesClosingSlippage(prepared)) return () => ({});
  const closingSlippageP = wantedBy(prepared);
  return ({ role, intent }) => {
    if (role === 'open') return { owed: { closingSlippageP, dueAt: now } };
    return intent.kind === 'protect' ? { owed: { closingSlippageP, dueAt: now + SECOND_LOOK_MS } } : {};
  };
}
