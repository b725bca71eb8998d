import { z } from 'zod';
import type { ChainSlug } from '../../core/chains/chains.js';
import { venueOf, type Gateway, type Venue } from '../../core/gateway.js';
import type { Address } from '../../core/types.js';
import { RuleSet, type StoredRules } from '../../core/config/rules.js';
import { ANY } from '../../core/domain/relay/guardrails.js';
import { describeRules } from '../../core/trading/rules-of-opening.js';
import { operatorRoute } from './operator-route.js';
import { dayOf } from '../../core/ports/stores/gas.js';

const isAddress = (text: string): text is Address => /^0x[0-9a-f]{40}$/.test(text);
const Trader = z
  .string()
  .transform((text) => text.toLowerCase())
  .refine(isAddress, 'must be an address');
const Chain = z.string().max(64, 'is too long');

const RulesParams = z.object({ chain: Chain, trader: z.union([z.literal('default'), Trader], 'must be an address, or default') });
const OneTrader = z.object({ chain: Chain, trader: Trader });

interface Place {
  readonly chain: ChainSlug | typeof ANY;
  readonly trader: Address | typeof ANY;
}

/** `all` and `default` in the path stand for every chain and every trader. */
const placeOf = (gateway: Gateway, { chain, trader }: z.output<typeof RulesParams>): Place => ({
  chain: chain === 'all' ? ANY : venueOf(gateway, chain).definition.slug,
  trader: trader === 'default' ? ANY : trader,
});

const show = ({ chain, trader, ...row }: StoredRules): object => ({
  chain: chain === ANY ? 'all' : chain,
  trader: trader === ANY ? 'default' : trader,
  ...row,
});

/** Ends a trader's quota alert when its rules change; if the quota is still used up, the next refusal raises it again. */
async function settleAlerts({ alerts, venues }: Gateway, { chain, trader }: Place): Promise<void> {
  if (trader === ANY) return;
  const chains = chain === ANY ? [...venues.keys()] : [chain];
  for (const each of chains) await alerts.recoverAlert({ kind: 'quota-reached', chain: each, subject: trader }, 'The rules were changed.');
}

/** The operator's rules for facade traders: for all, for a chain, for a trader, or for a trader on a chain. */
export const RULES_ROUTES = [
  operatorRoute({
    method: 'GET',
    path: '/rules',
    handle: async ({ gateway }) => ({ rules: (await gateway.store.rules.list()).map(show) }),
  }),
  operatorRoute({
    method: 'GET',
    path: '/rules/:chain/:trader',
    params: OneTrader,
    handle: ({ gateway, params: { chain, trader } }) => describeRules(gateway, venueOf(gateway, chain), trader),
  }),
  operatorRoute({
    method: 'PUT',
    path: '/rules/:chain/:trader',
    params: RulesParams,
    body: RuleSet,
    async handle({ gateway, params, body }) {
      const row: StoredRules = { ...placeOf(gateway, params), rules: body, updatedAt: gateway.clock.now() };
      await gateway.store.rules.put(row);
      await settleAlerts(gateway, row);
      gateway.log.info('relay.rules-set', { chain: params.chain, trader: params.trader, rules: body });
      return show(row);
    },
  }),
  operatorRoute({
    method: 'DELETE',
    path: '/rules/:chain/:trader',
    params: RulesParams,
    async handle({ gateway, params }) {
      const place = placeOf(gateway, params);
      const removed = await gateway.store.rules.remove(place.chain, place.trader);
      await settleAlerts(gateway, place);
      if (removed) gateway.log.info('relay.rules-removed', { chain: params.chain, trader: params.trader });
      return { removed };
    },
  }),
];

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
