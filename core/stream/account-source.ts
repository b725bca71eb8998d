import { getAccount, type Account } from '../account/get-account.js';
import type { PollRingOptions } from './poll-ring.js';
import { createStateSource, type AccountWatch, type StateSource } from './state-source.js';

/** Token transfers and delegate changes are not in the journal, so the account is polled too. */
export const WALLET_POLLS: PollRingOptions = { everyMs: 10_000, perSecond: 10 };

/** Balances, allowances and agents of one account. */
export const createAccountSource = ({ gateway, venue, journal, polls, trader }: AccountWatch): StateSource<Account> =>
  createStateSource({
    gateway,
    venue,
    journal,
    trader,
    read: () => getAccount(gateway, venue, trader),
    show: (account) => account,
    polls,
  });
