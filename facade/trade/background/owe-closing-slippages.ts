import type { AgentCaller } from '../../../core/access/caller.js';
import { DEFAULT_CLOSING_SLIPPAGE_P } from '../../../core/domain/pricing/execution-price.js';
import { wantedClosingSlippage } from '../../../core/domain/relay/closing-slippage.js';
import { MAX_SLIPPAGE_P } from '../../../core/domain/relay/price-bound.js';
import type { Gateway, Venue } from '../../../core/gateway.js';
import type { Prepared } from '../plan/plan-items.js';
import type { SignedAction } from '../../../core/ports/stores/relay.js';

/** A protection sets its slippage itself; it is checked once more, because a pending close may have set another. */
const SECOND_LOOK_MS = 15_000;

const wantedBy = ({ asked, manner }: Prepared): bigint =>
  manner === 'protection' ? wantedClosingSlippage(asked.order, MAX_SLIPPAGE_P) : asked.closingSlippageP;

export const owesClosingSlippage = (prepared: Prepared): boolean => wantedBy(prepared) > DEFAULT_CLOSING_SLIPPAGE_P;

export interface StoredItem {
  readonly prepared: Prepared;
  readonly oid: bigint;
  /** The order id of each leg; null if the leg is no order of ours. */
  readonly stored: readonly (bigint | null)[];
}

/** Stored before anything is sent, so that a crash cannot leave a stop loss without its closing slippage. */
export async function oweClosingSlippages(
  { store }: Gateway,
  { definition, clock }: Venue,
  { trader, agent }: AgentCaller,
  action: SignedAction,
  { prepared, oid, stored }: StoredItem,
): Promise<void> {
  if (!owesClosingSlippage(prepared)) return;
  const { asked, legs } = prepared;
  const owed = { chain: definition.slug, trader, agent, action: action.id, item: asked.item, oid };
  for (const [at, { leg }] of legs.entries()) {
    const orderId = leg.role === 'open' ? (stored[at] ?? null) : null;
    const tradeIndex = leg.intent.kind === 'protect' ? leg.intent.tradeIndex : null;
    if (orderId === null && tradeIndex === null) continue;
    const dueAt = clock.now() + (orderId === null ? SECOND_LOOK_MS : 0);
    await store.closingSlippages.owe({ ...owed, orderId, tradeIndex, closingSlippageP: wantedBy(prepared) }, dueAt);
  }
}
