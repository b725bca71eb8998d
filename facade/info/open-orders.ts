import { collateralOf, tradeSize } from '../../core/account/describe-order.js';
import type { ListedPosition } from '../../core/account/account-store.js';
import { toUnits } from '../../core/domain/decimal.js';
import type { MarketConfig } from '../../core/domain/market.js';
import type { PositionState } from '../../core/domain/position.js';
import type { SeenOrder } from '../../core/facade/history-store.js';
import type { KnownProtection, Protection } from '../../core/facade/protection-store.js';
import type { Gateway, Venue } from '../../core/gateway.js';
import type { Address } from '../../core/ports.js';
import { BASE_SCALE } from '../format.js';
import type { Universe } from '../universe.js';
import { isTrade, showOrder, showProtection, type FrontendOrder } from './order-shapes.js';

/**
 * Everything that can still trade without another word of its owner, newest first: resting orders wherever they were made, those of the
 * facade that are on their way, and the take-profits and stop-losses of positions. A native market order on its way is none of them.
 */
export async function openOrders(gateway: Gateway, venue: Venue, { assets }: Universe, trader: Address): Promise<FrontendOrder[]> {
  const { facade, account } = gateway.store;
  const { slug } = venue.definition;
  const config = venue.feed.config();
  const [live, positions] = await Promise.all([facade.history.liveOrders(slug, trader), account.openPositions(slug, trader)]);
  const orders = live.filter(isListed);
  const wanted = [...orders.flatMap(ofOrder), ...positions.flatMap(ofPosition)];
  const known = await facade.protections.identify(slug, trader, wanted, venue.clock.now());
  const onSlot = (slot: number | null): KnownProtection[] => known.filter(({ tradeIndex }) => tradeIndex === slot);
  const resting = orders.flatMap((seen) => {
    const asset = assets[seen.order.pairIndex];
    return asset ? [showOrder(config, asset, seen, onSlot(restingSlot(seen)))] : [];
  });
  const attached = positions.flatMap(({ tradeIndex, position }) => {
    const asset = assets[position.pairIndex];
    const held = { base: positionBase(config, position), long: position.long };
    return asset ? onSlot(tradeIndex).map((own) => showProtection(asset, own, held)) : [];
  });
  return [...resting, ...attached].sort((a, b) => b.oid - a.oid);
}

const isListed = ({ order, isRelayed }: SeenOrder): boolean => isTrade(order) && (order.status === 'open' || isRelayed);

/** The slot on chain that a resting order takes until it is filled or withdrawn. */
export const restingSlot = ({ orderKey }: SeenOrder): number | null =>
  orderKey?.startsWith('resting:') ? Number(orderKey.slice('resting:'.length)) : null;

function ofOrder(seen: SeenOrder): Protection[] {
  const slot = restingSlot(seen);
  return slot === null ? [] : protectionsOf(slot, seen.order);
}

const ofPosition = ({ tradeIndex, position }: ListedPosition): Protection[] => protectionsOf(tradeIndex, position);

/** 0 = none. */
function protectionsOf(tradeIndex: number, { tp, sl }: { readonly tp: bigint; readonly sl: bigint }): Protection[] {
  const set = [
    { tradeIndex, kind: 'tp', price: tp },
    { tradeIndex, kind: 'sl', price: sl },
  ] as const;
  return set.filter(({ price }) => price > 0n);
}

/** 1e18 base units. */
export function positionBase(config: MarketConfig, position: PositionState): bigint {
  const collateral = collateralOf(config, position.collateralIndex);
  return collateral ? toUnits(tradeSize(position, collateral), BASE_SCALE, 'down') : 0n;
}
