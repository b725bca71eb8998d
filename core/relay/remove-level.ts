import { marketView } from '../domain/pricing/market-view.js';
import { storedStopLoss } from '../orders/order-request.js';
import { leftOf, sendCancel, type CancelOutcome, type Work } from './cancel-work.js';
import type { ExchangeRecord } from './exchange-store.js';
import type { Target } from './find-target.js';

/** One that was just asked for may not be mined yet: it is waited for, or it would come after it was called gone. */
export async function removeLevel(work: Work, item: number, protection: Protected, record: ExchangeRecord | null): Promise<CancelOutcome> {
  const { tradeIndex, kind } = protection;
  const isFresh = record !== null && work.venue.clock.now() - record.createdAt < FRESH_MS;
  const isThere = isFresh ? await comesTrue(work, () => isProtected(work, protection)) : await isProtected(work, protection);
  if (!isThere) return { kind: 'gone' };
  await sendCancel(work, item, { kind: 'protect', tradeIndex, tp: kind === 'tp' ? 0n : null, sl: kind === 'sl' ? 0n : null }, null);
  const isGone = await comesTrue(work, async () => !(await isProtected(work, protection)));
  return isGone ? { kind: 'done' } : { kind: 'executing', reclaimableAt: null };
}

type Protected = Target['protections'][number];
const FRESH_MS = 30_000;
const LOOK_MS = 100;

/** Within what is left of the answer's time. */
async function comesTrue(work: Work, holds: () => Promise<boolean>): Promise<boolean> {
  for (;;) {
    if (await holds()) return true;
    if (leftOf(work) === 0) return false;
    await work.venue.clock.sleep(Math.min(LOOK_MS, leftOf(work)));
  }
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
