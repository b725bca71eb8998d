import { comparePlaces, type ChainEvent } from '../domain/chain-event.js';
import {
  beginning,
  changesTrade,
  foldNet,
  holding,
  isFill,
  openingsOf,
  type NetPosition,
  type SizeEvent,
  type SizeUnits,
} from '../domain/net-position.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import type { SeenFill, StoredFill } from '../ports/stores/history.js';
import type { FillToFold } from '../ports/stores/net-positions.js';
import { tradeRefKey, type TrackingUnit, type TradeRef } from '../ports/stores/tracking.js';
import type { Address } from '../types.js';

/** Null before the collaterals are loaded: fills are then stored without their net position, and folded later. */
export function sizeUnitsOf({ feed }: Venue): SizeUnits | null {
  try {
    return feed.config().collaterals;
  } catch (error) {
    if (error instanceof GatewayError) return null;
    throw error;
  }
}

export interface FreshNets {
  readonly of: ReadonlyMap<ChainEvent, NetPosition>;
  /** Traders whose earlier fills did not count a trade that turns out to have been open, or counted it with another size. */
  readonly outdated: readonly Address[];
}

const NO_NETS: FreshNets = { of: new Map(), outdated: [] };

/** Of events newer than all stored ones, in the order of the chain; asked before they are stored. */
export async function foldFresh(unit: TrackingUnit, events: readonly ChainEvent[], units: SizeUnits | null): Promise<FreshNets> {
  const byTrader = groupedByTrader(events.filter(changesTrade));
  if (byTrader.size === 0) return NO_NETS;
  const positions = await unit.openPositions([...byTrader.keys()]);
  const folds = [...byTrader].map(([trader, own]) => {
    const held = positions.get(trader) ?? new Map();
    const late = own.some((event) => event.kind === 'found' && !held.has(event.tradeIndex) && event.openedBlock < event.place.blockNumber);
    const { fills, contradicted } = foldNet(holding(held, units ?? []), own, units ?? []);
    return { trader, late, fills, contradicted: contradicted.map((tradeIndex) => ({ trader, tradeIndex })) };
  });
  const unproven = await unit.neverExecuted(folds.flatMap(({ contradicted }) => contradicted));
  const outdated = [...folds.flatMap(({ trader, late }) => (late ? [trader] : [])), ...unproven.map(({ trader }) => trader)];
  return { of: units === null ? NO_NETS.of : new Map(folds.flatMap(({ fills }) => [...fills])), outdated: [...new Set(outdated)] };
}

const groupedByTrader = (events: readonly SizeEvent[]): Map<Address, SizeEvent[]> => {
  const groups = new Map<Address, SizeEvent[]>();
  for (const event of events) groups.set(event.trader, [...(groups.get(event.trader) ?? []), event]);
  return groups;
};

/** Traders whose fills before these events depend on them: the events are late, or show the sizes of trades before them. */
export const tradersOf = (events: readonly ChainEvent[]): Address[] => [...groupedByTrader(events.filter(changesTrade)).keys()];

/** Traders whose remaining fills counted trades that only these undone events had shown to be open. */
export async function outdatedByUndoing(unit: TrackingUnit, undone: readonly ChainEvent[]): Promise<Address[]> {
  const found = undone.filter((event) => event.kind === 'found');
  const executed = undone.filter(isFill);
  const opened = new Set(executed.filter(({ action }) => action === 'open').map(tradeRefKey));
  const older = new Map<string, TradeRef>(
    executed.filter((event) => !opened.has(tradeRefKey(event))).map((event) => [tradeRefKey(event), event]),
  );
  const unproven = await unit.neverExecuted([...older.values()]);
  return [...new Set([...found, ...unproven].map(({ trader }) => trader))];
}

/** Fills that are folded at once. */
export const FILLS_AT_ONCE = 2_000;

/** Folds all fills of these traders again, from the beginning. */
export async function refoldNets(unit: TrackingUnit, traders: readonly Address[], units: SizeUnits | null): Promise<void> {
  if (units === null && traders.length > 0) return unit.forgetNets(traders);
  for (const trader of traders) await refoldTrader(unit, trader, units ?? []);
}

async function refoldTrader(unit: TrackingUnit, trader: Address, units: SizeUnits): Promise<void> {
  let page = await unit.fillsAfter(trader, null, FILLS_AT_ONCE);
  if (page.length === 0) return;
  const shown = await unit.openingEvents(trader);
  let found = shown.filter((event) => event.kind === 'found');
  let holdings = beginning(openingsOf(shown, units));
  for (let last = page.at(-1); last; last = page.at(-1)) {
    const { place } = last.executed;
    const [due, later] = [
      found.filter((event) => comparePlaces(event.place, place) <= 0),
      found.filter((event) => comparePlaces(event.place, place) > 0),
    ];
    const events: SizeEvent[] = [...due, ...page.map(({ executed }) => executed)].sort((a, b) => comparePlaces(a.place, b.place));
    const fold = foldNet(holdings, events, units);
    unit.saveNets(page.flatMap((fill) => changedNet(fill, fold.fills.get(fill.executed))));
    [found, holdings] = [later, fold.holdings];
    page = page.length < FILLS_AT_ONCE ? [] : await unit.fillsAfter(trader, last, FILLS_AT_ONCE);
  }
}

const changedNet = ({ id, net: was }: FillToFold, net: NetPosition | undefined): { id: bigint; net: NetPosition }[] =>
  net === undefined || (was?.before === net.before && was.after === net.after) ? [] : [{ id, net }];

/** Traders that are folded in one step. */
export const TRADERS_AT_ONCE = 50;

/** Folds traders with fills that another release has stored; true while there may be more. */
export async function foldStoredNets(unit: TrackingUnit, units: SizeUnits): Promise<boolean> {
  const traders = await unit.unfoldedTraders(TRADERS_AT_ONCE);
  await refoldNets(unit, traders, units);
  return traders.length === TRADERS_AT_ONCE;
}

/** Reads fills. Where some are not folded, their traders are folded first, while the follower waits. */
export async function readFolded<Fill extends StoredFill>(
  gateway: Gateway,
  { definition, feed }: Venue,
  read: () => Promise<readonly Fill[]>,
): Promise<readonly (Fill & SeenFill)[]> {
  for (;;) {
    const fills = await read();
    if (fills.every(isFolded)) return fills;
    const units = feed.config().collaterals;
    const traders = new Set(fills.flatMap((fill) => (isFolded(fill) ? [] : [fill.executed.trader])));
    await gateway.store.tracking.change(definition.slug, async (unit) => {
      await unit.cursor();
      await refoldNets(unit, [...traders], units);
    });
  }
}

const isFolded = <Fill extends StoredFill>(fill: Fill): fill is Fill & SeenFill => fill.before !== null && fill.after !== null;
