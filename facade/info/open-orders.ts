import { collateralOf } from '../../core/account/describe-order.js';
import type { ListedPosition } from '../../core/ports/stores/account.js';
import { levelOf } from '../../core/domain/order-machine.js';
import type { MarketConfig } from '../../core/domain/market.js';
import type { PositionState } from '../../core/domain/position.js';
import type { ExchangeOrder } from '../../core/domain/relay/exchange-order.js';
import { entryBase } from '../../core/domain/pricing/size.js';
import type { SeenOrder } from '../../core/ports/stores/history.js';
import type { KnownProtection, Protection } from '../../core/ports/stores/protections.js';
import { askedLevel, keptPrice } from '../trade/plan/find-target.js';
import type { ExchangeRecord } from '../../core/ports/stores/exchange.js';
import { isReplyPending } from './bot-order-status.js';
import { isTrade, showOrder, showProtection, showRecord, sizeOf, type FrontendOrder, type AccountContext } from './order-shapes.js';

interface Found extends AccountContext {
  readonly config: MarketConfig;
  readonly orders: readonly SeenOrder[];
  readonly positions: readonly ListedPosition[];
  readonly protections: readonly KnownProtection[];
  /** The bot's orders by the ids of our orders, and those that are TP/SL by their own ids. */
  readonly ofOrders: ReadonlyMap<bigint, ExchangeRecord>;
  readonly ofProtections: ReadonlyMap<bigint, ExchangeRecord>;
  /** Ids of native orders that are TP/SL of positions. */
  readonly levelOrders: ReadonlySet<bigint>;
  /** TP/SL that are not on chain yet. */
  readonly awaited: readonly ExchangeRecord[];
}

/**
 * Everything that can trade without further action of its owner, newest first: resting orders of any origin, facade orders that are
 * being sent, and the TP/SL of positions. Native market orders that are being sent are not listed.
 */
export async function openOrders(account: AccountContext): Promise<FrontendOrder[]> {
  const found = await findAll(account);
  const open = [...restingOrders(found), ...attachedOrders(found)];
  return [...open, ...awaitedOrders(found, open)].sort((a, b) => b.oid - a.oid);
}

/** Open orders that are the TP/SL of a position, or of what a resting order will open. */
export async function openLevels(account: AccountContext): Promise<OpenLevels> {
  const found = await findAll(account);
  const attached = attachedOrders(found);
  const open = [...restingOrders(found).flatMap(({ children }) => children), ...attached];
  return { open, awaited: awaitedOrders(found, attached) };
}

export interface OpenLevels {
  readonly open: readonly FrontendOrder[];
  /** Being sent to the chain. */
  readonly awaited: readonly FrontendOrder[];
}

async function findAll(account: AccountContext): Promise<Found> {
  const { gateway, venue, trader } = account;
  const { facade, account: positionStore, exchange } = gateway.store;
  const { slug } = venue.definition;
  // Pending ones are read before open ones: what reaches the chain in between is found twice, and shown once.
  const [live, awaited] = await Promise.all([facade.history.liveOrders(slug, trader), exchange.awaited(slug, trader)]);
  const [openPositions, gone] = await Promise.all([positionStore.openPositions(slug, trader), positionStore.goneUnread(slug, trader)]);
  // Whether a trigger of a position that is gone was executed is not known: it is not canceled.
  const positions = [...openPositions, ...gone];
  const orders = live.filter(isListed);
  const wanted = [...orders.flatMap(ofOrder), ...positions.flatMap(ofPosition)];
  const protections = await facade.protections.identify(slug, trader, wanted, venue.clock.now());
  const relayed = orders.filter(({ isRelayed }) => isRelayed).map(({ id }) => id);
  const ids = protections.map(({ id }) => id);
  const levelOrders = new Set(live.flatMap(({ id, order }) => (levelOf(order) === null ? [] : [id])));
  const [ofOrders, ofProtections] = await Promise.all([exchange.ofOrders(slug, relayed), exchange.ofOids(slug, trader, ids)]);
  return { ...account, config: venue.feed.config(), orders, positions, protections, ofOrders, ofProtections, levelOrders, awaited };
}

/** The TP/SL of a position is listed with the position, under the id of the order that set it. */
const isListed = ({ order, isRelayed }: SeenOrder): boolean =>
  isTrade(order) && levelOf(order) === null && (order.status === 'open' || isRelayed);

/** The contract's slot of a resting order until it is filled or withdrawn. */
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

/** Several of our orders that are one order of the bot are shown as one, with its remaining size. */
function restingOrders({ universe, config, orders, protections, ofOrders, ofProtections }: Found): FrontendOrder[] {
  const rows = new Map<bigint, FrontendOrder>();
  const left = new Map<bigint, bigint>();
  for (const seen of orders) {
    const asset = universe.assets[seen.order.pairIndex];
    if (!asset) continue;
    const record = ofOrders.get(seen.id);
    if (record && isReplyPending(record)) continue;
    const base = sizeOf(config, seen);
    const children = protections
      .filter(({ tradeIndex }) => tradeIndex === restingSlot(seen))
      .map((own) => {
        const child = ofProtections.get(own.id);
        if (!child) return showProtection(asset, own, { base, long: seen.order.long });
        return showRecord(asset, child, { left: base, held: own.price });
      });
    const key = record?.oid ?? seen.id;
    left.set(key, (left.get(key) ?? 0n) + (record?.legs.find(({ orderId }) => orderId === seen.id)?.sizeBase ?? base));
    rows.set(
      key,
      record ? showRecord(asset, record, { left: left.get(key) ?? 0n, children }) : showOrder(config, asset, seen, { children }),
    );
  }
  return [...rows.values()];
}

/** A level that one bot order set on several trades is shown as one order. */
function attachedOrders(found: Found): FrontendOrder[] {
  const { universe, config, positions, protections } = found;
  const rows: FrontendOrder[] = [];
  const shown = new Set<KnownProtection>();
  const held = new Map(positions.map(({ tradeIndex, position }) => [tradeIndex, position]));
  for (const own of protections) {
    const record = recordOf(found, own);
    const asset = universe.assets[held.get(own.tradeIndex)?.pairIndex ?? -1];
    if (!asset || !record || shown.has(own)) continue;
    const members = protections.filter((other) => other.id === own.id && held.has(other.tradeIndex));
    members.forEach((member) => shown.add(member));
    const parts = members.flatMap(({ tradeIndex }) => held.get(tradeIndex) ?? []);
    const left = parts.reduce((sum, part) => sum + positionBase(config, part), 0n);
    rows.push(showRecord(asset, record, { left, held: firstHit(record, members) }));
  }
  for (const own of protections) {
    const position = held.get(own.tradeIndex);
    const asset = universe.assets[position?.pairIndex ?? -1];
    if (asset && position && !shown.has(own))
      rows.push(showProtection(asset, own, { base: positionBase(config, position), long: position.long }));
  }
  return rows;
}

/** The bot's order of this id. If it has the id of a native order, the level may have been moved since by another client. */
function recordOf(found: Found, own: KnownProtection): ExchangeRecord | null {
  const record = found.ofProtections.get(own.id);
  if (record?.manner !== 'protection') return null;
  return found.levelOrders.has(own.id) && !isSetBy(found, record, own) ? null : record;
}

function isSetBy({ config, positions }: Found, { order, legs }: ExchangeRecord, { tradeIndex, kind, price }: Protection): boolean {
  const asked = askedLevel(order);
  const position = positions.find((listed) => listed.tradeIndex === tradeIndex)?.position;
  if (!position || kind !== asked.kind || !legs.some((leg) => leg.tradeIndex === tradeIndex)) return false;
  return price === asked.price || price === keptPrice(config, position, asked);
}

/** Trades opened at different prices may keep one stop loss at different prices: the one that the market reaches first is shown. */
export const firstHit = ({ order }: ExchangeRecord, levels: readonly Pick<Protection, 'kind' | 'price'>[]): bigint | undefined =>
  levels
    .map(({ price }) => price)
    .sort((a, b) => Number(a - b))
    .at(isHitFromAbove(order, levels[0]?.kind) ? -1 : 0);

/** A sell has its stop below the market and its take profit above it. */
const isHitFromAbove = ({ isBuy }: ExchangeOrder, kind: Protection['kind'] | undefined): boolean => (kind === 'sl') === !isBuy;

/** Levels that are being sent for open positions. */
function awaitedOrders({ universe, config, positions, awaited }: Found, open: readonly FrontendOrder[]): FrontendOrder[] {
  const levels = awaited.filter(({ manner }) => manner === 'protection');
  return levels.flatMap((record) => {
    const asset = universe.assets[record.pairIndex];
    const held = positions.filter(({ tradeIndex }) => record.legs.some((leg) => leg.tradeIndex === tradeIndex));
    const isOpen = open.some(({ oid }) => oid === Number(record.oid));
    if (!asset || held.length === 0 || isOpen) return [];
    return [showRecord(asset, record, { left: held.reduce((sum, { position }) => sum + positionBase(config, position), 0n) })];
  });
}

/** 1e18 base units. */
export function positionBase(config: MarketConfig, position: PositionState): bigint {
  const collateral = collateralOf(config, position.collateralIndex);
  return collateral ? entryBase(position, collateral) : 0n;
}
