import type { ChainEvent, ExecutedAction, Level, LevelEvent, OrderKey } from './chain-event.js';
import { LEVELS } from './chain-event.js';

/**
 * Whose each take profit and stop loss of a trader is, from the chain alone: the one whose transaction set it last. A pure fold over the
 * trader's events; `core/adapters/postgres/trigger-fold.ts` loads the facts and stores the rows.
 */

type Hex = `0x${string}`;

/** Where a trigger stands: on an open trade, or on a resting order that will open one. */
export type TriggerPlace = `trade:${number}` | `resting:${number}`;

/**
 * A trigger's identity from placing on: a leg of a bot's order, a native order, or one that was set elsewhere. The latter have no order that
 * could name them, so their place and first price do.
 */
export type TriggerKey = `bot/${bigint}/${number}` | `native/${bigint}` | `other/${TriggerPlace}/${Level}/${bigint}`;

export const botKey = (oid: bigint, leg: number): TriggerKey => `bot/${oid}/${leg}`;

export interface StandingTrigger {
  readonly key: TriggerKey;
  readonly kind: Level;
  readonly place: TriggerPlace;
  /** 1e10, as the contract stores it. */
  readonly price: bigint;
}

/** How a trigger ended. An execution is the one that closed its trade, which may be its own. */
export type TriggerEndCause =
  /** Another order set the trigger of the same trade. */
  | 'replaced'
  | 'removed'
  /** Its resting order was canceled. */
  | 'withdrawn'
  /** Its trade was closed in a transaction that an earlier release could not read. */
  | 'gone'
  | ExecutedAction;

export interface TriggerEnd {
  readonly cause: TriggerEndCause;
  /** Epoch ms. */
  readonly at: number;
  readonly txHash: Hex | null;
}

/** What the chain says of a trigger. */
export interface TriggerRow extends StandingTrigger {
  /** Epoch ms of the log that set it; null if that came before the first event. */
  readonly setAt: number | null;
  /** Epoch ms of the log that gave it its price; null as for `setAt`. */
  readonly priceAt: number | null;
  /** Of the last event that changed the trigger; null if none did. */
  readonly changedBlock: bigint | null;
  /** Null while it stands. */
  readonly end: TriggerEnd | null;
}

/** A trigger that a bot's order asked for. */
export interface AskedTrigger {
  readonly key: TriggerKey;
  readonly kind: Level;
  /** Where its transaction sets it. */
  readonly place: TriggerPlace;
}

export interface TriggerFacts {
  /** What stood before the first event. */
  readonly standing: readonly StandingTrigger[];
  /** Oldest first, with the order that each is linked to. */
  readonly events: readonly { readonly event: ChainEvent; readonly orderId: bigint | null }[];
  /** What the relayer's transactions ask for, by their hash. */
  readonly asked: ReadonlyMap<Hex, readonly AskedTrigger[]>;
  /** What came with an opening, by the opening's id. */
  readonly withOpening: ReadonlyMap<bigint, readonly Pick<AskedTrigger, 'key' | 'kind'>[]>;
}

export interface FoldedTriggers {
  readonly standing: readonly StandingTrigger[];
  /** All that stood before or were set by an event, as they are after the last one. */
  readonly rows: readonly TriggerRow[];
}

/** Kinds of events that set, move or end a trigger, or that say whose it is. */
export const TRIGGER_EVENTS = [
  'rested',
  'replaced',
  'amended',
  'withdrawn',
  'settled',
  'executed',
  'edited',
  'found',
  'guarded',
  'guardMoved',
] as const satisfies readonly ChainEvent['kind'][];

export function foldTriggers({ standing, events, asked, withOpening }: TriggerFacts): FoldedTriggers {
  const held = new Map<string, StandingTrigger>(standing.map((trigger) => [slotOf(trigger), trigger]));
  const rows = new Map<TriggerKey, TriggerRow>(standing.map((trigger) => [trigger.key, { ...trigger, ...BEFORE, end: null }]));
  const natives = nativeSetters(events);

  const at = (place: TriggerPlace, kind: Level): StandingTrigger | undefined => held.get(slotOf({ place, kind }));

  /** One that ended and is set again begins anew. */
  function keep(trigger: StandingTrigger, { place }: ChainEvent): void {
    const known = rows.get(trigger.key);
    const setAt = known?.end === null ? known.setAt : place.at;
    const priceAt = known?.end === null && known.price === trigger.price ? known.priceAt : place.at;
    // One that is set elsewhere again is no longer where it was.
    for (const [slot, { key }] of held) if (key === trigger.key) held.delete(slot);
    held.set(slotOf(trigger), trigger);
    rows.set(trigger.key, { ...trigger, setAt, priceAt, changedBlock: place.blockNumber, end: null });
  }

  function end(trigger: StandingTrigger, cause: TriggerEndCause, { place: { at: time, txHash, blockNumber } }: ChainEvent): void {
    held.delete(slotOf(trigger));
    const { setAt, priceAt } = rows.get(trigger.key) ?? BEFORE;
    rows.set(trigger.key, { ...trigger, setAt, priceAt, changedBlock: blockNumber, end: { cause, at: time, txHash } });
  }

  /** The trigger of a place has this price now. `setter`: whose transaction it was; null where nobody of this gateway asked for it. */
  function given(place: TriggerPlace, kind: Level, price: bigint, setter: TriggerKey | null, event: ChainEvent): void {
    const before = at(place, kind);
    if (price === 0n) return before && end(before, 'removed', event);
    // Another client that sets the same price again changes nothing.
    const key = setter ?? (before?.price === price ? before.key : otherKey(place, kind, price));
    if (before && before.key !== key) end(before, 'replaced', event);
    if (before?.key !== key || before.price !== price) keep({ key, kind, place, price }, event);
  }

  /** The contract has moved or dropped a trigger with a change of its trade: it is still the same order's. */
  function adjusted(place: TriggerPlace, kind: Level, price: bigint, event: ChainEvent): void {
    given(place, kind, price, at(place, kind)?.key ?? null, event);
  }

  /** A resting order was filled, or has another index: its triggers go with it, at the prices that the contract gave them. */
  function carried(from: TriggerPlace, to: TriggerPlace, prices: Prices, event: ChainEvent): void {
    for (const kind of LEVELS) {
      const trigger = at(from, kind);
      if (trigger === undefined) {
        given(to, kind, prices[kind], null, event);
        continue;
      }
      held.delete(slotOf(trigger));
      const there = at(to, kind);
      if (there && there.key !== trigger.key) end(there, 'replaced', event);
      keep({ ...trigger, place: to }, event);
      adjusted(to, kind, prices[kind], event);
    }
  }

  function endAll(place: TriggerPlace, cause: TriggerEndCause, event: ChainEvent): void {
    for (const kind of LEVELS) {
      const trigger = at(place, kind);
      if (trigger) end(trigger, cause, event);
    }
  }

  const setterIn = (event: ChainEvent, kind: Level, place: TriggerPlace): TriggerKey | null =>
    asked.get(event.place.txHash ?? '0x')?.find((one) => one.kind === kind && one.place === place)?.key ?? null;
  const childOf = (orderId: bigint | null, kind: Level): TriggerKey | null =>
    orderId === null ? null : (withOpening.get(orderId)?.find((child) => child.kind === kind)?.key ?? null);

  for (const { event, orderId } of events) {
    switch (event.kind) {
      case 'rested': {
        const place = restingPlace(event.orderKey);
        if (place) for (const kind of LEVELS) given(place, kind, event.terms[kind], childOf(orderId, kind), event);
        break;
      }
      case 'replaced': {
        const [from, to] = [restingPlace(event.formerKey), restingPlace(event.orderKey)];
        if (from && to) carried(from, to, event.terms, event);
        break;
      }
      case 'amended': {
        const place = restingPlace(event.orderKey);
        if (place) for (const kind of LEVELS) given(place, kind, event[kind], setterIn(event, kind, place), event);
        break;
      }
      case 'withdrawn': {
        const place = restingPlace(event.orderKey);
        // The first half of a replacement is linked to no order: the order goes on with the second.
        if (place && orderId !== COVERED) endAll(place, 'withdrawn', event);
        break;
      }
      case 'settled': {
        const place = restingPlace(event.orderKey);
        if (!place) {
          if (event.fill !== null) openedBy(orderId, `trade:${event.fill.tradeIndex}`, event);
        } else if (event.fill === null) endAll(place, 'withdrawn', event);
        else settled(place, `trade:${event.fill.tradeIndex}`, event);
        break;
      }
      case 'edited':
        if (event.field !== 'slippageP') {
          const place: TriggerPlace = `trade:${event.tradeIndex}`;
          const setter = setterIn(event, event.field, place) ?? natives.get(logOf(event, event.field)) ?? null;
          given(place, event.field, event.value, setter, event);
        }
        break;
      case 'found': {
        const place: TriggerPlace = `trade:${event.tradeIndex}`;
        // What closed the trade is in a transaction that cannot be read: its triggers stand until that is known, or the operator states it.
        if (!event.isOpen && event.ended !== undefined) endAll(place, event.ended.by ?? 'close', event);
        else if (!event.isOpen && event.goneIn !== undefined) break;
        else if (!event.isOpen) endAll(place, 'gone', event);
        // Another client's edit has a log of its own: what a trade has otherwise, the contract moved.
        else for (const kind of LEVELS) adjusted(place, kind, event.trade[kind], event);
        break;
      }
      case 'executed': {
        const place: TriggerPlace = `trade:${event.tradeIndex}`;
        const resting = event.orderKey === null ? null : restingPlace(event.orderKey);
        const { after } = event;
        if (after === null) {
          if (event.action !== 'withdraw') endAll(place, event.action, event);
        } else if (event.action !== 'open') for (const kind of LEVELS) adjusted(place, kind, after[kind], event);
        else if (resting) carried(resting, place, after, event);
        else for (const kind of LEVELS) given(place, kind, after[kind], childOf(orderId, kind), event);
        break;
      }
      default:
    }
  }
  return { standing: [...held.values()], rows: [...rows.values()] };

  /** A market order made the trade, which was found on chain before that was known: what came with the order stands there. */
  function openedBy(orderId: bigint | null, to: TriggerPlace, event: ChainEvent): void {
    for (const kind of LEVELS) {
      const [child, there] = [childOf(orderId, kind), at(to, kind)];
      if (child === null || there?.key.startsWith('other/') !== true) continue;
      end(there, 'replaced', event);
      keep({ ...there, key: child }, event);
    }
  }

  /** The trade was found on chain before it was known to be this order's. */
  function settled(from: TriggerPlace, to: TriggerPlace, event: ChainEvent): void {
    for (const kind of LEVELS) {
      const trigger = at(from, kind);
      if (trigger === undefined) continue;
      held.delete(slotOf(trigger));
      const there = at(to, kind);
      if (there?.price === trigger.price) {
        end(there, 'replaced', event);
        keep({ ...trigger, place: to }, event);
      } else end(trigger, 'gone', event);
    }
  }
}

type Prices = Readonly<Record<Level, bigint>>;

/** The id to which an event is linked that another event covers. */
const COVERED = 0n;

const BEFORE = { setAt: null, priceAt: null, changedBlock: null } as const;

const slotOf = ({ place, kind }: Pick<StandingTrigger, 'place' | 'kind'>): string => `${place}/${kind}`;

const otherKey = (place: TriggerPlace, kind: Level, price: bigint): TriggerKey => `other/${place}/${kind}/${price}`;

const restingPlace = (key: OrderKey): TriggerPlace | null => (key.startsWith('resting:') ? (key as TriggerPlace) : null);

export const indexOf = (place: TriggerPlace): number => Number(place.slice(place.indexOf(':') + 1));

/** Native orders by the log with which they set their trigger. */
function nativeSetters(events: TriggerFacts['events']): ReadonlyMap<string, TriggerKey> {
  return new Map(
    events.flatMap(({ event, orderId }) =>
      orderId !== null && (event.kind === 'guarded' || event.kind === 'guardMoved')
        ? [[logOf(event, event.level), `native/${orderId}`] as const]
        : [],
    ),
  );
}

const logOf = ({ place: { blockNumber, logIndex } }: Pick<ChainEvent | LevelEvent, 'place'>, kind: Level): string =>
  `${blockNumber}/${logIndex}/${kind}`;
