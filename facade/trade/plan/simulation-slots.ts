import { createOnce } from '../../../core/caching/shared-reads.js';
import { GatewayError } from '../../../core/errors.js';
import type { Venue } from '../../../core/gateway.js';
import type { Address, Cancel } from '../../../core/types.js';

/** Concurrent simulations per trader and replica: an action of a busy bot still takes one round trip. */
export const SLOTS_PER_TRADER = 40;
/** Waiting items per trader; beyond this the client has to retry. */
export const MOST_WAITING = 400;
/** No client waits longer for a reply. */
const LONGEST_WAIT_MS = 5_000;

interface Slots {
  running: number;
  readonly waiting: (() => void)[];
}

const slotsOf = createOnce<Venue, Map<Address, Slots>>(() => new Map());

/**
 * Runs node requests for a trader, immediately while the trader has a free slot. Nodes work sequentially: without a limit, one trader's
 * actions would delay everyone else's. Actions that reduce risk need no slot.
 */
export async function withSlot<Result>(venue: Venue, trader: Address, work: () => Promise<Result>): Promise<Result> {
  const traders = slotsOf(venue);
  const slots = traders.get(trader) ?? { running: 0, waiting: [] };
  traders.set(trader, slots);
  if (slots.running >= SLOTS_PER_TRADER) await freeSlot(venue, slots);
  else slots.running += 1;
  try {
    return await work();
  } finally {
    const next = slots.waiting.shift();
    if (next) next();
    else if ((slots.running -= 1) === 0) traders.delete(trader);
  }
}

/** Resolves when another item passes on its slot. */
function freeSlot({ clock }: Venue, { waiting }: Slots): Promise<void> {
  if (waiting.length >= MOST_WAITING) return Promise.reject(tooMany());
  return new Promise((resolve, reject) => {
    let stop: Cancel = () => undefined;
    const take = (): void => {
      stop();
      resolve();
    };
    stop = clock.after(LONGEST_WAIT_MS, () => {
      waiting.splice(waiting.indexOf(take), 1);
      reject(tooMany());
    });
    waiting.push(take);
  });
}

const tooMany = (): GatewayError => new GatewayError('RATE_LIMITED', { scope: 'agent-writes', retryAfterSeconds: 1 });
