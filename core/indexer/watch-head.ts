import type { Gateway, Venue } from '../gateway.js';
import type { BlockHead } from '../types.js';
import { redactText } from '../observability/redact.js';
import { createCatchUpMeter, isNearHead } from './catch-up.js';
import { collateralDifferences, collateralDoubts, PUBLISHED_COLLATERALS } from '../chains/collaterals.js';
import { isWriteName, USED_SELECTORS, WRITE_FUNCTIONS } from '../chains/diamond-functions.js';
import { referrersOf } from '../trading/order-variables.js';
import { ForeignChainError, type ChainFacts } from '../ports/chain.js';

const SLOWEST_POLL_MS = 1000;
/** While heads are pushed, polling only finds faults. A subscription that was silent this long counts as cut. */
const PUSHED_MS = 5_000;
const LOG_PROGRESS_MS = 10_000;

/**
 * Keeps `venue.state` current: the node's identity, its newest block and when it was seen, or the fault. One loop per venue. The returned
 * function stops it and resolves when no request to the node is in flight.
 */
export function watchHead(gateway: Gateway, venue: Venue): () => Promise<void> {
  const stopping = new AbortController();
  let pushedAt = -Infinity;
  let wake = new AbortController();
  const pace = Math.min(venue.definition.expectedBlockMs, SLOWEST_POLL_MS);
  const rest = async (): Promise<void> => {
    const isQuiet = venue.clock.now() - pushedAt < PUSHED_MS && isNearHead(venue);
    // The end aborts `wake` too: a combined signal would be retained by the one that lives as long as the loop.
    if (!wake.signal.aborted) await venue.clock.sleep(isQuiet ? SLOWEST_POLL_MS : pace, wake.signal);
    wake = new AbortController();
  };
  const following = follow(gateway, venue, rest, stopping.signal);
  const stopListening = venue.chain.heads((block) => {
    pushedAt = venue.clock.now();
    if (!acceptPushed(gateway, venue, block)) wake.abort();
  });
  return () => {
    stopListening();
    stopping.abort();
    wake.abort();
    return following;
  };
}

async function follow(gateway: Gateway, venue: Venue, rest: () => Promise<void>, signal: AbortSignal): Promise<void> {
  const reportProgress = progressOf(venue);
  const identification = createIdentification(venue);
  while (!signal.aborted) {
    await poll(gateway, venue, identification);
    reportProgress();
    await rest();
  }
  await identification.settled();
}

/** Measures how far the cursor is behind the head, and logs it every LOG_PROGRESS_MS while it is. */
function progressOf(venue: Venue): () => void {
  const { state, clock, log } = venue;
  const meter = createCatchUpMeter();
  let loggedAt = 0;
  return () => {
    const [block, head, at] = [state.followed.block, state.head?.block.number, clock.now()];
    if (block === null || head === undefined) return;
    if (isNearHead(venue)) {
      if (state.catchUp !== null) log.info('chain.caught-up', { block });
      state.catchUp = null;
      return meter.reset();
    }
    state.catchUp = meter.measure({ at, block, head });
    if (at - loggedAt < LOG_PROGRESS_MS) return;
    loggedAt = at;
    log.info('chain.catch-up', { block, head, ...state.catchUp });
  };
}

/** Accepts a pushed head if it is newer than the known one. False after a reorganisation or a fault: the node has to be asked. */
function acceptPushed(gateway: Gateway, venue: Venue, block: BlockHead): boolean {
  const { state } = venue;
  if (state.head === null || state.fault !== null) return false;
  if (block.number <= state.head.block.number) return block.hash === state.head.block.hash;
  state.head = { block, seenAt: venue.clock.now() };
  gateway.bus.emit('head', { venue, block });
  return true;
}

async function poll(gateway: Gateway, venue: Venue, identification: Identification): Promise<void> {
  const { state } = venue;
  try {
    await identification.ensure();
    const before = state.head;
    const block = await venue.chain.head();
    // A newer head was pushed while this request was in flight.
    if (state.head !== before && state.head !== null && block.number < state.head.block.number) return;
    const isNew = state.head?.block.hash !== block.hash;
    state.head = { block, seenAt: isNew ? venue.clock.now() : (state.head?.seenAt ?? venue.clock.now()) };
    const wasAway = state.fault !== null;
    if (wasAway) venue.log.info('chain.recovered', { block: block.number });
    state.fault = null;
    identification.refresh(wasAway);
    if (isNew) gateway.bus.emit('head', { venue, block });
  } catch (error) {
    const fault = redactText(error instanceof Error ? error.message.split('\n', 1).join('') : 'the node did not answer');
    if (state.fault !== fault) venue.log.warn('chain.unavailable', { fault });
    state.fault = fault;
  }
}

/** Facets change only by votes that take days; one check costs one request. */
const AGAIN_MS = 10 * 60_000;
/** After a check that failed or turned something off, so that one faulty node does not keep it off for long. */
const RETRY_MS = 60_000;
/** Minimum interval, so that a flapping node is not asked after every recovery. */
const SOONEST_MS = 5_000;

interface Identification {
  /** Identifies the node if that has not happened yet; throws when it does not answer or serves another chain. */
  ensure(): Promise<void>;
  /** Starts a check in the background when one is due, or soon after the node recovered. */
  refresh(wasAway: boolean): void;
  /** Resolves when no check is in flight. */
  settled(): Promise<void>;
}

/** Keeps `venue.state.facts` current. */
function createIdentification(venue: Venue): Identification {
  const { state, clock, log, chain } = venue;
  let dueAt = Number.NEGATIVE_INFINITY;
  let askedAt = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | null = null;

  async function ask(): Promise<void> {
    askedAt = clock.now();
    const facts = await chain.identify(referrersOf(venue.referrers));
    const notes = factNotes(venue, facts);
    if (state.facts === null) log.info('chain.identified', { chainId: facts.chainId, missing: facts.missing });
    if (notes.join() !== (state.facts === null ? '' : factNotes(venue, state.facts).join())) log.warn('chain.differs', { notes });
    state.facts = facts;
    dueAt = clock.now() + (facts.missing?.length ? RETRY_MS : AGAIN_MS);
  }

  function failed(error: unknown): void {
    dueAt = clock.now() + RETRY_MS;
    const fault = redactText(error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : String(error));
    log.warn('chain.not-identified', { fault });
    // The node now serves another chain, so the stored facts must not be used; the next poll of the head identifies it again.
    if (error instanceof ForeignChainError) state.facts = null;
  }

  return {
    async ensure() {
      if (state.facts === null) await ask();
    },
    refresh(wasAway) {
      if (wasAway) dueAt = Math.min(dueAt, askedAt + SOONEST_MS);
      if (asking !== null || clock.now() < dueAt) return;
      asking = ask()
        .catch(failed)
        .finally(() => (asking = null));
    },
    async settled() {
      await asking;
    },
  };
}

/** Notes for the operator: functions the Diamond lacks, and values that differ from the published ones. The service uses the chain's values. */
function factNotes({ definition }: Pick<Venue, 'definition'>, { missing, collaterals, ...asked }: ChainFacts): string[] {
  const ofCollaterals = collaterals === null ? [] : collateralDifferences(PUBLISHED_COLLATERALS[definition.slug], collaterals);
  const differences = [...ofCollaterals, ...referrerNotes(asked)];
  if (missing === null) return ['the Diamond does not list the functions it serves: they are unchecked', ...differences];
  return [...missing.map(missingNote), ...differences];
}

/** A referrer that is not whitelisted is ignored by the contract and earns nothing. */
const referrerNotes = ({ unlisted = [], unchecked = [] }: Pick<ChainFacts, 'unlisted' | 'unchecked'>): string[] => [
  ...unlisted.map((referrer) => `the protocol has not whitelisted ${referrer} as a referrer: openings name it, and it earns nothing`),
  ...unchecked.map((referrer) => `the Diamond does not say whether ${referrer} is whitelisted as a referrer`),
];

const missingNote = (name: string): string =>
  `the Diamond does not serve ${name} (${USED_SELECTORS.get(name) ?? 'unknown'}): ${isWriteName(name) ? `${WRITE_FUNCTIONS[name].turnsOff} is off` : 'what is read with it is missing'}`;

/** All current notes of the venue; empty until its node is identified. */
export function venueNotes({ definition, state: { facts }, feed }: Venue): string[] {
  if (facts === null) return [];
  const { collaterals } = facts;
  const isComparable = collaterals !== null && feed.status().configFrom === 'backend';
  return [...factNotes({ definition }, facts), ...(isComparable ? collateralDoubts(feed.config().collaterals, collaterals) : [])];
}
