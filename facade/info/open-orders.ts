import { collateralOf } from '../../core/account/describe-order.js';
import type { ListedPosition } from '../../core/ports/stores/account.js';
import { levelOf } from '../../core/domain/order-machine.js';
import type { MarketConfig } from '../../core/domain/market.js';
import type { PositionState } from '../../core/domain/position.js';
import type { ExchangeOrder } from '../../core/domain/relay/exchange-order.js';
import { entryBase } from '../../core/domain/pricing/size.js';
import type { SeenOrder } from '../../core/ports/stores/history.js';
import type { Trigger, WantedTrigger } from '../../core/ports/stores/triggers.js';
import type { ExchangeRecord } from '../../core/ports/stores/exchange.js';
import { isReplyPending } from './bot-order-status.js';
import { isTrade, showOrder, showRecord, showTrigger, sizeOf, type FrontendOrder, type AccountContext } from './order-shapes.js';

interface Found extends AccountContext {
  readonly config: MarketConfig;
  readonly orders: readonly SeenOrder[];
  readonly positions: readonly ListedPosition[];
  readonly triggers: readonly Trigger[];
  /** The bot's orders by the ids of our orders, and those of triggers by their own ids. */
  readonly ofOrders: ReadonlyMap<bigint, ExchangeRecord>;
  readonly ofTriggers: ReadonlyMap<bigint, ExchangeRecord>;
}

/**
 * Everything that can trade without further action of its owner, newest first: resting orders of any origin, facade orders that are
 * being sent, and the triggers of positions. Native market orders that are being sent are not listed.
 */
export async function openOrders(account: AccountContext): Promise<FrontendOrder[]> {
  const found = await findAll(account);
  return [...restingOrders(found), ...attachedOrders(found)].sort((a, b) => b.oid - a.oid);
}

/** Open orders that are triggers of a position, or of what a resting order will open. */
export async function openTriggers(account: AccountContext): Promise<OpenTriggers> {
  const found = await findAll(account);
  const open = [...restingOrders(found).flatMap(({ children }) => children), ...attachedOrders(found)];
  return { open, isAnyUnderWay: found.triggers.some(({ phase }) => phase === 'underWay') };
}

export interface OpenTriggers {
  readonly open: readonly FrontendOrder[];
  /** One is being sent, and may end without a journal entry. */
  readonly isAnyUnderWay: boolean;
}

async function findAll(account: AccountContext): Promise<Found> {
  const { gateway, venue, trader } = account;
  const { facade, account: positionStore, exchange } = gateway.store;
  const { slug } = venue.definition;
  // Read in this order: a trigger of an order that is filled in between is found on its trade.
  const live = await facade.history.liveOrders(slug, trader);
  const triggers = await facade.triggers.live(slug, trader);
  const [openPositions, gone] = await Promise.all([positionStore.openPositions(slug, trader), positionStore.goneUnread(slug, trader)]);
  // Whether a trigger of a position that is gone was executed is not known: it is not canceled.
  const positions = [...openPositions, ...gone];
  const orders = live.filter(isListed);
  const relayed = orders.filter(({ isRelayed }) => isRelayed).map(({ id }) => id);
  const owners = triggers.filter(({ origin }) => origin === 'bot').map(({ owner }) => owner);
  const [ofOrders, ofTriggers] = await Promise.all([exchange.ofOrders(slug, relayed), exchange.ofOids(slug, trader, owners)]);
  return { ...account, config: venue.feed.config(), orders, positions, triggers, ofOrders, ofTriggers };
}

/** The triggers of a position are listed with the position, under the ids of the orders that set them. */
const isListed = ({ order, isRelayed }: SeenOrder): boolean =>
  isTrade(order) && levelOf(order) === null && (order.status === 'open' || isRelayed);

/** The contract's index of a resting order until it is filled or withdrawn. */
const restingPlace = ({ orderKey }: SeenOrder): string | null => (orderKey?.startsWith('resting:') === true ? orderKey : null);

/** Several of our orders that are one order of the bot are shown as one, with its remaining size. */
function restingOrders({ universe, config, orders, positions, triggers, ofOrders, ofTriggers }: Found): FrontendOrder[] {
  const rows = new Map<bigint, FrontendOrder>();
  const held = new Map(positions.map(({ tradeIndex, position }) => [`trade:${tradeIndex}`, positionBase(config, position)]));
  const left = new Map<bigint, bigint>();
  for (const { owner, place } of triggers) left.set(owner, (left.get(owner) ?? 0n) + (held.get(place ?? '') ?? 0n));
  for (const seen of orders) {
    const asset = universe.assets[seen.order.pairIndex];
    if (!asset) continue;
    const record = ofOrders.get(seen.id);
    if (record && isReplyPending(record)) continue;
    const base = sizeOf(config, seen);
    const children = triggers
      .filter(({ phase, place }) => phase === 'standing' && place === restingPlace(seen))
      .map((own) => {
        const child = ofTriggers.get(own.owner);
        if (!child) return showTrigger(asset, own, { base, long: seen.order.long });
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

/** Of two at one price, of which the later one is under way, the later one is listed. */
const isSetAgain = (own: Trigger, later: Trigger): boolean =>
  later.phase === 'underWay' &&
  later.place === own.place &&
  later.kind === own.kind &&
  later.price === own.price &&
  (later.job ?? 0n) > (own.job ?? 0n);

/** A trigger that one bot order set on several trades is shown as one order. */
function attachedOrders({ universe, config, positions, triggers, ofOrders, ofTriggers }: Found): FrontendOrder[] {
  const held = new Map(positions.map(({ tradeIndex, position }) => [`trade:${tradeIndex}`, position]));
  const onTrades = new Map<bigint, Trigger[]>();
  for (const trigger of triggers.filter((each) => !triggers.some((other) => isSetAgain(each, other))))
    if (held.has(trigger.place ?? '')) onTrades.set(trigger.owner, [...(onTrades.get(trigger.owner) ?? []), trigger]);
  return [...onTrades.values()].flatMap((own): FrontendOrder[] => {
    const parts = own.flatMap(({ place }) => held.get(place ?? '') ?? []);
    const [first, position] = [own[0], parts[0]];
    const asset = universe.assets[position?.pairIndex ?? -1];
    if (!asset || !first || !position) return [];
    const base = parts.reduce((sum, part) => sum + positionBase(config, part), 0n);
    const record = ofTriggers.get(first.owner);
    if (!record) return [showTrigger(asset, first, { base, long: position.long })];
    // An order that also opens is listed with its part that rests.
    if ([...ofOrders.values()].some(({ oid }) => oid === record.oid)) return [];
    const standing = own.filter(({ phase }) => phase === 'standing');
    return [showRecord(asset, record, { left: base, held: standing.length === 0 ? undefined : firstHit(record, standing) })];
  });
}

/** Trades opened at different prices may keep one stop loss at different prices: the one that the market reaches first is shown. */
export const firstHit = ({ order }: ExchangeRecord, levels: readonly Pick<WantedTrigger, 'kind' | 'price'>[]): bigint | undefined =>
  levels
    .map(({ price }) => price)
    .sort((a, b) => Number(a - b))
    .at(isHitFromAbove(order, levels[0]?.kind) ? -1 : 0);

/** A sell has its stop below the market and its take profit above it. */
const isHitFromAbove = ({ isBuy }: ExchangeOrder, kind: WantedTrigger['kind'] | undefined): boolean => (kind === 'sl') === !isBuy;

/** 1e18 base units. */
export function positionBase(config: MarketConfig, position: PositionState): bigint {
  const collateral = collateralOf(config, position.collateralIndex);
  return collateral ? entryBase(position, collateral) : 0n;
}
