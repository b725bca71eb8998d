import type { AgentCaller } from '../access/caller.js';
import { describeOrder } from '../account/describe-order.js';
import { getOrder } from '../account/list-orders.js';
import { compare } from '../domain/decimal.js';
import { levelOf } from '../domain/level.js';
import type { Level } from '../domain/chain-event.js';
import type { Order } from '../domain/order.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import type { OrderChanges } from './order-request.js';
import { invalid, priceUnits, slippageUnits } from './exact-units.js';
import { describeUnfilled, isReverted, notModifiable, unlessOvertaken, type PreparedOrder } from './find-order.js';
import { onPosition, type HeldPosition, type OnPosition, type PositionFigures } from './find-position.js';
import { protectionOf, storedLevel } from './level-order.js';
import type { KnownOrder } from '../ports/stores/orders.js';
import { closingSlippage } from './position-order.js';
import { prepareTransaction, type PreparedWrite } from './prepare-transaction.js';
import { requireAhead, requireProtectable } from './protect-position.js';

/** A resting order that is the TP or SL of a position. */
export interface RestingLevel {
  readonly known: KnownOrder;
  readonly level: Level;
  readonly tradeIndex: number;
}

/** Changes the trigger price or the closing slippage. Returns the order as it will be once the transaction is mined. */
export async function moveLevel(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  resting: RestingLevel,
  changes: OrderChanges,
): Promise<PreparedOrder> {
  const { known, level } = resting;
  requireMovable(venue, known.order, changes);
  const { position, made } = await onLevel(gateway, venue, caller, resting, async (figures) => {
    const price = changes.price === undefined ? known.order.price : priceUnits('price', changes.price);
    const slippageP = changes.slippage === undefined ? closingSlippage(figures) : slippageUnits(changes.slippage);
    if (price !== known.order.price) requireAhead(venue, figures, { field: 'price', level, price });
    const wanted = protectionOf(figures, { level, price, slippageP });
    const intent = { kind: 'protect' as const, ...wanted, ...(price === known.order.price ? { tp: null, sl: null } : {}) };
    const isChange = intent.tp !== null || intent.sl !== null || 'slippageP' in intent;
    return { price, slippageP, write: isChange ? await prepareTransaction(gateway, venue, caller, { intent, takes: null }) : null };
  });
  const price = made.price === known.order.price ? made.price : storedLevel(venue, position, level, made.price);
  if (made.write === null) return { order: await getOrder(gateway, venue, caller, known.id.toString()), transaction: null };
  const order: Order = { ...known.order, price, slippageP: made.slippageP };
  // Stored before the transaction is returned, so that the indexer links the new trigger price to the same order.
  await gateway.store.orders.expectReplacement(venue.definition.slug, known.id, made.write.handedOut, order);
  return { order: describeUnfilled(venue, known, order), transaction: made.write.transaction };
}

/** A TP/SL closes the whole position at the market, so only trigger price and slippage can change. */
function requireMovable(venue: Venue, order: Order, { size, sl, tp }: OrderChanges): void {
  if (sl !== undefined) throw invalid('sl', 'has no meaning for an order that only reduces');
  if (tp !== undefined) throw invalid('tp', 'has no meaning for an order that only reduces');
  if (size === undefined || compare(size, describeOrder(venue.feed.config(), { id: 0n, order }, new Map()).size) === 0) return;
  throw new GatewayError('UNSUPPORTED', { reason: 'A take profit or stop loss closes the whole of its position: its size is no other.' });
}

/** Removes the TP or SL. */
export async function removeLevel(gateway: Gateway, venue: Venue, caller: AgentCaller, resting: RestingLevel): Promise<PreparedOrder> {
  const { level, tradeIndex, known } = resting;
  const { made } = await onLevel(gateway, venue, caller, resting, (): Promise<PreparedWrite> => {
    const intent = { kind: 'protect' as const, tradeIndex, tp: level === 'tp' ? 0n : null, sl: level === 'sl' ? 0n : null };
    return prepareTransaction(gateway, venue, caller, { intent, takes: null });
  });
  return { order: describeUnfilled(venue, known), transaction: made.transaction };
}

/** Requires that the position still has the trigger price this order set; otherwise another order's TP/SL would be changed. */
async function onLevel<Made>(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  { known, level, tradeIndex }: RestingLevel,
  make: (figures: PositionFigures) => Promise<Made>,
): Promise<OnPosition<Made>> {
  requireProtectable(venue, caller, known.order);
  const ids = await gateway.store.account.positionIds(venue.definition.slug, caller.trader, [tradeIndex]);
  const attempt = onPosition(gateway, venue, caller, (ids.get(tradeIndex) ?? 0n).toString(), make).catch((error: unknown) => {
    throw isGone(error) ? notModifiable(venue, known, 'its position is closed') : error;
  });
  const done = await unlessOvertaken(venue, known, attempt);
  requireOwn(venue, known, done.position, level);
  return done;
}

const isGone = (error: unknown): boolean =>
  (error instanceof GatewayError && error.code === 'POSITION_NOT_FOUND') || (isReverted(error) && error.details.errorName === 'NoTrade');

function requireOwn(venue: Venue, known: KnownOrder, { figures }: HeldPosition, level: Level): void {
  if (figures[level] !== known.order.price) throw notModifiable(venue, known, 'the position has another level meanwhile');
}

/** null for an order that is not a TP/SL, or does not rest. */
export function restingLevel(known: KnownOrder): RestingLevel | null {
  const level = levelOf(known.order);
  const { tradeIndex, status } = known.order;
  return level === null || tradeIndex === null || status !== 'open' ? null : { known, level, tradeIndex };
}
