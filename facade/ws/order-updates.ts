import type { SeenOrder } from '../../core/ports/stores/history.js';
import { levelOf } from '../../core/domain/order-machine.js';
import type { Order } from '../../core/domain/order.js';
import type { JournalEntry, JournalFact } from '../../core/ports/stores/journal.js';
import type { ExchangeRecord } from '../../core/ports/stores/exchange.js';
import { isAboutToRest, isReplyPending, recordStatus, withCancelWords } from '../info/bot-order-status.js';
import { fillsOf, sizeOfFills, type OrderFills } from '../info/order-fills.js';
import { isTrade, showOrder, statusOf, type AccountContext, type FrontendOrder, type OrderWithStatus } from '../info/order-shapes.js';
import { openTriggers } from '../info/open-orders.js';
import { findOrder, takenOver } from '../info/order-status.js';

export interface OrderUpdates {
  /** Reads the current state, so that only later changes are published. */
  begin(account: AccountContext): Promise<void>;
  /** One update per change of a bot's order, oldest first. */
  describe(account: AccountContext, entries: readonly JournalEntry[]): Promise<OrderWithStatus[]>;
  /** Whether it must be polled although the journal has no entry. */
  isWaiting(): boolean;
}

interface Change {
  readonly id: bigint;
  /** null if a reorganisation removed the order. */
  readonly order: Order | null;
  /** For a correction: the state published before. */
  readonly before: Order | null;
}

/** More than an account has pending at a time. */
const MAX_PUBLISHED = 2_000;
/** A bot's record is stored a moment after its first order; it is retried this often. */
const RECORD_TRIES = 5;
const RECORD_WAIT_MS = 40;

export function createOrderUpdates(): OrderUpdates {
  const triggers = createTriggerUpdates();
  /** The last published update of each order, so that repetitions are skipped. */
  const published = new Map<number, string>();

  const isChanged = (shown: OrderWithStatus): boolean => {
    const { oid } = shown.order;
    const text = JSON.stringify([shown.order, shown.status]);
    if (published.get(oid) === text) return false;
    published.delete(oid);
    published.set(oid, text);
    const [oldest] = published.keys();
    if (published.size > MAX_PUBLISHED && oldest !== undefined) published.delete(oldest);
    return true;
  };

  return {
    begin: (account) => triggers.begin(account),
    isWaiting: () => triggers.isWaiting(),
    async describe(account, entries) {
      const changes = entries.flatMap(({ fact }) => changesOf(fact));
      const shown = changes.length === 0 ? [] : await showChanges(account, changes);
      return (await withCancelWords(account, [...shown, ...(await triggers.describe(account))])).filter(isChanged);
    },
  };
}

function changesOf(fact: JournalFact): Change[] {
  if (fact.kind === 'order') return [{ id: fact.id, order: fact.order, before: null }];
  if (fact.kind !== 'correction' || fact.of.kind !== 'order') return [];
  return [{ id: fact.of.id, order: fact.of.order, before: fact.of.before }];
}

async function showChanges(account: AccountContext, changes: readonly Change[]): Promise<OrderWithStatus[]> {
  const { gateway, venue, trader } = account;
  const { slug } = venue.definition;
  const ids = [...new Set(changes.map(({ id }) => id))];
  const seen = new Map((await gateway.store.facade.history.ordersOf(slug, trader, ids)).map((order) => [order.id, order]));
  const records = await readRecords(
    account,
    ids.filter((id) => seen.get(id)?.isRelayed),
  );
  const legs = [...records.values()].flatMap((record) => record.legs.flatMap(({ orderId }) => orderId ?? []));
  const siblings = await gateway.store.facade.history.ordersOf(slug, trader, [...new Set(legs)]);
  const current = new Map([...siblings, ...seen.values()].map((order) => [order.id, order]));
  const fills = await fillsOf(account, [...current.values(), ...changes.flatMap(({ order }) => (order === null ? [] : [{ order }]))]);
  const natives = [...seen.values()].filter(({ order, isRelayed }) => !isRelayed && levelOf(order) !== null).map(({ id }) => id);
  // Published as canceled when the bot's order set the level again.
  const over = await takenOver(account, natives);
  return changes.flatMap((change) => {
    if (over.has(change.id)) return [];
    const shown = showChange(account, change, { current, record: records.get(change.id) ?? null, fills });
    return shown === null ? [] : [shown];
  });
}

/** Records of orders that came through the facade. */
async function readRecords({ gateway, venue }: AccountContext, ids: readonly bigint[]): Promise<ReadonlyMap<bigint, ExchangeRecord>> {
  for (let tries = 1; ; tries += 1) {
    const found = await gateway.store.exchange.ofOrders(venue.definition.slug, ids);
    if (tries === RECORD_TRIES || ids.every((id) => found.has(id))) return found;
    await venue.clock.sleep(RECORD_WAIT_MS, gateway.stopping);
  }
}

interface CurrentState {
  /** Current orders, each set to the state of its change when the change is published. */
  readonly current: Map<bigint, SeenOrder>;
  readonly record: ExchangeRecord | null;
  readonly fills: OrderFills;
}

function showChange(
  account: AccountContext,
  { id, order, before }: Change,
  { current, record, fills }: CurrentState,
): OrderWithStatus | null {
  const known = current.get(id);
  // After a reorganisation nothing, or nothing public, may be left of the order.
  const said = order !== null && known !== undefined ? order : before && gone(before, account.venue.clock.now());
  if (said === null || (known === undefined && before === null)) return null;
  const seen: SeenOrder = { id, order: said, orderKey: known?.orderKey ?? null, isRelayed: known?.isRelayed ?? false };
  if (!seen.isRelayed) return showNative(account, seen, fills);
  if (record === null) return null;
  current.set(id, seen);
  const orders = record.legs.flatMap(({ orderId }) => (orderId === null ? [] : (current.get(orderId) ?? [])));
  if (isAboutToRest(record, orders, account.venue.clock.now())) return null;
  const shown = recordStatus(account, record, orders, fills);
  return shown?.status === 'open' && isReplyPending(record) ? null : shown;
}

const gone = (before: Order, now: number): Order | null =>
  before.status === 'prepared' || before.status === 'expired' ? null : { ...before, status: 'canceled', fill: null, updatedAt: now };

/** Native orders that are prepared but not on chain are not published. */
function showNative({ venue, universe }: AccountContext, seen: SeenOrder, fills: OrderFills): OrderWithStatus | null {
  const { order } = seen;
  const asset = universe.assets[order.pairIndex];
  if (!asset || !isTrade(order) || order.status === 'prepared' || order.status === 'expired') return null;
  const filled = order.status === 'filled' ? sizeOfFills(fills.of(seen.id)) : 0n;
  return { order: showOrder(venue.feed.config(), asset, seen, { filled }), status: statusOf(order), statusTimestamp: order.updatedAt };
}

interface TriggerUpdates {
  begin(account: AccountContext): Promise<void>;
  describe(account: AccountContext): Promise<OrderWithStatus[]>;
  /** Whether a trigger of the last list is still being sent, and may end without a journal entry. */
  isWaiting(): boolean;
}

/** More triggers than a bot sends between two changes of its account. */
const NEWEST = 50;

/** TP/SL have no events of their own: the current list is compared with the previous one. */
function createTriggerUpdates(): TriggerUpdates {
  let listed: ReadonlyMap<number, FrontendOrder> = new Map();
  /** The newest triggers sent by bots that were already processed. */
  let looked: ReadonlySet<number> = new Set();
  let isWaiting = false;

  const read = async (account: AccountContext): Promise<ReadonlyMap<number, FrontendOrder>> => {
    const { open, isAnyUnderWay } = await openTriggers(account);
    isWaiting = isAnyUnderWay;
    return new Map(open.map((order) => [order.oid, order]));
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
      // A trigger that was replaced before it was ever listed gets an update too: its bot has its id.
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
  return [
    ...new Set(
      (await gateway.store.facade.triggers.newest(venue.definition.slug, trader, NEWEST)).flatMap(({ origin, owner }) =>
        origin === 'bot' ? [Number(owner)] : [],
      ),
    ),
  ];
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
