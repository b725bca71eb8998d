import type { AgentCaller } from '../access/caller.js';
import { describeOrder, tradeSize } from '../account/describe-order.js';
import { getOrder } from '../account/list-orders.js';
import { absolute, compare, decimal, formatDecimal, round, subtract, type Decimal } from '../domain/decimal.js';
import { levelOf } from '../domain/order-machine.js';
import type { Level } from '../domain/chain-event.js';
import type { Order } from '../domain/order.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import { type OrderChanges, type OrderRequest, invalid, priceUnits, SIZE_DECIMALS, slippageUnits } from './order-request.js';
import { describeUnfilled, isReverted, notModifiable, unlessOvertaken, type PreparedOrder } from './find-order.js';
import { onPosition, type HeldPosition, type OnPosition, type PositionFigures } from './find-position.js';
import type { KnownOrder } from '../ports/stores/orders.js';
import { closingSlippage, collateralAt, positionOrder, storedSl, tokensHeld } from './position-order.js';
import { draftOf, type CheckedOrder } from './prepare-order.js';
import { prepareTransaction, type PreparedWrite } from './prepare-transaction.js';
import { prepareProtection, requireAhead, requireProtectable } from './protect-position.js';
import { positionSizeCollateral } from '../domain/pricing/size.js';

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

/** Position sizes have more decimals than order sizes may have; a smaller difference counts as equal. */
export const SIZE_TOLERANCE = decimal(1n, SIZE_DECIMALS);

export const isWhole = (size: Decimal, held: Decimal): boolean => compare(absolute(subtract(size, held)), SIZE_TOLERANCE) < 0;

export const shownSize = (held: Decimal): string => formatDecimal(round(held, SIZE_DECIMALS, 'down'));

/** A take profit or stop loss order that closes a whole position: checked and simulated; nothing is stored. */
export async function prepareLevel(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  id: string,
  { level, request }: { readonly level: Level; readonly request: OrderRequest & { readonly price: NonNullable<OrderRequest['price']> } },
): Promise<CheckedOrder> {
  const { position, made } = await onPosition(gateway, venue, caller, id, async (figures) => {
    requireProtectable(venue, caller, figures);
    const held = tradeSize(figures, collateralAt(venue, figures));
    if (!isWhole(request.size, held)) throw notWhole(request.type, [held]);
    const price = priceUnits('price', request.price);
    requireAhead(venue, figures, { field: 'price', level, price });
    const slippageP = request.slippage === undefined ? closingSlippage(figures) : slippageUnits(request.slippage);
    const write = await prepareProtection(gateway, venue, caller, protectionOf(figures, { level, price, slippageP }));
    return { price, slippageP, write };
  });
  const { write, slippageP } = made;
  const price = storedLevel(venue, position, level, made.price);
  const times = { now: venue.clock.now(), expiresAt: write.transaction.expiresAt };
  const order = levelOrder(venue, caller, position.figures, { ...times, type: request.type, price, slippageP });
  return { write, draft: draftOf(gateway, venue, caller, { order, write, spend: null }) };
}

/** The contract has one TP and one SL per position, for its whole size. */
export const notWhole = (type: OrderRequest['type'], held: readonly Decimal[]): GatewayError =>
  new GatewayError('UNSUPPORTED', {
    reason: `A ${type} that only reduces closes the whole of one position: its size must be ${held.map(shownSize).join(' or ')}.`,
  });

interface LevelTerms {
  readonly level: Level;
  readonly price: bigint;
  readonly slippageP: bigint;
}

/** TP/SL orders use the position's slippage; it is part of the intent only if it changes. */
const protectionOf = (figures: PositionFigures, { level, price, slippageP }: LevelTerms) => ({
  tradeIndex: figures.tradeIndex,
  tp: level === 'tp' ? price : null,
  sl: level === 'sl' ? price : null,
  ...(slippageP === closingSlippage(figures) ? {} : { slippageP }),
});

/** The price the contract will store: it clamps a stop loss that is too far away. */
const storedLevel = (venue: Venue, position: HeldPosition, level: Level, price: bigint): bigint =>
  level === 'sl' ? storedSl(venue, position, { sl: price, leverage: position.figures.leverage }) : price;

function levelOrder(
  venue: Venue,
  caller: AgentCaller,
  figures: PositionFigures,
  { type, price, slippageP, ...times }: Pick<Order, 'type' | 'price' | 'slippageP'> & { readonly now: number; readonly expiresAt: number },
): Order {
  const { leverage, collateralAmount } = figures;
  const size = { sizeCollateral: positionSizeCollateral(figures), sizeToken: tokensHeld(venue, figures) };
  const part = { action: 'close' as const, leverage, collateralAmount, ...size };
  return { ...positionOrder(caller, figures, { ...part, slippageP }, times), type, price };
}
