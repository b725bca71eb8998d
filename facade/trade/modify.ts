import type { GatewayError } from '../../core/errors.js';
import { findTarget, identityOf, type OrderName } from './plan/find-target.js';
import { relayModify, type ModifyOutcome } from './send/relay-modify.js';
import type { TradeActionOf, WireOrder } from '../actions/trade.js';
import { DONE, refused, statuses, type ExchangeReply, type ItemStatus } from '../reply.js';
import type { Asset } from '../universe.js';
import { executingText } from './cancel.js';
import { itemError, readOutcomes, statusOf, throwIfAll, type FillsOf } from './item-status.js';
import { ITEM_TEXTS } from './item-texts.js';
import { readOrder } from './read-order.js';
import type { TradeWork } from './trade-work.js';

/** One change: the reply only says that it was made, or why not. */
export async function modify(work: TradeWork, { oid, order }: TradeActionOf<'modify'>): Promise<ExchangeReply> {
  const change = await modifyOne(work, { oid, order }, 0);
  throwIfAll([change.outcome]);
  const { status } = change;
  return typeof status === 'object' && 'error' in status ? refused(status.error) : DONE;
}

export async function batchModify(work: TradeWork, { modifies }: TradeActionOf<'batchModify'>): Promise<ExchangeReply> {
  // If one order is changed twice in the action, by whatever name, the second change finds it gone.
  const meant = await Promise.all(modifies.map(({ oid }) => targetIn(work, oid)));
  const isFirst = (at: number): boolean => meant[at] === null || meant.indexOf(meant[at] ?? null) === at;
  const changes = await Promise.all(modifies.map((each, at) => (isFirst(at) ? modifyOne(work, each, at) : Promise.resolve(TWICE))));
  throwIfAll(changes.map(({ outcome }) => outcome));
  return statuses(
    'order',
    changes.map(({ status }) => status),
  );
}

/** null if there is no such order. */
async function targetIn({ gateway, venue, caller }: TradeWork, oid: Oid): Promise<string | null> {
  const target = await findTarget(gateway, venue, caller, nameOf(oid));
  // A level that a later order is about to set is no one's for the moment.
  return target && (identityOf(target) || (target.record && `order ${target.record.oid}`));
}

type Oid = number | string;
const nameOf = (oid: Oid): OrderName => (typeof oid === 'number' ? { oid: BigInt(oid) } : { cloid: oid });
const GONE: ItemStatus = { error: ITEM_TEXTS.cannotModify };

interface Changed {
  readonly status: ItemStatus;
  readonly outcome: { readonly kind: string; readonly error?: GatewayError };
}

const TWICE: Changed = { status: GONE, outcome: { kind: 'gone' } };

async function modifyOne(
  work: TradeWork,
  { oid, order: wire }: { readonly oid: Oid; readonly order: WireOrder },
  at: number,
): Promise<Changed> {
  const { gateway, venue, caller, action, universe, holdMs } = work;
  const asset = universe.assets[wire.a];
  const read = readOrder(asset, wire, at);
  if (read.kind === 'error' || !asset) {
    const status = itemError(read.kind === 'error' ? read.text : ITEM_TEXTS.invalidAsset, wire.a);
    return { status, outcome: { kind: 'unreadable' } };
  }
  const outcome = await relayModify(gateway, venue, caller, action, { name: nameOf(oid), item: read.item, holdMs });
  const fills = await readOutcomes(work, [outcome]);
  return { status: statusOfChange(work, asset, outcome, read.item.cloid, fills), outcome };
}

function statusOfChange({ venue }: TradeWork, asset: Asset, outcome: ModifyOutcome, cloid: string | null, fills: FillsOf): ItemStatus {
  if (outcome.kind === 'gone') return GONE;
  if (outcome.kind === 'executing') return itemError(executingText(venue, outcome.reclaimableAt), asset.id);
  if (outcome.kind !== 'lost') return statusOf(venue, asset, outcome, cloid, fills);
  const status = statusOf(venue, asset, outcome.outcome, cloid, fills);
  const said = typeof status === 'object' && 'error' in status ? status.error : '';
  return { error: `Error placing new order during modify: ${said}` };
}
