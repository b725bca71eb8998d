import type { Gateway, Venue } from '../gateway.js';
import type { BlockHead } from '../types.js';
import { redactText } from '../observability/redact.js';
import { createCatchUpMeter, isNearHead } from './catch-up.js';
import { identificationOf, type Identification } from './identify.js';

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
  const identification = identificationOf(gateway, venue);
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
