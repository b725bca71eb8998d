import type { AgentCaller } from '../access/caller.js';
import type { KnownProtection } from '../facade/protection-store.js';
import type { Gateway, Venue } from '../gateway.js';
import type { KnownOrder } from '../orders/orders-store.js';
import type { ExchangeRecord } from './exchange-store.js';

/** How a bot names an order. */
export type OrderName = { readonly oid: bigint } | { readonly cloid: string };

/** What a name stands for: orders of ours, protections of positions, or both. */
export interface Target {
  readonly pairIndex: number;
  readonly record: ExchangeRecord | null;
  readonly orders: readonly KnownOrder[];
  readonly protections: readonly Pick<KnownProtection, 'tradeIndex' | 'kind' | 'price'>[];
}

/** Any order of the trader, wherever it was made; null when there is none of that name. */
export async function findTarget(gateway: Gateway, venue: Venue, caller: AgentCaller, name: OrderName): Promise<Target | null> {
  const { exchange } = gateway.store;
  const { slug } = venue.definition;
  const record =
    'oid' in name ? await exchange.find(slug, caller.trader, name.oid) : await exchange.findByCloid(slug, caller.trader, name.cloid);
  if (record !== null) return ofRecord(gateway, venue, caller, record);
  return 'oid' in name ? ofId(gateway, venue, caller, name.oid) : null;
}

async function ofRecord({ store }: Gateway, { definition }: Venue, { trader }: AgentCaller, record: ExchangeRecord): Promise<Target> {
  const ids = record.legs.flatMap(({ orderId }) => orderId ?? []);
  const orders = await Promise.all(ids.map((id) => store.orders.find(definition.slug, trader, id)));
  const { style, limit } = record.order;
  const level = style.kind === 'trigger' ? { kind: style.tpsl, price: style.trigger } : { kind: 'tp' as const, price: limit };
  const protections = record.legs.flatMap(({ role, tradeIndex }) =>
    role === 'protect' && tradeIndex !== null ? [{ tradeIndex, ...level }] : [],
  );
  return { pairIndex: record.pairIndex, record, orders: orders.flatMap((order) => order ?? []), protections };
}

async function ofId({ store }: Gateway, { definition }: Venue, { trader }: AgentCaller, id: bigint): Promise<Target | null> {
  const { slug } = definition;
  const order = await store.orders.find(slug, trader, id);
  if (order !== null) return { pairIndex: order.order.pairIndex, record: null, orders: [order], protections: [] };
  const protection = await store.facade.protections.find(slug, trader, id);
  const position =
    protection && (await store.account.openPositions(slug, trader)).find(({ tradeIndex }) => tradeIndex === protection.tradeIndex);
  return protection && position ? { pairIndex: position.position.pairIndex, record: null, orders: [], protections: [protection] } : null;
}
