import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Address } from '../types.js';
import { describeEntries, type JournalEvent } from './describe-entries.js';

export interface EventsQuery {
  readonly after: number;
  readonly limit: number;
}

export interface EventPage {
  data: JournalEvent[];
  /** Cursor of the next page; null on the last page. */
  nextCursor: number | null;
}

/** The account's journal events, oldest first. */
export async function listEvents(gateway: Gateway, venue: Venue, trader: Address, { after, limit }: EventsQuery): Promise<EventPage> {
  const { slug } = venue.definition;
  const found = await gateway.store.journal.after(slug, trader, BigInt(after), limit + 1);
  if (found.length === 0 && after > 0) await requireKnown(gateway, venue, trader, after);
  const page = found.slice(0, limit);
  const last = page.at(-1);
  return {
    data: await describeEntries(gateway, venue, trader, page),
    nextCursor: found.length > limit && last ? Number(last.cursor) : null,
  };
}

/** Rejects a cursor above the newest one: a client waiting there would silently miss every event up to it. */
export async function requireKnown({ store }: Gateway, venue: Venue, trader: Address, after: number): Promise<void> {
  const last = await store.journal.last(venue.definition.slug, trader);
  if (BigInt(after) <= last) return;
  throw new GatewayError('VALIDATION_ERROR', {
    issues: [{ path: 'after', message: `is no cursor of this account, whose newest is ${last}` }],
  });
}
