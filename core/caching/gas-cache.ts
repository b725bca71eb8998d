import type { Intent, OpenIntent } from '../domain/intent.js';
import type { Venue } from '../gateway.js';
import type { Address } from '../types.js';
import { functionsOf } from '../trading/encode-intent.js';
import { createOnce } from './shared-reads.js';

/** The gas limit that calls of one kind are simulated with. */
interface Known {
  readonly gas: bigint;
  /** When the last estimate was started. */
  askedAt: number;
  /** Trader and sort of openings that passed with this gas. */
  readonly passed: Set<string>;
}

interface Kinds {
  readonly known: Map<string, Known>;
  /** The running first estimate per kind. */
  readonly first: Map<string, Promise<unknown>>;
}

/** On rollups the gas includes the data fee, which depends on the parent chain, so cached values expire. */
const KEPT_MS = 30_000;
/** Margin on an estimate, in percent: other calls of the kind may touch more storage. */
const MARGIN = 30n;
const MAX_PASSED = 10_000;

const kinds = createOnce<Venue, Kinds>(() => ({ known: new Map(), first: new Map() }));

/**
 * Runs `work` with a cached gas limit, because an estimate costs a node ten times as much as the call. The call is simulated with exactly this
 * limit and estimated only when it fails. When the cached value has expired, one caller gets null and estimates; the others keep the old
 * value. When there is none, concurrent callers wait for the first estimate instead of each requesting one.
 */
export async function withCachedGas<Result>(venue: Venue, intent: Intent, work: (gas: bigint | null) => Promise<Result>): Promise<Result> {
  const { known, first } = kinds(venue);
  const kind = kindOf(intent);
  const running = first.get(kind);
  if (known.has(kind)) return work(keptGas(venue, known.get(kind)));
  if (running) {
    await running.catch(() => undefined);
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

/** Stores an estimate, also one made because the cached gas was too low. */
export function learnGas(venue: Venue, intent: Intent, estimate: bigint): void {
  kinds(venue).known.set(kindOf(intent), { gas: (estimate * (100n + MARGIN)) / 100n, askedAt: venue.clock.now(), passed: new Set() });
}

/** Whether an opening of this trader and sort passed with the cached gas. A trader's first one may write empty storage slots and needs more gas. */
export function isUsual(venue: Venue, intent: Intent, trader: Address): boolean {
  return intent.kind === 'open' && kinds(venue).known.get(kindOf(intent))?.passed.has(sortOf(intent, trader)) === true;
}

/** `gas` null: the simulation failed. */
export function learnUsual(venue: Venue, intent: Intent, trader: Address, gas: bigint | null): void {
  const kind = kinds(venue).known.get(kindOf(intent));
  if (intent.kind !== 'open' || kind === undefined) return;
  if (gas === null) kind.passed.delete(sortOf(intent, trader));
  if (kind.gas !== gas) return;
  if (kind.passed.size >= MAX_PASSED) kind.passed.clear();
  kind.passed.add(sortOf(intent, trader));
}

const sortOf = ({ pairIndex, collateralIndex, long, tp, sl }: OpenIntent, trader: Address): string =>
  [trader, pairIndex, collateralIndex, long, tp > 0n, sl > 0n].join(' ');

/** Calls with the same functions, and for openings the same order type. */
const kindOf = (intent: Intent): string => `${functionsOf(intent).join(' ')} ${intent.kind === 'open' ? intent.type : ''}`;
