import type { AgentCaller } from '../../../core/access/caller.js';
import type { Leg } from '../../../core/domain/relay/exchange-order.js';
import type { Gateway, Venue } from '../../../core/gateway.js';
import { askedLevel, keptPrice } from '../plan/find-target.js';
import type { ChildRecord, ExchangeLeg, ExchangeRecord } from '../../../core/ports/stores/exchange.js';
import type { ChildItem, Prepared } from '../plan/plan-items.js';
import type { SignedAction, RelayedLeg } from '../../../core/ports/stores/relay.js';
import { DEFAULT_CLOSING_SLIPPAGE_P } from '../../../core/domain/pricing/execution-price.js';
import { MAX_SLIPPAGE_P, wantedClosingSlippage } from '../../../core/domain/relay/price-bound.js';

/** The stored record of an item as the bot sent it, without the ids that storing assigns. */
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

/** The TP/SL of an opening as orders of their own; none if the parent opens nothing. */
export function childRecords(
  venue: Venue,
  caller: AgentCaller,
  action: SignedAction,
  { asked: { children = [] }, legs }: Prepared,
): Omit<ChildRecord, 'parentOrder'>[] {
  const opening = legs.find(({ leg }) => leg.role === 'open');
  if (opening === undefined) return [];
  const { sizeBase } = opening.leg;
  return children.map((asked) => ({ ...recordOf(venue, caller, action, { asked, manner: 'protection' }), sizeBase }));
}

/** The id under which the level is listed. A level that is set again at the same place is a new order. */
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
  // Identified by the price at which the contract will store it.
  const protection = { ...level, tradeIndex, price: position ? keptPrice(feed.config(), position, level) : level.price };
  const [known] = await store.facade.protections.identify(slug, trader, [protection], clock.now());
  if (!known) throw new TypeError('a protection without a number');
  const former = await store.exchange.find(slug, trader, known.id);
  if (former === null || (former.action === action.id && former.item === asked.item)) return known.id;
  return (await store.facade.protections.renumber(slug, trader, known.id, clock.now())) ?? known.id;
}

/** A protection sets its slippage itself; it is checked once more, because a pending close may have set another. */
const SECOND_LOOK_MS = 15_000;

const wantedBy = ({ asked, manner }: Prepared): bigint =>
  manner === 'protection' ? wantedClosingSlippage(asked.order, MAX_SLIPPAGE_P) : asked.closingSlippageP;

/** What is stored with a leg before anything is sent, so that a crash cannot leave a stop loss without its closing slippage. */
export function owedClosingSlippage(prepared: Prepared, now: number): (leg: Leg) => Pick<RelayedLeg, 'owed'> {
  const closingSlippageP = wantedBy(prepared);
  if (closingSlippageP <= DEFAULT_CLOSING_SLIPPAGE_P) return () => ({});
  return ({ role, intent }) => {
    if (role === 'open') return { owed: { closingSlippageP, dueAt: now } };
    return intent.kind === 'protect' ? { owed: { closingSlippageP, dueAt: now + SECOND_LOOK_MS } } : {};
  };
}
