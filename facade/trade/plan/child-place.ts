import type { Protection } from '../../../core/ports/stores/protections.js';
import type { Gateway, Venue } from '../../../core/gateway.js';
import { indexOf } from '../../../core/trading/find-order.js';
import type { KnownOrder } from '../../../core/ports/stores/orders.js';
import type { Address } from '../../../core/types.js';
import { askedLevel } from './asked-level.js';
import type { ExchangeRecord } from '../../../core/ports/stores/exchange.js';

/** Where a TP/SL that came with an opening is now. */
export type ChildPlace =
  /** Its parent is not on chain yet. */
  | { readonly kind: 'waiting'; readonly parent: KnownOrder }
  /** Its parent rests with it. */
  | { readonly kind: 'resting'; readonly parent: KnownOrder; readonly level: Protection }
  /** The position that its parent opened has it. */
  | { readonly kind: 'position'; readonly level: Protection }
  /** It was removed or changed, or its parent or position is gone. */
  | { readonly kind: 'gone'; readonly parent: KnownOrder | null };

/** Assigns a child its id when it is found for the first time. */
export async function childPlace(
  { store }: Pick<Gateway, 'store'>,
  { definition: { slug } }: Pick<Venue, 'definition'>,
  trader: Address,
  record: ExchangeRecord,
): Promise<ChildPlace> {
  const parent = record.parentOrder == null ? null : await store.orders.find(slug, trader, record.parentOrder);
  if (parent === null) return { kind: 'gone', parent };
  const { kind } = askedLevel(record.order);
  const { status, fill } = parent.order;
  if (status === 'prepared' || status === 'pending') return { kind: 'waiting', parent };
  const isHeld = async (level: Protection): Promise<boolean> => {
    if (level.price === 0n) return false;
    const [known] = await store.facade.protections.identify(slug, trader, [level], record.createdAt);
    return known?.id === record.oid;
  };
  if (status === 'open' && parent.orderKey !== null) {
    const level = { tradeIndex: indexOf(parent.orderKey), kind, price: parent.order[kind] };
    return (await isHeld(level)) ? { kind: 'resting', parent, level } : { kind: 'gone', parent };
  }
  if (status !== 'filled' || fill === null) return { kind: 'gone', parent };
  const { tradeIndex } = fill;
  const position = (await store.account.openPositions(slug, trader)).find((open) => open.tradeIndex === tradeIndex)?.position;
  // For a closed position the id depends on its last levels.
  const last = position ?? (await store.facade.history.lastExecutions(slug, trader, [tradeIndex])).get(tradeIndex)?.terms;
  const level = { tradeIndex, kind, price: last?.[kind] ?? 0n };
  return (await isHeld(level)) && position ? { kind: 'position', level } : { kind: 'gone', parent };
}
