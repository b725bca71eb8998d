import type { ChainEvent } from '../domain/chain-event.js';
import { tradesMentioned } from '../domain/interpret-logs.js';
import { referralsIn } from '../domain/referral.js';
import { mayHoldOutcome } from '../domain/unaccounted.js';
import type { Gateway, Venue } from '../gateway.js';
import type { ChainCursor } from '../ports/stores/tracking.js';
import { applyLate } from './apply-events.js';
import { change, readAgainFrom } from './chain-steps.js';
import { refreshStanding } from './contract-standing.js';
import { interpretRange, precisionsOf } from './interpret-range.js';
import { overlookedLevel } from './link-levels.js';
import { sizeUnitsOf } from './net-positions.js';

const AT_ONCE = 1_000;
const NO_INPUTS = new Map();

/**
 * Interprets kept transactions that this release can read, though an earlier one could not. False when the cursor was moved back, because
 * blocks have to be ingested again.
 */
export async function readKept(gateway: Gateway, venue: Venue, cursor: ChainCursor): Promise<boolean> {
  const kept = await gateway.store.contract.unread(venue.definition.slug, AT_ONCE);
  let isRead = false;
  for (const { place, raw } of kept) {
    const receipt = venue.chain.read(place, raw);
    if (mayHoldOutcome(receipt)) continue;
    const { logs } = receipt;
    isRead = true;
    const [block] = await venue.chain.blocks([place.blockNumber]);
    const outcome = { stands: true };
    await change(gateway, venue, cursor, async (unit) => {
      unit.forgetUnread(place);
      unit.recordReferrals(referralsIn(logs));
      const events: ChainEvent[] = interpretRange(logs, await unit.positions(tradesMentioned(logs)), precisionsOf(venue));
      const isOverlooked = (await overlookedLevel(unit, events, NO_INPUTS)) !== null;
      if (isOverlooked && block !== undefined) {
        outcome.stands = false;
        return readAgainFrom(unit, venue, cursor, block);
      }
      return { block: cursor.number, changes: await applyLate(unit, events, { units: sizeUnitsOf(venue) }) };
    });
    venue.log.info('chain.kept-transaction-read', { txHash: place.txHash });
    if (!outcome.stands) return false;
  }
  if (isRead) await refreshStanding(gateway, venue);
  return true;
}
