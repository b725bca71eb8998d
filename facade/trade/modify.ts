import type { OrderName } from '../../core/relay/find-target.js';
import { relayModify, type ModifyOutcome } from '../../core/relay/relay-modify.js';
import type { TradeActionOf, WireOrder } from '../actions/trade.js';
import { DONE, refused, statuses, type ExchangeReply, type ItemStatus } from '../reply.js';
import type { Asset } from '../universe.js';
import { itemError, statusOf } from './item-status.js';
import { ITEM_TEXTS } from './item-texts.js';
import { readOrder } from './read-order.js';
import type { TradeWork } from './trade-handlers.js';

/** One change: its answer says nothing but that it was made, or why not. */
export async function modify(work: TradeWork, { oid, order }: TradeActionOf<'modify'>): Promise<ExchangeReply> {
  const status = await modifyOne(work, { oid, order }, 0);
  return typeof status === 'object' && 'error' in status ? refused(status.error) : DONE;
}

export async function batchModify(work: TradeWork, { modifies }: TradeActionOf<'batchModify'>): Promise<ExchangeReply> {
  return statuses('order', await Promise.all(modifies.map((each, at) => modifyOne(work, each, at))));
}

async function modifyOne(
  work: TradeWork,
  { oid, order: wire }: { readonly oid: number | string; readonly order: WireOrder },
  at: number,
): Promise<ItemStatus> {
  const { gateway, venue, caller, action, universe, holdMs } = work;
  const asset = universe.assets[wire.a];
  const read = readOrder(asset, wire, at);
  if (read.kind === 'error' || !asset) return itemError(read.kind === 'error' ? read.text : ITEM_TEXTS.invalidAsset, wire.a);
  const name: OrderName = typeof oid === 'number' ? { oid: BigInt(oid) } : { cloid: oid };
  const outcome = await relayModify(gateway, venue, caller, action, { name, item: read.item, holdMs });
  return statusOfChange(work, asset, outcome, read.item.cloid);
}

function statusOfChange({ venue }: TradeWork, asset: Asset, outcome: ModifyOutcome, cloid: string | null): ItemStatus {
  if (outcome.kind === 'gone') return { error: ITEM_TEXTS.cannotModify };
  if (outcome.kind !== 'lost') return statusOf(venue, asset, outcome, cloid);
  const status = statusOf(venue, asset, outcome.outcome, cloid);
  const said = typeof status === 'object' && 'error' in status ? status.error : '';
  return { error: `Error placing new order during modify: ${said}` };
}
