import { fromNode } from '../ports/from-node.js';
import type { Venue } from '../gateway.js';
import type { Address } from '../types.js';

/** The contract tells nobody when a delegate changes, so what was read is believed for this long and no longer. */
export const DELEGATE_MAX_AGE_MS = 10_000;
/** More traders than this at once: the one asked for longest ago is asked again. */
export const MAX_REMEMBERED_DELEGATES = 10_000;

interface Read {
  /** When the question left; the answer is at least as old. */
  readonly askedAt: number;
  readonly answer: Promise<Address | null>;
  isDone: boolean;
}

const reads = new WeakMap<Venue, Map<Address, Read>>();

/** Who holds the trader's slot on chain; at most ten seconds old. Concurrent callers share one read. */
export async function currentDelegate(venue: Venue, trader: Address): Promise<Address | null> {
  const known = readsOf(venue).get(trader);
  const isCurrent = known !== undefined && venue.clock.now() - known.askedAt < DELEGATE_MAX_AGE_MS;
  return isCurrent ? known.answer : ask(venue, trader);
}

/** The slot as it is now; for decisions that must not rest on the past. A read under way began before the caller asked, so it does not count. */
export const freshDelegate = (venue: Venue, trader: Address): Promise<Address | null> => ask(venue, trader);

/**
 * The delegate, for somebody who hopes that it is `wanted`. A remembered yes is believed, a remembered no is asked again: the trader
 * may have sent the transaction a moment ago. Callers who hope at the same time share the question.
 */
export async function delegateFor(venue: Venue, trader: Address, wanted: Address): Promise<Address | null> {
  const known = readsOf(venue).get(trader);
  const isUnderWay = known?.isDone === false;
  const delegate = await currentDelegate(venue, trader);
  if (delegate === wanted || known === undefined || isUnderWay) return delegate;
  const latest = readsOf(venue).get(trader);
  return latest === undefined || latest === known ? ask(venue, trader) : latest.answer;
}

/** Who held the slot when a node last said so, however long ago; for tales that must be told while no node answers. */
export async function lastKnownDelegate(venue: Venue, trader: Address): Promise<Address | null> {
  const known = readsOf(venue).get(trader);
  return known?.isDone === true ? known.answer : null;
}

/** What was read may be wrong from now on, for example because a transaction of the trader was seen. */
export function forgetDelegate(venue: Venue, trader: Address): void {
  readsOf(venue).delete(trader);
}

function readsOf(venue: Venue): Map<Address, Read> {
  const known = reads.get(venue);
  if (known) return known;
  const made = new Map<Address, Read>();
  reads.set(venue, made);
  return made;
}

function ask(venue: Venue, trader: Address): Promise<Address | null> {
  const remembered = readsOf(venue);
  const before = remembered.get(trader);
  const read: Read = { askedAt: venue.clock.now(), answer: askChain(venue, trader), isDone: false };
  read.answer.then(
    () => void (read.isDone = true),
    () => {
      if (remembered.get(trader) !== read) return;
      if (before?.isDone === true) remembered.set(trader, before);
      else remembered.delete(trader);
    },
  );
  remembered.delete(trader);
  remembered.set(trader, read);
  const [oldest] = remembered.keys();
  if (remembered.size > MAX_REMEMBERED_DELEGATES && oldest !== undefined) remembered.delete(oldest);
  return read.answer;
}

const askChain = ({ chain }: Venue, trader: Address): Promise<Address | null> => fromNode(chain.delegateOf(trader));
