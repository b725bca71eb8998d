import type { SeenOrder } from '../../core/ports/stores/history.js';
import type { Order } from '../../core/domain/order.js';
import type { JournalEntry, JournalFact } from '../../core/ports/stores/journal.js';
import type { ExchangeRecord } from '../../core/ports/stores/exchange.js';
import { isAboutToRest, isReplyPending, recordStatus } from '../info/bot-order-status.js';
import { withCancelWords } from '../info/cancel-words.js';
import { fillsOf, sizeOfFills, type OrderFills } from '../info/order-fills.js';
import { isTrade, showOrder, statusOf, type OrderWithStatus, type AccountContext } from '../info/order-shapes.js';
import { createTriggerUpdates } from './trigger-updates.js';

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
  const protections = createTriggerUpdates();
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
    begin: (account) => protections.begin(account),
    isWaiting: () => protections.isWaiting(),
    async describe(account, entries) {
      const changes = entries.flatMap(({ fact }) => changesOf(fact));
      const shown = changes.length === 0 ? [] : await showChanges(account, changes);
      return (await withCancelWords(account, [...shown, ...(await protections.describe(account))])).filter(isChanged);
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
  return changes.flatMap((change) => {
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
