import type { CreateOrderRequest, Hex, Order } from './api.js';
import { priceUnits, symbolOf, type OrderView, type OwnOrders } from './verify-context.js';

interface Known {
  readonly view: OrderView | null;
  readonly hashes: readonly Hex[];
  readonly prices: readonly string[];
}

/** The oldest is forgotten first. */
const MOST_KNOWN = 5_000;
const MOST_PRICES = 20;

export function createOwnOrders(): OwnOrders {
  const known = new Map<string, Known>();
  const keep = (id: string, value: Known): void => {
    known.delete(id);
    known.set(id, value);
    const [oldest] = known.keys();
    if (known.size > MOST_KNOWN && oldest !== undefined) known.delete(oldest);
  };
  const of = (id: string): Known => known.get(id) ?? { view: null, hashes: [], prices: [] };
  return {
    prepared(order, asked) {
      const view = viewOfRequest(asked, order);
      keep(order.id, { ...of(order.id), view, prices: withPrice(of(order.id).prices, view.price) });
    },
    sent(id, hash, { price, size } = {}) {
      const { view, hashes, prices } = of(id);
      const changed = view === null ? null : { ...view, price: price ?? view.price, size: size ?? view.size };
      keep(id, { view: changed, hashes: hashes.includes(hash) ? hashes : [...hashes, hash], prices: withPrice(prices, price) });
    },
    viewOf: (id) => of(id).view,
    hashesOf: (id) => of(id).hashes,
    pricesOf: (id) => of(id).prices,
    hashesOfTwins: (id, view) =>
      [...known].flatMap(([other, { view: its, hashes }]) => (other !== id && its !== null && isTwin(its, view) ? hashes : [])),
  };
}

const withPrice = (prices: readonly string[], price: string | null | undefined): readonly string[] =>
  price == null ? prices : [...prices.filter((each) => each !== price), price].slice(-MOST_PRICES);

/** What the request leaves open is as the reply says it. */
export const viewOfRequest = (asked: CreateOrderRequest, order: Pick<Order, 'leverage' | 'collateral'>): OrderView => ({
  market: symbolOf(asked.market),
  side: asked.side,
  type: asked.type,
  price: asked.type === 'market' ? null : (asked.price ?? null),
  leverage: asked.reduceOnly === true ? order.leverage : (asked.leverage ?? order.leverage),
  collateral: asked.collateral ?? order.collateral,
  reduceOnly: asked.reduceOnly === true,
  size: asked.size,
});

const isTwin = (a: OrderView, b: OrderView): boolean =>
  symbolOf(a.market) === symbolOf(b.market) &&
  a.side === b.side &&
  a.type === b.type &&
  a.reduceOnly === b.reduceOnly &&
  priceIn(a) === priceIn(b);

const priceIn = ({ price }: OrderView): bigint | null => (price === null ? null : priceUnits('price', price));
