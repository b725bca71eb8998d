import type { Intent } from '../domain/intent.js';
import type { Venue } from '../gateway.js';
import { functionsOf } from './encode-intent.js';

/** What calls of one kind were given lately. */
interface Known {
  readonly gas: bigint;
  /** When somebody last set out to estimate it. */
  askedAt: number;
}

/** Where the fee of a rollup's data is part of the gas, it moves with the other chain: what was learned grows old. */
const KEPT_MS = 30_000;
/** On top of an estimate, in percent: others of its kind touch storage that this one did not. */
const ROOM = 50n;

const known = new WeakMap<Venue, Map<string, Known>>();

/**
 * The gas to try a call with instead of having it estimated, which costs a node ten times as much as the call itself. It is no guess: the
 * call is rehearsed with exactly this much, and estimated after all when it fails. Null when none was seen of late; then whoever asked
 * estimates, while those behind him go on with what was known.
 */
export function knownGas(venue: Venue, intent: Intent): bigint | null {
  const kind = gasOf(venue).get(kindOf(intent));
  if (kind === undefined) return null;
  const now = venue.clock.now();
  if (now - kind.askedAt < KEPT_MS) return kind.gas;
  kind.askedAt = now;
  return null;
}

/** After an estimate that was asked for, also because the known gas did not do. Answers what the call is to be given. */
export function learnGas(venue: Venue, intent: Intent, estimate: bigint): bigint {
  const gas = (estimate * (100n + ROOM)) / 100n;
  gasOf(venue).set(kindOf(intent), { gas, askedAt: venue.clock.now() });
  return gas;
}

function gasOf(venue: Venue): Map<string, Known> {
  const own = known.get(venue) ?? new Map<string, Known>();
  known.set(venue, own);
  return own;
}

/** Calls that do the same work: the functions, and for an opening whether it waits for a price. */
const kindOf = (intent: Intent): string => `${functionsOf(intent).join(' ')} ${intent.kind === 'open' ? intent.type : ''}`;
