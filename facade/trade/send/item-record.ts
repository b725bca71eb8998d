import type { AgentCaller } from '../../../core/access/caller.js';
import type { Leg } from '../../../core/domain/relay/exchange-order.js';
import type { Gateway, Venue } from '../../../core/gateway.js';
import { askedLevel, keptPrice } from '../plan/asked-level.js';
import type { ChildRecord, ExchangeLeg, ExchangeRecord } from '../../../core/ports/stores/exchange.js';
import type { ChildItem, Prepared } from '../plan/plan-items.js';
import type { SignedAction } from '../../../core/ports/stores/relay.js';

/** What is written down of an item of an action, as the bot asked for it: all of a record but the numbers that storing gives. */
export const recordOf = (
  { definition, clock }: Venue,
  { trader, agent }: AgentCaller,
  action: SignedAction,
  { asked, manner }: { readonly asked: ChildItem; readonly manner: ExchangeRecord['manner'] },
): Omit<ExchangeRecord, 'oid' | 'legs'> => ({
  chain: definition.slug,
  trader,
  agent,
  action: action.id,
  item: asked.item,
  cloid: asked.cloid,
  pairIndex: asked.pairIndex,
  manner,
  order: asked.order,
  wire: asked.wire,
  createdAt: clock.now(),
});

export const legRecord = ({ role, intent, sizeBase }: Leg): Omit<ExchangeLeg, 'orderId'> => ({
  role,
  tradeIndex: 'tradeIndex' in intent ? intent.tradeIndex : null,
  sizeBase,
});

/** Take profit and stop loss of what a parent opens, as orders of their own; none where it opens nothing. */
export function childRecords(
  venue: Venue,
  caller: AgentCaller,
  action: SignedAction,
  { asked: { children = [] }, legs }: Prepared,
  stored: readonly (bigint | null)[],
): ChildRecord[] {
  const at = legs.findIndex(({ leg }) => leg.role === 'open');
  const parentOrder = stored[at] ?? null;
  const sizeBase = legs[at]?.leg.sizeBase ?? 0n;
  if (parentOrder === null) return [];
  return children.map((asked) => ({ ...recordOf(venue, caller, action, { asked, manner: 'protection' }), parentOrder, sizeBase }));
}

/** The number under which the protection is listed. What was set there before, and is set again, is another order. */
export async function protectionId(
  { store }: Gateway,
  { definition: { slug }, clock, feed }: Venue,
  { trader }: AgentCaller,
  action: SignedAction,
  { legs, asked }: Prepared,
): Promise<bigint> {
  const [intent] = legs.map(({ leg }) => leg.intent);
  if (intent?.kind !== 'protect') throw new TypeError('an exchange order without a leg');
  const { tradeIndex } = intent;
  const level = askedLevel(asked.order);
  const position = (await store.account.openPositions(slug, trader)).find((open) => open.tradeIndex === tradeIndex)?.position;
  // It is known by the price at which it will stand.
  const protection = { ...level, tradeIndex, price: position ? keptPrice(feed.config(), position, level) : level.price };
  const [known] = await store.facade.protections.identify(slug, trader, [protection], clock.now());
  if (!known) throw new TypeError('a protection without a number');
  const former = await store.exchange.find(slug, trader, known.id);
  if (former === null || (former.action === action.id && former.item === asked.item)) return known.id;
  return (await store.facade.protections.renumber(slug, trader, known.id, clock.now())) ?? known.id;
}
