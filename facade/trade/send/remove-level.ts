import { askedLevel, keptPrice } from '../plan/asked-level.js';
import { comesTrue, sendCancel, type CancelOutcome, type Work } from './cancel-work.js';
import type { Target } from '../plan/find-target.js';

/** Waits for pending changes of the level: one could arrive after the removal was confirmed, or be removed in place of this level. */
export async function removeLevel(work: Work, item: number, protection: Protected): Promise<CancelOutcome> {
  const { tradeIndex, kind } = protection;
  if (!(await comesTrue(work, async () => !(await isAwaited(work, protection))))) return STILL_THERE;
  if (!(await isProtected(work, protection))) return { kind: 'gone' };
  await sendCancel(work, item, { kind: 'protect', tradeIndex, tp: kind === 'tp' ? 0n : null, sl: kind === 'sl' ? 0n : null }, null);
  return (await comesTrue(work, async () => !(await isProtected(work, protection)))) ? { kind: 'done' } : STILL_THERE;
}

type Protected = Target['protections'][number];
const STILL_THERE: CancelOutcome = { kind: 'executing', reclaimableAt: null };

/** Whether an order is about to set this level. */
async function isAwaited({ gateway, venue, caller }: Work, { tradeIndex, kind }: Protected): Promise<boolean> {
  const awaited = await gateway.store.exchange.awaited(venue.definition.slug, caller.trader);
  return awaited.some(
    ({ order, legs }) => askedLevel(order).kind === kind && legs.some((leg) => leg.role === 'protect' && leg.tradeIndex === tradeIndex),
  );
}

/** Whether exactly this level stands: with another price it is another order's, unless the contract changed the price. */
async function isProtected({ gateway, venue, caller }: Work, level: Protected): Promise<boolean> {
  const positions = await gateway.store.account.openPositions(venue.definition.slug, caller.trader);
  const position = positions.find(({ tradeIndex }) => tradeIndex === level.tradeIndex)?.position;
  const stands = position?.[level.kind] ?? 0n;
  if (position === undefined || stands === 0n) return false;
  return stands === level.price || stands === keptPrice(venue.feed.config(), position, level);
}
