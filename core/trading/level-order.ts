import type { AgentCaller } from '../access/caller.js';
import { tradeSize } from '../account/describe-order.js';
import { absolute, compare, decimal, formatDecimal, round, subtract, type Decimal } from '../domain/decimal.js';
import type { Level } from '../domain/chain-event.js';
import type { Order } from '../domain/order.js';
import { positionSizeCollateral } from '../domain/pricing/size.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import { priceUnits, SIZE_DECIMALS, slippageUnits } from './exact-units.js';
import { onPosition, type HeldPosition, type PositionFigures } from './find-position.js';
import type { OrderRequest } from './order-request.js';
import { closingSlippage, collateralAt, positionOrder, storedSl, tokensHeld } from './position-order.js';
import type { PreparedWrite } from './prepare-transaction.js';
import { prepareProtection, requireAhead, requireProtectable } from './protect-position.js';

/** Position sizes have more decimals than order sizes may have; a smaller difference counts as equal. */
export const HAIR = decimal(1n, SIZE_DECIMALS);

export const isWhole = (size: Decimal, held: Decimal): boolean => compare(absolute(subtract(size, held)), HAIR) < 0;

export const shownSize = (held: Decimal): string => formatDecimal(round(held, SIZE_DECIMALS, 'down'));

/** A take profit or stop loss order that closes a whole position. */
export interface PreparedLevel {
  readonly order: Order;
  readonly write: PreparedWrite;
}

/** Checks and simulates the order; nothing is stored. */
export async function prepareLevel(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  id: string,
  { level, request }: { readonly level: Level; readonly request: OrderRequest & { readonly price: NonNullable<OrderRequest['price']> } },
): Promise<PreparedLevel> {
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
  return { order: levelOrder(venue, caller, position.figures, { ...times, type: request.type, price, slippageP }), write };
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
export const protectionOf = (figures: PositionFigures, { level, price, slippageP }: LevelTerms) => ({
  tradeIndex: figures.tradeIndex,
  tp: level === 'tp' ? price : null,
  sl: level === 'sl' ? price : null,
  ...(slippageP === closingSlippage(figures) ? {} : { slippageP }),
});

/** The price the contract will store: it clamps a stop loss that is too far away. */
export const storedLevel = (venue: Venue, position: HeldPosition, level: Level, price: bigint): bigint =>
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
