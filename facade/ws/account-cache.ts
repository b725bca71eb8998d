import type { Gateway, Venue } from '../../core/gateway.js';
import type { Address, Cancel } from '../../core/types.js';
import type { JournalHub } from '../../core/stream/journal-stream.js';
import type { PollRing, PollRingOptions } from '../../core/stream/refresh.js';
import { createTopic } from '../../core/stream/bus.js';
import { readAccount, type AccountFacts } from '../info/account-state.js';

/**
 * Transfers between wallets, changes of leverage and market-wide fee changes leave no trace in the journal. Any client may watch any
 * address, so all accounts of a venue share one rate: up to 20 are read every five seconds, with more of them less often.
 */
export const ACCOUNT_POLLS: PollRingOptions = { everyMs: 5_000, perSecond: 4 };
/** A node may lag one block behind the journal; after this many new blocks it does not any more. */
const HEADS_AFTER = 2;

/** The chain's facts of one account: read when something happened, and shared by all feeds that value it. */
export interface AccountCache {
  facts(): Promise<AccountFacts>;
  /** Called when the facts may have changed. */
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
    topic.publish(null);
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
    // A failed read is kept until the next poll or event: otherwise every price change would repeat it.
    reading.catch(() => undefined);
    return reading;
  };
  return {
    facts: () => known ?? read(),
    listen: (listener) => topic.listen(listener),
    stop: () => cancels.forEach((cancel) => cancel()),
  };
}
