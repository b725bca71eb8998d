import type { AgentCaller } from '../../../core/access/caller.js';
import { levelKey, levelOf } from '../../../core/domain/order-machine.js';
import type { OrderStatus } from '../../../core/domain/order.js';
import { indexOf as indexOfPlace } from '../../../core/domain/triggers.js';
import type { Gateway, Venue } from '../../../core/gateway.js';
import type { KnownOrder } from '../../../core/ports/stores/orders.js';
import type { ExchangeRecord } from '../../../core/ports/stores/exchange.js';
import type { Trigger, WantedTrigger } from '../../../core/ports/stores/triggers.js';
import type { MarketConfig } from '../../../core/domain/market.js';
import type { PositionState } from '../../../core/domain/position.js';
import { marketView } from '../../../core/domain/pricing/market-view.js';
import type { ExchangeOrder } from '../../../core/domain/relay/exchange-order.js';
import { storedStopLoss } from '../../../core/trading/order-request.js';

/** How a bot names an order. */
export type OrderName = { readonly oid: bigint } | { readonly cloid: string };

/** What a name refers to: orders of ours, triggers of open trades, or both. */
export interface Target {
  readonly pairIndex: number;
  readonly record: ExchangeRecord | null;
  readonly orders: readonly KnownOrder[];
  readonly triggers: readonly WantedTrigger[];
  /** Triggers of resting or pending orders; absent if there are none. */
  readonly children?: readonly Child[];
}

/** A trigger that has no trade yet. */
export interface Child {
  readonly record: ExchangeRecord;
  readonly parent: KnownOrder;
  readonly level: Pick<WantedTrigger, 'kind' | 'price'>;
}

type StoreOf = Pick<Gateway, 'store'>;
type DefinitionOf = Pick<Venue, 'definition'>;
type TraderOf = Pick<AgentCaller, 'trader'>;

/**
 * Finds any order of the trader, whatever its origin; null if none has that name. `maker`: an action that may itself have created an
 * order of that name, as a change that keeps the cloid does; that order is excluded.
 */
export async function findTarget(
  gateway: StoreOf,
  venue: DefinitionOf,
  caller: TraderOf,
  name: OrderName,
  maker: bigint | null = null,
): Promise<Target | null> {
  const { slug } = venue.definition;
  if ('cloid' in name) return ofCloid(gateway, venue, caller, { ...name, maker });
  const record = await gateway.store.exchange.find(slug, caller.trader, name.oid);
  return record === null ? ofId(gateway, venue, caller, name.oid) : ofRecord(gateway, venue, caller, record);
}

/** Equal for two names of the same target. */
export const identityOf = ({ record, orders, triggers, children = [] }: Target): string =>
  [
    String(record?.oid),
    ...orders.map(({ id }) => String(id)),
    ...triggers.map(({ kind, tradeIndex }) => levelKey(kind, tradeIndex)),
    ...children.map(({ level, parent }) => `${level.kind} of ${parent.id}`),
  ].join();

/** Orders with one cloid that are looked at: changes that failed leave any number behind. */
const MOST_OF_CLOID = 5;

/** The newest live order with the cloid: a failed change leaves the older one in place. Without a live one, the newest. */
async function ofCloid(
  gateway: StoreOf,
  venue: DefinitionOf,
  caller: TraderOf,
  { cloid, maker }: { readonly cloid: string; readonly maker: bigint | null },
): Promise<Target | null> {
  const named = await gateway.store.exchange.ofCloid(venue.definition.slug, caller.trader, cloid, MOST_OF_CLOID);
  const records = named.filter(({ action }) => action !== maker);
  const targets = await Promise.all(records.map((record) => ofRecord(gateway, venue, caller, record)));
  const lives = ({ orders, triggers, children = [] }: Target): boolean =>
    triggers.length + children.length > 0 || orders.some(({ order }) => LIVE_STATUSES.has(order.status));
  return targets.find(lives) ?? targets[0] ?? null;
}

const LIVE_STATUSES: ReadonlySet<OrderStatus> = new Set(['prepared', 'pending', 'open', 'timed_out']);

async function ofRecord({ store }: StoreOf, { definition }: DefinitionOf, { trader }: TraderOf, record: ExchangeRecord): Promise<Target> {
  const { slug } = definition;
  const ids = record.legs.flatMap(({ orderId }) => orderId ?? []);
  const orders = (await Promise.all(ids.map((id) => store.orders.find(slug, trader, id)))).flatMap((order) => order ?? []);
  const own = await store.facade.triggers.ofOwners(slug, trader, [record.oid]);
  const triggers = own.flatMap(onTrade);
  const found = await Promise.all(
    own.filter(isOnOrder).map(async ({ kind, price, parent: id }): Promise<Child | null> => {
      const parent = id === null ? null : await store.orders.find(slug, trader, id);
      return parent && { record, parent, level: { kind, price } };
    }),
  );
  const children = found.filter((child) => child !== null);
  return { pairIndex: record.pairIndex, record, orders, triggers, ...(children.length > 0 && { children }) };
}

/** A trigger that stands on an open trade, or is about to. */
const onTrade = ({ phase, place, kind, price }: Trigger): WantedTrigger[] =>
  (phase === 'standing' || phase === 'underWay') && place?.startsWith('trade:') === true
    ? [{ tradeIndex: indexOfPlace(place), kind, price }]
    : [];

/** A trigger that came with an opening which is not executed yet. One that is about to replace it counts once it is indexed. */
const isOnOrder = ({ phase, place }: Trigger): boolean =>
  phase === 'waiting' || (phase === 'standing' && place?.startsWith('resting:') === true);

async function ofId({ store }: StoreOf, { definition }: DefinitionOf, { trader }: TraderOf, id: bigint): Promise<Target | null> {
  const { slug } = definition;
  const [order, own] = await Promise.all([store.orders.find(slug, trader, id), store.facade.triggers.ofOwners(slug, trader, [id])]);
  const triggers = own.flatMap(onTrade);
  if (order !== null) {
    const isTrigger = levelOf(order.order) !== null && order.order.status === 'open';
    return { pairIndex: order.order.pairIndex, record: null, orders: isTrigger ? [] : [order], triggers };
  }
  const [trigger] = triggers;
  const position = trigger && (await store.account.openPositions(slug, trader)).find(({ tradeIndex }) => tradeIndex === trigger.tradeIndex);
  return trigger && position ? { pairIndex: position.position.pairIndex, record: null, orders: [], triggers: [trigger] } : null;
}

/** The trigger to remove from its position when the order is canceled; null for an order that is none, or does not rest. */
export function triggerOfOrder({ order }: KnownOrder): WantedTrigger | null {
  const kind = levelOf(order);
  const { tradeIndex, price, status } = order;
  return kind === null || tradeIndex === null || status !== 'open' ? null : { tradeIndex, kind, price };
}

/** Whether an order is about to set this trigger. */
export async function isAwaited(
  { store }: StoreOf,
  { definition }: DefinitionOf,
  { trader }: TraderOf,
  { tradeIndex, kind }: Pick<WantedTrigger, 'tradeIndex' | 'kind'>,
): Promise<boolean> {
  const live = await store.facade.triggers.live(definition.slug, trader);
  return live.some((trigger) => trigger.phase === 'underWay' && trigger.kind === kind && trigger.place === `trade:${tradeIndex}`);
}

/**
 * Whether a later order is about to set a trigger that this order has on a trade: the trigger is that one's if it is mined, and still this
 * one's if it fails.
 */
export async function isContested({ store }: StoreOf, { definition }: DefinitionOf, { trader }: TraderOf, oid: bigint): Promise<boolean> {
  const live = await store.facade.triggers.live(definition.slug, trader);
  return live.some(
    (own) =>
      own.owner === oid &&
      own.phase !== 'waiting' &&
      live.some(
        (later) =>
          later.owner !== oid &&
          later.phase === 'underWay' &&
          later.kind === own.kind &&
          later.place === own.place &&
          (later.job ?? 0n) > (own.job ?? 0n),
      ),
  );
}

/** Whether it is open what the order's triggers are: a later order may take one over, or its own change of a resting order is not indexed. */
export async function isUndecided(gateway: StoreOf, venue: DefinitionOf, caller: TraderOf, oid: bigint): Promise<boolean> {
  if (await isContested(gateway, venue, caller, oid)) return true;
  const own = await gateway.store.facade.triggers.ofOwners(venue.definition.slug, caller.trader, [oid]);
  return own.some(({ phase, place }) => phase === 'underWay' && place?.startsWith('resting:') === true);
}

/** Whether nothing is left of the order's triggers. */
export async function isOver({ store }: StoreOf, { definition }: DefinitionOf, { trader }: TraderOf, oid: bigint): Promise<boolean> {
  const own = await store.facade.triggers.ofOwners(definition.slug, trader, [oid]);
  return own.every(({ phase }) => phase === 'over' || phase === 'failed');
}

/** Whether the order is a trigger of this trade, or one that came with an opening. */
export const isOfTrade = ({ parentOrder, legs }: ExchangeRecord, tradeIndex: number): boolean =>
  parentOrder != null || legs.some((leg) => leg.role === 'protect' && leg.tradeIndex === tradeIndex);

type Level = Pick<WantedTrigger, 'kind' | 'price'>;

/** The level that a bot's order sets on its trades: a limit order against a position is its take profit. */
export const askedLevel = ({ style, limit }: ExchangeOrder): Level =>
  style.kind === 'trigger' ? { kind: style.tpsl, price: style.trigger } : { kind: 'tp', price: limit };

/** The price at which the contract stores a level: it clamps a stop loss that is too far away. A dropped one keeps the requested price. */
export function keptPrice(config: MarketConfig, position: PositionState, { kind, price }: Level): bigint {
  const view = kind === 'sl' ? marketView(config, position) : null;
  const kept = view && storedStopLoss(view, { ...position, sl: price, price: position.openPrice });
  return kept === null || kept === 0n ? price : kept;
}
