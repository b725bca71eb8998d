import { comparePlaces, isFillAction, type ChainEvent, type EventPlace, type Executed, type PositionFound } from './chain-event.js';
import { foldPosition, type PositionState } from './position.js';
import { exactEntryBase, exactTradedBase } from './pricing/size.js';
import { E8 } from './pricing/units.js';

/**
 * A trader's net position in a market is the sum of the trader's open trades there, each at the collateral price of its own opening. The
 * fold goes forward: a fill's position before and after it is that sum as the events up to it left the trades. What changes a trade without
 * a fill (an unreadable transaction, after which the trade was read again) changes the sum between two fills.
 */
export interface NetPosition {
  /** 1e18 base units, signed. */
  readonly before: bigint;
  readonly after: bigint;
}

/** Units of collaterals, for trades from before the contract stored tokens or the collateral's price. */
export type SizeUnits = readonly { readonly index: number; readonly precision: bigint; readonly priceUsd: bigint }[];

/** Events that change the size of a trade. */
export type SizeEvent = Executed | PositionFound;

export const changesTrade = (event: ChainEvent): event is SizeEvent => event.kind === 'executed' || event.kind === 'found';

export const isFill = (event: ChainEvent): event is Executed => event.kind === 'executed' && isFillAction(event.action);

/** A trade that was open before the first of its events that is stored. */
export interface Opening {
  readonly tradeIndex: number;
  readonly pairIndex: number;
  /** 1e26, signed. */
  readonly size: bigint;
  /** It counts from this block on; null: from the beginning. */
  readonly fromBlock: bigint | null;
  /** As it was found; null where only an execution shows that it was open. */
  readonly position: PositionState | null;
}

/** The trades of one trader. */
export interface Holdings {
  /** Ordered by block; these do not count yet. */
  readonly openings: readonly Opening[];
  readonly positions: ReadonlyMap<number, PositionState>;
  /** 1e26, signed, by trade. */
  readonly sizes: ReadonlyMap<number, bigint>;
  /** 1e26, signed, by market. */
  readonly nets: ReadonlyMap<number, bigint>;
}

export interface NetFold {
  readonly fills: ReadonlyMap<SizeEvent, NetPosition>;
  /** Trades that an execution shows to have had another size before it than was known. */
  readonly contradicted: readonly number[];
  readonly holdings: Holdings;
}

/** What a trader has with these positions open. */
export function holding(positions: ReadonlyMap<number, PositionState>, units: SizeUnits): Holdings {
  const nets = new Map<number, bigint>();
  const sizes = new Map([...positions].map(([tradeIndex, position]) => [tradeIndex, sizeOf(position, units)] as const));
  for (const [tradeIndex, { pairIndex }] of positions) addTo(nets, pairIndex, sizes.get(tradeIndex) ?? 0n);
  return { openings: [], positions, sizes, nets };
}

/** What a trader has before the first event, if these trades were open before theirs. */
export const beginning = (openings: readonly Opening[]): Holdings => ({
  openings: openings.toSorted((a, b) => Number((a.fromBlock ?? -1n) - (b.fromBlock ?? -1n))),
  positions: new Map(),
  sizes: new Map(),
  nets: new Map(),
});

/**
 * Trades that were open before their first stored event, by the events that found them and the first execution of each. A trade counts from
 * the block in which it was opened, also where it was found later. Its size is what its first execution says it had, as a node without old
 * state finds a trade as it is at the head.
 */
export function openingsOf(events: readonly SizeEvent[], units: SizeUnits): Opening[] {
  const byTrade = new Map<number, SizeEvent[]>();
  for (const event of events.toSorted((a, b) => comparePlaces(a.place, b.place)))
    byTrade.set(event.tradeIndex, [...(byTrade.get(event.tradeIndex) ?? []), event]);
  return [...byTrade].flatMap(([tradeIndex, own]): Opening[] => {
    const [first, second] = own;
    if (!first) return [];
    const found = own.find((event) => event.kind === 'found');
    const position = foldPosition(null, first);
    const isFound = first.kind === 'found';
    const execution = isFound ? second : first;
    const size =
      execution?.kind === 'executed'
        ? sizeBefore(isFound ? position : null, execution, units)
        : position === null
          ? 0n
          : sizeOf(position, units);
    if (size === 0n && !isFound) return [];
    const { pairIndex } = isFound ? first.trade : first.terms;
    return [{ tradeIndex, pairIndex, size, fromBlock: found?.openedBlock ?? null, position: isFound ? position : null }];
  });
}

/** Folds the events of one trader, in the order of the chain, onto what the trader had before them. */
export function foldNet(start: Holdings, events: readonly SizeEvent[], units: SizeUnits): NetFold {
  const positions = new Map(start.positions);
  const sizes = new Map(start.sizes);
  const nets = new Map(start.nets);
  const openings = [...start.openings];
  const fills = new Map<SizeEvent, NetPosition>();
  const contradicted = new Set<number>();
  const put = (tradeIndex: number, pairIndex: number, size: bigint): void => {
    addTo(nets, pairIndex, size - (sizes.get(tradeIndex) ?? 0n));
    sizes.set(tradeIndex, size);
  };

  for (const event of events) {
    for (let next = openings[0]; next && isOpenAt(next, event.place); next = openings[0]) {
      if (next.position) positions.set(next.tradeIndex, next.position);
      put(next.tradeIndex, next.pairIndex, next.size);
      openings.shift();
    }
    const { tradeIndex } = event;
    const before = positions.get(tradeIndex) ?? null;
    const after = foldPosition(before, event);
    if (after === null) continue;
    positions.set(tradeIndex, after);
    const known = sizes.get(tradeIndex) ?? 0n;
    if (event.kind === 'found') {
      if (after !== before) put(tradeIndex, after.pairIndex, sizeOf(after, units));
      continue;
    }
    if (!isFill(event)) continue;
    const had = sizeBefore(before, event, units);
    if (had !== known) contradicted.add(tradeIndex);
    put(tradeIndex, after.pairIndex, sizeOf(after, units));
    const net = nets.get(after.pairIndex) ?? 0n;
    const change = sizeOf(after, units) - had;
    fills.set(event, { before: (net - change) / E8, after: net / E8 });
  }
  return { fills, contradicted: [...contradicted], holdings: { openings, positions, sizes, nets } };
}

const isOpenAt = ({ fromBlock }: Opening, { blockNumber }: EventPlace): boolean => fromBlock === null || fromBlock <= blockNumber;

const addTo = (nets: Map<number, bigint>, pairIndex: number, size: bigint): void =>
  void nets.set(pairIndex, (nets.get(pairIndex) ?? 0n) + size);

/** Of a collateral that is not known, tokens cannot be computed, and its price counts as one USD. */
const NO_UNIT = { precision: null, priceUsd: E8 } as const;

const unitOf = (collateralIndex: number, units: SizeUnits) => units.find(({ index }) => index === collateralIndex) ?? NO_UNIT;

/** 1e26, signed. */
function sizeOf(position: PositionState, units: SizeUnits): bigint {
  if (!position.isOpen) return 0n;
  const size = exactEntryBase(position, unitOf(position.collateralIndex, units));
  return position.long ? size : -size;
}

/** Of the trade of an execution, as the execution says. */
function sizeBefore(position: PositionState | null, executed: Executed, units: SizeUnits): bigint {
  const after = foldPosition(position, executed);
  const traded = exactTradedBase(executed, unitOf(executed.terms.collateralIndex, units));
  const opens = executed.action === 'open' || executed.action === 'increase';
  return (after === null ? 0n : sizeOf(after, units)) - (opens === executed.terms.long ? traded : -traded);
}
