import { baseSize, collateralOf } from '../../core/account/describe-order.js';
import { comparePlaces, type EventPlace, type Executed, type Level } from '../../core/domain/chain-event.js';
import { toUnits } from '../../core/domain/decimal.js';
import type { PositionState } from '../../core/domain/position.js';
import { E8 } from '../../core/domain/pricing/units.js';
import { indexOf } from '../../core/domain/triggers.js';
import type { SeenOrder } from '../../core/ports/stores/history.js';
import type { Trigger } from '../../core/ports/stores/triggers.js';
import type { ExchangeRecord } from '../../core/ports/stores/exchange.js';
import { BASE_SCALE, ZERO_TEXT } from '../format.js';
import { firstHit, positionBase } from './open-orders.js';
import {
  showRecord,
  showTrigger,
  sizeOf,
  type HlStatus,
  type Protected,
  type OrderWithStatus,
  type AccountContext,
} from './order-shapes.js';

/** An order that is take profits or stop losses, on one trade or on several, with the bot's order if a bot set it. */
export interface TriggerOrder {
  /** At least one. */
  readonly triggers: readonly Trigger[];
  readonly record: ExchangeRecord | null;
}

/** What the sizes of triggers follow from; read once for any number of orders. */
interface Facts {
  readonly positions: ReadonlyMap<number, PositionState>;
  readonly last: ReadonlyMap<number, Closing>;
  /** Those that are not open. */
  readonly ended: ReadonlyMap<number, PositionState>;
  readonly resting: ReadonlyMap<number, SeenOrder>;
  /** Openings that came with triggers, by id. */
  readonly openings: ReadonlyMap<bigint, SeenOrder>;
}

interface Closing {
  readonly executed: Executed;
  /** The same for all trades that one order of a bot closed. */
  readonly by: string;
}

interface TriggerState {
  readonly pairIndex: number;
  readonly held: Protected;
  readonly status: HlStatus;
  readonly at: number;
  readonly trigger: Trigger;
  /** What closed its trade; absent if that is open, or the trigger ended before. */
  readonly closedBy?: string;
  readonly closedIn?: EventPlace;
}

/** Each as an order with its status, in the given order; null if its trade is unknown. */
export async function triggerStatuses(account: AccountContext, orders: readonly TriggerOrder[]): Promise<(OrderWithStatus | null)[]> {
  if (orders.length === 0) return [];
  const facts = await readFacts(
    account,
    orders.flatMap(({ triggers }) => triggers),
  );
  return orders.map((order) => showOrder(account, facts, order));
}

async function readFacts({ gateway, venue, trader }: AccountContext, triggers: readonly Trigger[]): Promise<Facts> {
  const { account, facade, exchange } = gateway.store;
  const { slug } = venue.definition;
  const indices = (prefix: string): number[] => [
    ...new Set(triggers.flatMap(({ place }) => (place?.startsWith(prefix) === true ? [indexOf(place)] : []))),
  ];
  const positions = new Map((await account.openPositions(slug, trader)).map(({ tradeIndex, position }) => [tradeIndex, position]));
  const parents = [...new Set(triggers.flatMap(({ parent }) => parent ?? []))];
  const endedIndices = indices('trade:').filter((index) => !positions.has(index));
  const [last, ended, resting, openings] = await Promise.all([
    facade.history.lastExecutions(slug, trader, endedIndices),
    account.positionsAt(slug, trader, endedIndices),
    facade.history.restingAt(slug, trader, indices('resting:')),
    facade.history.ordersOf(slug, trader, parents),
  ]);
  const orderIds = [...last.values()].flatMap(({ orderId }) => orderId ?? []);
  const records = await exchange.ofOrders(slug, orderIds);
  const closings = [...last].flatMap(([index, { executed, orderId }]) => {
    if (executed.after !== null) return [];
    const oid = orderId === null ? null : (records.get(orderId)?.oid ?? orderId);
    return [[index, { executed, by: oid === null ? `at ${executed.place.at}` : `order ${oid}` }] as const];
  });
  return { positions, last: new Map(closings), ended, resting, openings: new Map(openings.map((order) => [order.id, order])) };
}

function showOrder(account: AccountContext, facts: Facts, { triggers, record }: TriggerOrder): OrderWithStatus | null {
  const state = together(
    triggers.flatMap((trigger) => stateOf(account, facts, trigger) ?? []),
    record,
  );
  if (state === null) return record && showUnplaced(account, facts, { triggers, record });
  const asset = account.universe.assets[state.pairIndex];
  if (!asset) return null;
  const { trigger, held, status, at } = state;
  const order = record
    ? showRecord(asset, record, {
        left: held.base,
        held: trigger.phase === 'standing' || trigger.phase === 'over' ? trigger.price : undefined,
      })
    : showTrigger(asset, trigger, held);
  return { order: status === 'filled' ? { ...order, sz: ZERO_TEXT, triggerCondition: 'Triggered' } : order, status, statusTimestamp: at };
}

/** No trade and no resting order ever had it: its opening waits or failed, or its transaction failed. */
function showUnplaced(
  { universe }: AccountContext,
  { openings }: Facts,
  { triggers, record }: TriggerOrder & { readonly record: ExchangeRecord },
): OrderWithStatus | null {
  const asset = universe.assets[record.pairIndex];
  if (!asset) return null;
  const left = record.legs.reduce((sum, { sizeBase }) => sum + sizeBase, 0n);
  const isOpen = triggers.some(({ phase }) => phase === 'waiting' || phase === 'underWay');
  const parent = record.parentOrder == null ? undefined : openings.get(record.parentOrder)?.order;
  const statusTimestamp = isOpen ? record.createdAt : (parent?.updatedAt ?? record.createdAt);
  return { order: showRecord(asset, record, { left }), status: isOpen ? 'open' : 'canceled', statusTimestamp };
}

/**
 * An order for several trades is open while one of them has its trigger; then it ended as its last trigger did, with what its last trades had:
 * those that one order closed are its last ones together.
 */
function together(states: readonly TriggerState[], record: ExchangeRecord | null): TriggerState | null {
  const open = states.filter(({ status }) => status === 'open');
  const [first] = open;
  if (first === undefined) return lastOf([...states].sort(newestFirst));
  const triggers = open.map(({ trigger }) => trigger);
  const price = record === null ? undefined : firstHit(record, triggers);
  const base = open.reduce((sum, { held }) => sum + held.base, 0n);
  return { ...first, held: { ...first.held, base }, trigger: { ...first.trigger, price: price ?? first.trigger.price } };
}

/** Of states that ended, the newest first. */
function lastOf([last, ...others]: readonly TriggerState[]): TriggerState | null {
  if (last?.closedBy === undefined) return last ?? null;
  const beside = others.filter(({ closedBy, status }) => closedBy === last.closedBy && status === last.status);
  return { ...last, held: { ...last.held, base: beside.reduce((sum, { held }) => sum + held.base, last.held.base) } };
}

/** Times on chain are whole seconds: of ends in the same one a fill comes first, then what is later on the chain. */
const newestFirst = (a: TriggerState, b: TriggerState): number =>
  b.at - a.at || rankOf(a) - rankOf(b) || (a.closedIn && b.closedIn ? comparePlaces(b.closedIn, a.closedIn) : laterBlock(a, b));
const laterBlock = (a: TriggerState, b: TriggerState): number => Number((b.trigger.end?.block ?? 0n) - (a.trigger.end?.block ?? 0n));
const rankOf = ({ status }: TriggerState): number => (status === 'filled' ? 0 : 1);

function stateOf(account: AccountContext, facts: Facts, trigger: Trigger): TriggerState | null {
  const { phase, place } = trigger;
  if (phase === 'waiting' || phase === 'failed' || place === null) return null;
  const found = place.startsWith('trade:') ? heldByTrade(account, facts, indexOf(place)) : heldByOrder(account, facts, indexOf(place));
  if (found === null) return null;
  const { pairIndex, held, closing } = found;
  const own = { trigger, pairIndex, held };
  if (phase !== 'over' && !closing) return { ...own, status: 'open', at: trigger.askedAt };
  const { cause, at } = trigger.end ?? { cause: 'gone' as const, at: closing?.executed.place.at ?? trigger.askedAt };
  if (!isExecution(cause)) return { ...own, status: 'canceled', at };
  return { ...own, status: endOf(trigger.kind, cause), at, ...(closing && { closedBy: closing.by, closedIn: closing.executed.place }) };
}

interface Held {
  readonly pairIndex: number;
  readonly held: Protected;
  /** Absent while the trade is open or the order rests. */
  readonly closing?: Closing;
}

function heldByTrade({ venue }: AccountContext, { positions, last, ended }: Facts, tradeIndex: number): Held | null {
  const config = venue.feed.config();
  const closing = last.get(tradeIndex);
  // Without the execution that closed it, what closed it is in a transaction that cannot be read.
  const position = positions.get(tradeIndex) ?? (closing ? undefined : ended.get(tradeIndex));
  if (position) return { pairIndex: position.pairIndex, held: { base: positionBase(config, position), long: position.long } };
  if (!closing) return null;
  const { terms, sizeToken, collateralPriceUsd, entryPriceUsd } = closing.executed;
  const priceUsd = entryPriceUsd ?? collateralPriceUsd ?? collateralOf(config, terms.collateralIndex)?.priceUsd ?? E8;
  const base = toUnits(baseSize(sizeToken ?? 0n, priceUsd), BASE_SCALE, 'down');
  return { pairIndex: terms.pairIndex, held: { base, long: terms.long }, closing };
}

function heldByOrder({ venue }: AccountContext, { resting }: Facts, index: number): Held | null {
  const seen = resting.get(index);
  if (!seen) return null;
  return { pairIndex: seen.order.pairIndex, held: { base: sizeOf(venue.feed.config(), seen), long: seen.order.long } };
}

const NOT_EXECUTED: ReadonlySet<string> = new Set(['replaced', 'removed', 'withdrawn', 'gone']);
const isExecution = (cause: string): cause is Executed['action'] => !NOT_EXECUTED.has(cause);

/** The status of a trigger when its trade ends. */
export function endOf(kind: Level, action: Executed['action']): HlStatus {
  if (action === kind) return 'filled';
  if (action === 'tp' || action === 'sl') return 'siblingFilledCanceled';
  return action === 'liquidation' ? 'liquidatedCanceled' : 'reduceOnlyCanceled';
}
