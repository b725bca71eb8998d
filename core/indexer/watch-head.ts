import type { Gateway, Venue } from '../gateway.js';
import type { BlockHead } from '../types.js';
import { redactText } from '../observability/redact.js';
import { createCatchUpMeter, isNearHead } from './catch-up.js';
import { createIdentification, type Identification } from './identify-venue.js';

const SLOWEST_POLL_MS = 1000;
const TELL_PROGRESS_MS = 10_000;

/**
 * Keeps `venue.state` true: who the node is, its newest block and when we saw it, or why it cannot be asked. One loop per venue. It has ended
 * when nothing it asked the node is under way any more.
 */
export function watchHead(gateway: Gateway, venue: Venue): () => Promise<void> {
  const stopping = new AbortController();
  const following = follow(gateway, venue, stopping.signal);
  const stopListening = venue.chain.heads((block) => hear(gateway, venue, block));
  return () => {
    stopListening();
    stopping.abort();
    return following;
  };
}

async function follow(gateway: Gateway, venue: Venue, signal: AbortSignal): Promise<void> {
  const pause = Math.min(venue.definition.expectedBlockMs, SLOWEST_POLL_MS);
  const weigh = progressOf(venue);
  const identification = createIdentification(venue);
  while (!signal.aborted) {
    await look(gateway, venue, identification);
    weigh();
    await venue.clock.sleep(pause, signal);
  }
  await identification.settled();
}

/** Measures how far the events are behind, and tells it now and then while they are. */
function progressOf(venue: Venue): () => void {
  const { state, clock, log } = venue;
  const meter = createCatchUpMeter();
  let toldAt = 0;
  return () => {
    const [block, head, at] = [state.followed.block, state.head?.block.number, clock.now()];
    if (block === null || head === undefined) return;
    if (isNearHead(venue)) {
      if (state.catchUp !== null) log.info('chain.caught-up', { block });
      state.catchUp = null;
      return meter.reset();
    }
    state.catchUp = meter.measure({ at, block, head });
    if (at - toldAt < TELL_PROGRESS_MS) return;
    toldAt = at;
    log.info('chain.catch-up', { block, head, ...state.catchUp });
  };
}

/** Believed only where it goes on: what goes back, or comes before the node was ever asked, is found out by asking. */
function hear(gateway: Gateway, venue: Venue, block: BlockHead): void {
  const { state } = venue;
  if (state.head === null || state.fault !== null || block.number <= state.head.block.number) return;
  state.head = { block, seenAt: venue.clock.now() };
  gateway.bus.emit('head', { venue, block });
}

async function look(gateway: Gateway, venue: Venue, identification: Identification): Promise<void> {
  const { state } = venue;
  try {
    await identification.ensure();
    const before = state.head;
    const block = await venue.chain.head();
    // Something newer was heard meanwhile.
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
