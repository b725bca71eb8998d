import { baseSize, collateralOf } from '../../core/account/describe-order.js';
import { toUnits } from '../../core/domain/decimal.js';
import { E8 } from '../../core/domain/pricing/units.js';
import type { SeenOrder } from '../../core/facade/history-store.js';
import type { KnownProtection } from '../../core/facade/protection-store.js';
import type { Gateway, Venue } from '../../core/gateway.js';
import type { Address } from '../../core/ports.js';
import { BASE_SCALE, ZERO_TEXT } from '../format.js';
import type { Universe } from '../universe.js';
import { isTrade, showOrder, showProtection, sizeOf, statusOf, type FrontendOrder, type HlStatus, type Protected } from './order-shapes.js';
import { positionBase } from './open-orders.js';

export interface OrderWithStatus {
  readonly order: FrontendOrder;
  readonly status: HlStatus;
  readonly statusTimestamp: number;
}

export interface Whose {
  readonly gateway: Gateway;
  readonly venue: Venue;
  readonly universe: Universe;
  readonly trader: Address;
}

export function withStatus({ venue, universe }: Whose, seen: SeenOrder): OrderWithStatus | null {
  const asset = universe.assets[seen.order.pairIndex];
  if (!asset || !isTrade(seen.order)) return null;
  return { order: showOrder(venue.feed.config(), asset, seen), status: statusOf(seen.order), statusTimestamp: seen.order.updatedAt };
}

/** By number, or by the client's own id; null where the trader has no such order. */
export async function findOrder(whose: Whose, oid: number | string): Promise<OrderWithStatus | null> {
  const { gateway, venue, trader } = whose;
  const { history, protections } = gateway.store.facade;
  const { slug } = venue.definition;
  const seen = typeof oid === 'string' ? await history.orderByCloid(slug, trader, oid) : await history.order(slug, trader, BigInt(oid));
  if (seen !== null) return withStatus(whose, seen);
  const guard = typeof oid === 'string' ? null : await protections.find(slug, trader, BigInt(oid));
  return guard && protectionStatus(whose, guard);
}

interface Standing {
  readonly pairIndex: number;
  readonly held: Protected;
  readonly status: HlStatus;
  readonly at: number;
}

/** A take-profit or stop-loss is open as long as its trade has that very price. */
async function protectionStatus(whose: Whose, guard: KnownProtection): Promise<OrderWithStatus | null> {
  const standing = (await onPosition(whose, guard)) ?? (await onClosed(whose, guard)) ?? (await onOrder(whose, guard));
  const asset = standing && whose.universe.assets[standing.pairIndex];
  if (!standing || !asset) return null;
  const order = showProtection(asset, guard, standing.held);
  return {
    order: standing.status === 'filled' ? { ...order, sz: ZERO_TEXT, triggerCondition: 'Triggered' } : order,
    status: standing.status,
    statusTimestamp: standing.at,
  };
}

async function onPosition(
  { gateway, venue, trader }: Whose,
  { tradeIndex, kind, price, seenAt }: KnownProtection,
): Promise<Standing | null> {
  const positions = await gateway.store.account.openPositions(venue.definition.slug, trader);
  const position = positions.find((open) => open.tradeIndex === tradeIndex)?.position;
  if (!position) return null;
  const held = { base: positionBase(venue.feed.config(), position), long: position.long };
  return { pairIndex: position.pairIndex, held, status: position[kind] === price ? 'open' : 'canceled', at: seenAt };
}

async function onClosed({ gateway, venue, trader }: Whose, { tradeIndex, kind, price }: KnownProtection): Promise<Standing | null> {
  const last = await gateway.store.facade.history.lastExecution(venue.definition.slug, trader, tradeIndex);
  if (last === null) return null;
  const { terms, action, place, sizeToken, collateralPriceUsd } = last;
  const priceUsd = collateralPriceUsd ?? collateralOf(venue.feed.config(), terms.collateralIndex)?.priceUsd ?? E8;
  const held = { base: toUnits(baseSize(sizeToken ?? 0n, priceUsd), BASE_SCALE, 'down'), long: terms.long };
  return { pairIndex: terms.pairIndex, held, status: action === kind && terms[kind] === price ? 'filled' : 'canceled', at: place.at };
}

async function onOrder({ gateway, venue, trader }: Whose, { tradeIndex, kind, price }: KnownProtection): Promise<Standing | null> {
  const seen = await gateway.store.facade.history.orderAt(venue.definition.slug, trader, `resting:${tradeIndex}`);
  if (seen === null) return null;
  const { order } = seen;
  const isSet = order.status === 'open' && order[kind] === price;
  const held = { base: sizeOf(venue.feed.config(), seen), long: order.long };
  return { pairIndex: order.pairIndex, held, status: isSet ? 'open' : 'canceled', at: order.updatedAt };
}
