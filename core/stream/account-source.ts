import { getAccount, type Account } from '../account/get-account.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Address } from '../ports.js';
import type { JournalHub } from './journal-hub.js';
import { createStateSource, type StateSource } from './state-source.js';

/** A transfer between wallets and a new delegate leave no trace in the journal. */
const POLL_MS = 10_000;

/** Balances, allowances and agents of one account. */
export const createAccountSource = (gateway: Gateway, venue: Venue, journal: JournalHub, trader: Address): StateSource<Account> =>
  createStateSource({
    gateway,
    venue,
    journal,
    trader,
    read: () => getAccount(gateway, venue, trader),
    show: (account) => account,
    pollMs: POLL_MS,
  });
