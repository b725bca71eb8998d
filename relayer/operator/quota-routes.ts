import { z } from 'zod';
import { ANY } from '../../core/config/rules.js';
import { venueOf, type Gateway, type Venue } from '../../core/gateway.js';
import { dayOf } from '../../core/ports/stores/gas.js';
import { describeRules } from '../../core/trading/describe-rules.js';
import type { Address } from '../../core/types.js';
import { operatorRoute } from './operator-route.js';

/** Each trader costs some queries. */
const MOST_TRADERS = 100;
/** All of a day: those that are left out are counted, each once, whether a transaction or a rule names them. */
const MOST_COUNTED = 1_000_000;

const Query = z.strictObject({
  chain: z.string().max(64, 'is too long'),
  limit: z.coerce
    .number('must be a number')
    .int('must be a whole number')
    .min(1, 'must be 1 to 100')
    .max(MOST_TRADERS, 'must be 1 to 100')
    .default(20),
});

/** The traders that a rule is most likely to concern now, each with its rules and what it has used of them. */
export const QUOTA_ROUTES = [
  operatorRoute({
    method: 'GET',
    path: '/quotas',
    query: Query,
    async handle({ gateway, query: { chain, limit } }) {
      const venue = venueOf(gateway, chain);
      const { served, bound } = await tradersOf(gateway, venue);
      const known = [...new Set([...served, ...bound])];
      const shown = known.slice(0, limit);
      return {
        chain: venue.definition.slug,
        traders: await Promise.all(shown.map((trader) => describeRules(gateway, venue, trader))),
        leftOut: known.length - shown.length,
      };
    },
  }),
];

interface Traders {
  /** Most expensive of today first. */
  readonly served: readonly Address[];
  /** With rules of their own. */
  readonly bound: readonly Address[];
}

async function tradersOf({ store, clock }: Gateway, { definition: { slug } }: Venue): Promise<Traders> {
  const today = dayOf(clock.now());
  const [costs, stored] = await Promise.all([
    store.gas.costs({ chain: slug, by: 'trader', from: today, to: today, limit: MOST_COUNTED }),
    store.rules.list(),
  ]);
  return {
    served: costs.rows.flatMap(({ key }) => (key === null ? [] : [key as Address])),
    bound: stored.flatMap(({ chain, trader }) => (trader !== ANY && (chain === ANY || chain === slug) ? [trader] : [])),
  };
}
