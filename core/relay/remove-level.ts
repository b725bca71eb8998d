import { marketView } from '../domain/pricing/market-view.js';
import { storedStopLoss } from '../orders/order-request.js';
import { askedLevel } from './asked-level.js';
import { leftOf, sendCancel, type CancelOutcome, type Work } from './cancel-work.js';
import type { Target } from './find-target.js';

/** What is on its way there is waited for: it would come after it was called gone, or be taken away for the one before it. */
export async function removeLevel(work: Work, item: number, protection: Protected): Promise<CancelOutcome> {
  const { tradeIndex, kind } = protection;
  if (!(await comesTrue(work, async () => !(await isAwaited(work, protection))))) return STILL_THERE;
  if (!(await isProtected(work, protection))) return { kind: 'gone' };
  await sendCancel(work, item, { kind: 'protect', tradeIndex, tp: kind === 'tp' ? 0n : null, sl: kind === 'sl' ? 0n : null }, null);
  return (await comesTrue(work, async () => !(await isProtected(work, protection)))) ? { kind: 'done' } : STILL_THERE;
}

type Protected = Target['protections'][number];
const STILL_THERE: CancelOutcome = { kind: 'executing', reclaimableAt: null };
const LOOK_MS = 100;

/** Within what is left of the answer's time. */
async function comesTrue(work: Work, holds: () => Promise<boolean>): Promise<boolean> {
  for (;;) {
    if (await holds()) return true;
    if (leftOf(work) === 0) return false;
    await work.venue.clock.sleep(Math.min(LOOK_MS, leftOf(work)));
  }
}

/** Whether any order has yet to set a level in this place. */
async function isAwaited({ gateway, venue, caller }: Work, { tradeIndex, kind }: Protected): Promise<boolean> {
  const awaited = await gateway.store.exchange.awaited(venue.definition.slug, caller.trader);
  return awaited.some(({ order, legs }) => askedLevel(order).kind === kind && legs.some((leg) => leg.tradeIndex === tradeIndex));
}

/** Whether this very level stands: of another price it is another order's, except that the contract clamps a stop loss too far away. */
async function isProtected({ gateway, venue, caller }: Work, { tradeIndex, kind, price }: Protected): Promise<boolean> {
  const positions = await gateway.store.account.openPositions(venue.definition.slug, caller.trader);
  const position = positions.find((listed) => listed.tradeIndex === tradeIndex)?.position;
  if (position === undefined) return false;
  if (kind === 'tp') return position.tp === price;
  if (position.sl === price || position.sl === 0n) return position.sl === price;
  const view = marketView(venue.feed.config(), position);
  return view === null || position.sl === storedStopLoss(view, { ...position, sl: price, price: position.openPrice });
}
