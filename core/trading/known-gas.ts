import type { Intent, OpenIntent } from '../domain/intent.js';
import type { Venue } from '../gateway.js';
import type { Address } from '../types.js';
import { functionsOf } from './encode-intent.js';

/** What calls of one kind are tried with. */
interface Known {
  readonly gas: bigint;
  /** When somebody last set out to estimate it. */
  askedAt: number;
  /** Whose openings passed with it alone, and of which sort. */
  readonly passed: Set<string>;
}

interface Kinds {
  readonly known: Map<string, Known>;
  /** Whoever is the first of his kind to ask. */
  readonly first: Map<string, Promise<unknown>>;
}

/** Where the fee of a rollup's data is part of the gas, it moves with the other chain: what was learned grows old. */
const KEPT_MS = 30_000;
/** On top of an estimate, in percent: others of its kind touch storage that this one did not. */
const ROOM = 30n;
const MOST_PASSED = 10_000;

const kindsOf = new WeakMap<Venue, Kinds>();

/**
 * Work with the gas to try a call with instead of having it estimated, which costs a node ten times as much as the call itself. It is no
 * guess: the call is rehearsed with exactly this much, and estimated after all when it fails. Null when none was seen of late; then whoever
 * asked estimates, while those behind him go on with what was known. Where nothing was, they wait for him once, so that a hundred who come
 * together do not ask for a hundred estimates.
 */
export async function withKnownGas<Result>(venue: Venue, intent: Intent, work: (gas: bigint | null) => Promise<Result>): Promise<Result> {
  const { known, first } = kinds(venue);
  const kind = kindOf(intent);
  const leader = first.get(kind);
  if (known.has(kind)) return work(keptGas(venue, known.get(kind)));
  if (leader) {
    await leader.catch(() => undefined);
    return work(keptGas(venue, known.get(kind)));
  }
  const own = work(null);
  first.set(kind, own);
  return own.finally(() => first.delete(kind));
}

function keptGas({ clock }: Venue, kind: Known | undefined): bigint | null {
  if (kind === undefined) return null;
  const now = clock.now();
  if (now - kind.askedAt < KEPT_MS) return kind.gas;
  kind.askedAt = now;
  return null;
}

/** After an estimate that was asked for, also because the known gas did not do. */
export function learnGas(venue: Venue, intent: Intent, estimate: bigint): void {
  kinds(venue).known.set(kindOf(intent), { gas: (estimate * (100n + ROOM)) / 100n, askedAt: venue.clock.now(), passed: new Set() });
}

/** One like it passed with this gas. The first of a trader may fill storage that was empty, so it has to show by itself what it takes. */
export function isUsual(venue: Venue, intent: Intent, trader: Address): boolean {
  return intent.kind === 'open' && kinds(venue).known.get(kindOf(intent))?.passed.has(sortOf(intent, trader)) === true;
}

/** `gas` null: it did not pass. */
export function learnUsual(venue: Venue, intent: Intent, trader: Address, gas: bigint | null): void {
  const kind = kinds(venue).known.get(kindOf(intent));
  if (intent.kind !== 'open' || kind === undefined) return;
  if (gas === null) kind.passed.delete(sortOf(intent, trader));
  if (kind.gas !== gas) return;
  if (kind.passed.size >= MOST_PASSED) kind.passed.clear();
  kind.passed.add(sortOf(intent, trader));
}

const sortOf = ({ pairIndex, collateralIndex, long, tp, sl }: OpenIntent, trader: Address): string =>
  [trader, pairIndex, collateralIndex, long, tp > 0n, sl > 0n].join(' ');

function kinds(venue: Venue): Kinds {
  const own = kindsOf.get(venue) ?? { known: new Map<string, Known>(), first: new Map<string, Promise<unknown>>() };
  kindsOf.set(venue, own);
  return own;
}

/** Calls that do the same work: the functions, and for an opening whether it waits for a price. */
const kindOf = (intent: Intent): string => `${functionsOf(intent).join(' ')} ${intent.kind === 'open' ? intent.type : ''}`;
