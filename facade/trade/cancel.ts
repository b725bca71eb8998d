import type { Venue } from '../../core/gateway.js';
import type { CancelOutcome } from './send/cancel-work.js';
import { relayCancels, type CancelItem } from './send/relay-cancels.js';
import type { TradeActionOf } from '../actions/trade.js';
import { statuses, type ExchangeReply, type ItemStatus } from '../reply.js';
import { itemError, throwIfAll } from './item-status.js';
import { errorText, ITEM_TEXTS } from './item-texts.js';
import type { TradeWork } from './trade-work.js';

export const cancelByOid = (work: TradeWork, { cancels }: TradeActionOf<'cancel'>): Promise<ExchangeReply> =>
  cancel(
    work,
    cancels.map(({ a, o }, item) => ({ item, name: { oid: BigInt(o) }, pairIndex: a })),
  );

export const cancelByCloid = (work: TradeWork, { cancels }: TradeActionOf<'cancelByCloid'>): Promise<ExchangeReply> =>
  cancel(
    work,
    cancels.map(({ asset, cloid }, item) => ({ item, name: { cloid }, pairIndex: asset })),
  );

async function cancel({ gateway, venue, caller, action, holdMs }: TradeWork, items: readonly CancelItem[]): Promise<ExchangeReply> {
  const outcomes = await relayCancels(gateway, venue, caller, action, { items, holdMs });
  throwIfAll(outcomes);
  return statuses(
    'cancel',
    outcomes.map((outcome, at) => statusOf(venue, items[at]?.pairIndex ?? 0, outcome)),
  );
}

function statusOf(venue: Venue, asset: number, outcome: CancelOutcome): ItemStatus {
  switch (outcome.kind) {
    case 'done':
      return 'success';
    case 'gone':
      return itemError(ITEM_TEXTS.neverPlaced, asset);
    case 'executing':
      return itemError(executingText(venue, outcome.reclaimableAt), asset);
    case 'failed':
      return itemError(errorText(outcome.error) ?? outcome.error.message, asset);
  }
}

/** The order can still fill, so the bot must not treat it as canceled. */
export const executingText = ({ clock }: Venue, at: number | null): string =>
  `Order is executing, reclaim possible at ${new Date(at ?? clock.now()).toISOString()}.`;
