import { baseSize, collateralOf } from '../../core/account/describe-order.js';
import { comparePlaces, type EventPlace, type Executed } from '../../core/domain/chain-event.js';
import { toUnits } from '../../core/domain/decimal.js';
import type { PositionState } from '../../core/domain/position.js';
import { E8 } from '../../core/domain/pricing/units.js';
import type { LevelStep, SeenOrder } from '../../core/ports/stores/history.js';
import type { KnownProtection, PastProtection } from '../../core/ports/stores/protections.js';
import type { ExchangeRecord } from '../../core/ports/stores/exchange.js';
import { BASE_SCALE, ZERO_TEXT } from '../format.js';
import { firstHit, positionBase } from './open-orders.js';
import {
  showProtection,
  showRecord,
  sizeOf,
  type HlStatus,
  type Protected,
  type OrderWithStatus,
  type AccountContext,
} from './order-shapes.js';

/** A take profit or stop loss with an id, and the bot's order if a bot set it. */
export interface NumberedLevel {
  /** One on each trade of the order, at least one. */
  readonly guards: readonly PastProtection[];
  readonly record: ExchangeRecord | null;
  /** It is not on chain yet. */
  readonly isAwaited: boolean;
}

/** Current and past levels of the trades; read once for any number of levels. */
interface Facts {
  readonly positions: ReadonlyMap<number, PositionState>;
  readonly last: ReadonlyMap<number, Closing>;
  /** Those that are not open. */
  readonly ended: ReadonlyMap<number, PositionState>;
  readonly resting: ReadonlyMap<number, SeenOrder>;
  /** When a trade or resting order got another level instead of this one; absent if it still has it, or had it to its end. */
  readonly ends: ReadonlyMap<string, number>;
}

interface Closing {
  readonly executed: Executed;
  /** The same for all trades that one order of a bot closed. */
  readonly by: string;
}

interface LevelState {
  readonly pairIndex: number;
  readonly held: Protected;
  readonly status: HlStatus;
  readonly at: number;
  readonly guard: KnownProtection;
  /** What closed its trade; absent if that is open, or the level ended before. */
  readonly closedBy?: string;
  readonly closedIn?: EventPlace;
}

/** Each level as an order with its status, in the given order; null if its trade is unknown. */
export async function levelStatuses(account: AccountContext, levels: readonly NumberedLevel[]): Promise<(OrderWithStatus | null)[]> {
  if (levels.length === 0) return [];
  const facts = await readFacts(account, [...new Set(levels.flatMap(({ guards }) => guards.map(({ tradeIndex }) => tradeIndex)))]);
  return levels.map((level) => showLevel(account, facts, level));
}

async function readFacts({ gateway, venue, trader }: AccountContext, indices: readonly number[]): Promise<Facts> {
  const { account, facade } = gateway.store;
  const { slug } = venue.definition;
  const positions = new Map((await account.openPositions(slug, trader)).map(({ tradeIndex, position }) => [tradeIndex, position]));
  const ended = indices.filter((index) => !positions.has(index));
  const [last, stored, resting, steps] = await Promise.all([
    facade.history.lastExecutions(slug, trader, ended),
    account.positionsAt(slug, trader, ended),
    facade.history.restingAt(slug, trader, ended),
    facade.history.levelSteps(slug, trader, indices),
  ]);
  const orderIds = [...last.values()].flatMap(({ orderId }) => orderId ?? []);
  const records = await gateway.store.exchange.ofOrders(slug, orderIds);
  const closings = [...last].map(([index, { executed, orderId }]) => {
    const oid = orderId === null ? null : (records.get(orderId)?.oid ?? orderId);
    return [index, { executed, by: oid === null ? `at ${executed.place.at}` : `order ${oid}` }] as const;
  });
  return { positions, last: new Map(closings), ended: stored, resting, ends: endsOf(steps) };
}

function showLevel(account: AccountContext, facts: Facts, level: NumberedLevel): OrderWithStatus | null {
  const { guards, record, isAwaited } = level;
  const found = guards.flatMap((guard): LevelState[] => {
    const own = { guard, isAwaited };
    const state =
      onPosition(account, facts, own) ?? onGone(account, facts, guard) ?? onClosed(account, facts, guard) ?? onOrder(account, facts, own);
    return state ? [state] : [];
  });
  const state = together(found, record);
  const asset = state && account.universe.assets[state.pairIndex];
  if (!state || !asset) return null;
  const { guard, held, status, at } = state;
  const order = record
    ? showRecord(asset, record, { left: held.base, held: isAwaited ? undefined : guard.price })
    : showProtection(asset, guard, held);
  return { order: status === 'filled' ? { ...order, sz: ZERO_TEXT, triggerCondition: 'Triggered' } : order, status, statusTimestamp: at };
}

/**
 * An order for several trades is open while one of them has its level; then it ended as its last level did, with what its last trades had: those
 * that one order closed are its last ones together.
 */
function together(states: readonly LevelState[], record: ExchangeRecord | null): LevelState | null {
  const open = states.filter(({ status }) => status === 'open');
  const [first] = open;
  if (first === undefined) return lastOf([...states].sort(newestFirst));
  const guards = open.map(({ guard }) => guard);
  const price = record === null ? undefined : firstHit(record, guards);
  const base = open.reduce((sum, { held }) => sum + held.base, 0n);
  return { ...first, held: { ...first.held, base }, guard: { ...first.guard, price: price ?? first.guard.price } };
}

/** Of states that ended, the newest first. */
function lastOf([last, ...others]: readonly LevelState[]): LevelState | null {
  if (last?.closedBy === undefined) return last ?? null;
  const beside = others.filter(({ closedBy, status }) => closedBy === last.closedBy && status === last.status);
  return { ...last, held: { ...last.held, base: beside.reduce((sum, { held }) => sum + held.base, last.held.base) } };
}

/** Times on chain are whole seconds: of ends in the same one a fill comes first, then the close that is later on the chain. */
const newestFirst = (a: LevelState, b: LevelState): number =>
  b.at - a.at || rankOf(a) - rankOf(b) || (a.closedIn && b.closedIn ? comparePlaces(b.closedIn, a.closedIn) : 0);
const rankOf = ({ status }: LevelState): number => (status === 'filled' ? 0 : 1);

type GuardOf = Pick<NumberedLevel, 'isAwaited'> & { readonly guard: PastProtection };

/** A level is open as long as its trade has exactly that price, or is about to get it. */
function onPosition({ venue }: AccountContext, { positions, ends }: Facts, { guard, isAwaited }: GuardOf): LevelState | null {
  const { tradeIndex, isSet, seenAt, takenOverAt } = guard;
  const position = positions.get(tradeIndex);
  if (!position) return null;
  const isOpen = isAwaited || isSet;
  return {
    guard,
    pairIndex: position.pairIndex,
    held: { base: positionBase(venue.feed.config(), position), long: position.long },
    status: isOpen ? 'open' : 'canceled',
    at: isOpen ? seenAt : (ends.get(levelAt(guard)) ?? takenOverAt ?? seenAt),
  };
}

/** What closed its trade is in a transaction that cannot be read: the level is open until that is known, or the operator states it. */
function onGone({ venue }: AccountContext, { ended, last, ends }: Facts, guard: PastProtection): LevelState | null {
  const { tradeIndex, kind, price, seenAt, takenOverAt } = guard;
  const position = ended.get(tradeIndex);
  if (position === undefined || (position.goneIn === undefined && position.endedBy === undefined)) return null;
  if (last.get(tradeIndex)?.executed.after === null) return null;
  const { pairIndex, long, closedAt, endedBy } = position;
  const state = { guard, pairIndex, held: { base: positionBase(venue.feed.config(), position), long } };
  if (position[kind] !== price || takenOverAt !== null)
    return { ...state, status: 'canceled', at: takenOverAt ?? ends.get(levelAt(guard)) ?? seenAt };
  if (endedBy === undefined) return { ...state, status: 'open', at: seenAt };
  return { ...state, status: endOf(kind, endedBy ?? 'close'), at: closedAt ?? seenAt };
}

function onClosed({ venue }: AccountContext, { last, ends }: Facts, guard: PastProtection): LevelState | null {
  const { tradeIndex, kind, price, seenAt, takenOverAt } = guard;
  const { executed, by } = last.get(tradeIndex) ?? {};
  if (!executed || by === undefined) return null;
  const { terms, action, place, sizeToken, collateralPriceUsd, entryPriceUsd } = executed;
  const priceUsd = entryPriceUsd ?? collateralPriceUsd ?? collateralOf(venue.feed.config(), terms.collateralIndex)?.priceUsd ?? E8;
  const held = { base: toUnits(baseSize(sizeToken ?? 0n, priceUsd), BASE_SCALE, 'down'), long: terms.long };
  // A level that was moved, removed or taken over before the position ended is canceled, as of then.
  if (terms[kind] !== price || takenOverAt !== null)
    return { guard, pairIndex: terms.pairIndex, held, status: 'canceled', at: takenOverAt ?? ends.get(levelAt(guard)) ?? seenAt };
  return { guard, pairIndex: terms.pairIndex, held, status: endOf(kind, action), at: place.at, closedBy: by, closedIn: place };
}

/** The status of a level when its position ends. */
export function endOf(kind: KnownProtection['kind'], action: Executed['action']): HlStatus {
  if (action === kind) return 'filled';
  if (action === 'tp' || action === 'sl') return 'siblingFilledCanceled';
  return action === 'liquidation' ? 'liquidatedCanceled' : 'reduceOnlyCanceled';
}

/** A change has its id once it is mined, which can be before its block is indexed. */
function onOrder({ venue }: AccountContext, { resting, ends }: Facts, { guard, isAwaited }: GuardOf): LevelState | null {
  const { tradeIndex, kind, price, seenAt } = guard;
  const seen = resting.get(tradeIndex);
  if (!seen) return null;
  const { order } = seen;
  const isSet = order.status === 'open' && (isAwaited || order[kind] === price);
  const held = { base: sizeOf(venue.feed.config(), seen), long: order.long };
  const at = isSet ? seenAt : (ends.get(levelAt(guard)) ?? order.updatedAt);
  return { guard, pairIndex: order.pairIndex, held, status: isSet ? 'open' : 'canceled', at };
}

const levelAt = ({ tradeIndex, kind, price }: Pick<LevelStep, 'tradeIndex' | 'kind' | 'price'>): string => `${kind} ${tradeIndex} ${price}`;

/** One pass, oldest first: a trailing stop has thousands of steps. */
function endsOf(steps: readonly LevelStep[]): ReadonlyMap<string, number> {
  const state = new Map<string, LevelStep>();
  const ends = new Map<string, number>();
  for (const step of steps) {
    const place = `${step.kind} ${step.tradeIndex}`;
    const before = state.get(place);
    if (before && before.price !== step.price) ends.set(levelAt(before), step.at);
    state.set(place, step);
    ends.delete(levelAt(step));
  }
  return ends;
}
