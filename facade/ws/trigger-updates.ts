import type { FrontendOrder, OrderWithStatus, AccountContext } from '../info/order-shapes.js';
import { openLevels } from '../info/open-orders.js';
import { findOrder } from '../info/order-status.js';

export interface TriggerUpdates {
  begin(account: AccountContext): Promise<void>;
  describe(account: AccountContext): Promise<OrderWithStatus[]>;
  /** Whether a level of the last list is still being sent, and may end without a journal entry. */
  isWaiting(): boolean;
}

/** More levels than a bot sends between two changes of its account. */
const NEWEST = 50;

/** TP/SL have no events of their own: the current list is compared with the previous one. */
export function createTriggerUpdates(): TriggerUpdates {
  let listed: ReadonlyMap<number, FrontendOrder> = new Map();
  /** The newest levels sent by bots that were already processed. */
  let looked: ReadonlySet<number> = new Set();
  let isWaiting = false;

  const read = async (account: AccountContext): Promise<ReadonlyMap<number, FrontendOrder>> => {
    const { open, awaited } = await openLevels(account);
    isWaiting = awaited.length > 0;
    return new Map([...open, ...awaited].map((order) => [order.oid, order]));
  };

  return {
    isWaiting: () => isWaiting,
    async begin(account) {
      looked = new Set(await newest(account));
      listed = await read(account);
    },
    async describe(account) {
      const before = listed;
      const sent = await newest(account);
      const now = await read(account);
      const gone = [...before.keys()].filter((oid) => !now.has(oid));
      // A level that was replaced before it was ever listed gets an update too: its bot has its id.
      const unlisted = sent.filter((oid) => !looked.has(oid) && !before.has(oid) && !now.has(oid));
      const found = await Promise.all([...gone, ...unlisted].map((oid) => findOrder(account, oid)));
      const ended = found.filter((order) => order !== null).filter(({ status }) => status !== 'open');
      listed = now;
      looked = new Set(sent.filter((oid) => !unlisted.includes(oid) || ended.some(({ order }) => order.oid === oid)));
      const begun = [...now.values()].filter((order) => !isSame(before.get(order.oid), order));
      return [...ended, ...begun.map((order): OrderWithStatus => ({ order, status: 'open', statusTimestamp: account.venue.clock.now() }))];
    },
  };
}

async function newest({ gateway, venue, trader }: AccountContext): Promise<number[]> {
  return (await gateway.store.exchange.levels(venue.definition.slug, trader, NEWEST)).map(({ oid }) => Number(oid));
}

const isSame = (before: FrontendOrder | undefined, now: FrontendOrder): boolean =>
  before?.sz === now.sz && before.triggerPx === now.triggerPx && before.cloid === now.cloid;

/** More stop losses than an account has at a time. */
const MOST_MOVED = 2_000;

/** Texts about stop losses that the contract moved, one for each price a stop loss is moved to. */
export function createMovedStops(): (orders: readonly OrderWithStatus[]) => string[] {
  const lastPrices = new Map<number, string>();
  return (orders) =>
    orders.flatMap(({ order, status }) => {
      const { oid, coin, triggerPx, askedTriggerPx } = order;
      if (status !== 'open' || askedTriggerPx === undefined || lastPrices.get(oid) === triggerPx) return [];
      lastPrices.delete(oid);
      lastPrices.set(oid, triggerPx);
      const [oldest] = lastPrices.keys();
      if (lastPrices.size > MOST_MOVED && oldest !== undefined) lastPrices.delete(oldest);
      return [
        `Stop loss ${oid} on ${coin} was moved from ${askedTriggerPx} to ${triggerPx}: at the leverage of its position the contract keeps none further away, where liquidation would come first.`,
      ];
    });
}
