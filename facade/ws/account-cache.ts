import type { Gateway, Venue } from '../../core/gateway.js';
import type { Address, Cancel } from '../../core/types.js';
import type { JournalHub } from '../../core/stream/journal-hub.js';
import type { PollRing, PollRingOptions } from '../../core/stream/poll-ring.js';
import { createTopic } from '../../core/stream/topic.js';
import { readAccount, type AccountFacts } from '../info/account-state.js';

/**
 * A transfer between wallets, a changed leverage and what others do to a market's fees leave no trace in the journal. Anybody may watch
 * any address here, so all accounts of a venue share one rate: up to 20 are read every five seconds, more of them less often.
 */
export const ACCOUNT_POLLS: PollRingOptions = { everyMs: 5_000, perSecond: 4 };
/** A node may answer for the block before the one that the journal speaks of; so many new blocks later it does no more. */
const HEADS_AFTER = 2;

/** What the chain says of one account: asked when something happened, however many feeds price it. */
export interface AccountCache {
  facts(): Promise<AccountFacts>;
  /** The facts may have become others. */
  listen(listener: () => void): Cancel;
  readonly stop: Cancel;
}

export interface AccountCacheOptions {
  readonly gateway: Gateway;
  readonly venue: Venue;
  readonly journal: JournalHub;
  readonly polls: PollRing;
  readonly trader: Address;
}

export function createAccountCache({ gateway, venue, journal, polls, trader }: AccountCacheOptions): AccountCache {
  const topic = createTopic<null>('account', venue.log);
  let known: Promise<AccountFacts> | null = null;
  let headsLeft = 0;

  const forget = (): void => {
    known = null;
    topic.tell(null);
  };
  const cancels = [
    journal.listen(trader, () => {
      headsLeft = HEADS_AFTER;
      forget();
    }),
    gateway.bus.on('head', (event) => {
      if (event.venue !== venue || headsLeft === 0) return;
      headsLeft -= 1;
      forget();
    }),
    polls.add(forget),
  ];

  const read = (): Promise<AccountFacts> => {
    const reading = readAccount(gateway, venue, trader);
    known = reading;
    // A read that failed stays the answer until the next poll or event: prices change several times a second, and each would ask again.
    reading.catch(() => undefined);
    return reading;
  };
  return {
    facts: () => known ?? read(),
    listen: (listener) => topic.listen(listener),
    stop: () => cancels.forEach((cancel) => cancel()),
  };
}
