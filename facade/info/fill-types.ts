import { z } from 'zod';
import { Coin, Time, User, infoType, type InfoType } from './info-type.js';
import { listFills } from './fills.js';
import { fundingHistory } from './funding-history.js';
import { readAccount } from './read-account.js';

const MOST_FILLS = 2_000;
/** Later than any block. */
const FOREVER = Number.MAX_SAFE_INTEGER;

/** Merges the fills of one order in one transaction. */
const Aggregate = z.boolean().nullish();

export const FILL_TYPES: readonly InfoType[] = [
  infoType({
    type: 'userFills',
    fields: z.object({ user: User, aggregateByTime: Aggregate }),
    answer: async (context, { user, aggregateByTime }) =>
      listFills(await readAccount(context, user), { from: 0, to: FOREVER, limit: MOST_FILLS, newestFirst: true }, aggregateByTime === true),
  }),
  infoType({
    type: 'userFillsByTime',
    fields: z.object({ user: User, startTime: Time, endTime: Time.nullish(), aggregateByTime: Aggregate, reversed: z.boolean().nullish() }),
    answer: async (context, { user, startTime, endTime, reversed, aggregateByTime }) => {
      const window = { from: startTime, to: endTime ?? FOREVER, limit: MOST_FILLS, newestFirst: reversed === true };
      return listFills(await readAccount(context, user), window, aggregateByTime === true);
    },
  }),
  // Holding costs stay in a trade until it is closed, so there are no funding payments to list.
  infoType({ type: 'userFunding', fields: z.object({ user: User, startTime: Time.nullish(), endTime: Time.nullish() }), answer: () => [] }),
  infoType({
    type: 'fundingHistory',
    fields: z.object({ coin: Coin, startTime: Time, endTime: Time.nullish() }),
    answer: ({ gateway, venue, universe }, query) => fundingHistory(gateway, venue, universe, query),
  }),
  infoType({
    type: 'userNonFundingLedgerUpdates',
    fields: z.object({ user: User, startTime: Time.nullish(), endTime: Time.nullish() }),
    answer: () => [],
  }),
];
