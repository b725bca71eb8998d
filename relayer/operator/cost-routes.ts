import { z } from 'zod';
import { CHAIN_SLUGS } from '../../core/chains.js';
import { GatewayError } from '../../core/errors.js';
import { venueOf } from '../../core/gateway.js';
import { COST_GROUPS, DAY_MS, dayOf } from '../../core/relay/gas-ledger.js';
import { formatNative } from '../../core/relay/native-amount.js';
import { operatorRoute } from './operator-route.js';

/** A month's report is asked for often, ten years are a mistake. */
const MOST_DAYS = 366;
const MOST_ROWS = 1_000;

/** Days since 1970 in UTC. */
const Day = z.iso.date('must be a day such as 2026-01-31').transform((text) => Date.parse(`${text}T00:00:00Z`) / DAY_MS);

const Query = z.strictObject({
  chain: z.enum(CHAIN_SLUGS, 'must be a chain'),
  by: z.enum(COST_GROUPS, `must be one of ${COST_GROUPS.join(', ')}`).default('action'),
  from: Day.optional(),
  to: Day.optional(),
  limit: z.coerce
    .number('must be a number')
    .int('must be a whole number')
    .min(1, 'must be 1 to 1000')
    .max(MOST_ROWS, 'must be 1 to 1000')
    .default(100),
});

/** One day where only `to` is named, until today where only `from` is; judged as it is then. */
function rangeOf(days: Pick<z.output<typeof Query>, 'from' | 'to'>, today: number): { readonly from: number; readonly to: number } {
  const to = days.to ?? Math.max(today, days.from ?? 0);
  const from = days.from ?? to;
  const wrong = (message: string): GatewayError => new GatewayError('VALIDATION_ERROR', { issues: [{ path: 'from', message }] });
  if (from > to) throw wrong('must not be after to');
  if (to - from >= MOST_DAYS) throw wrong(`must be at most ${MOST_DAYS} days before to, which is today where it is left out`);
  return { from, to };
}

const dateOf = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);

/** What was paid for gas, by day in UTC. */
export const COST_ROUTES = [
  operatorRoute({
    method: 'GET',
    path: '/costs',
    query: Query,
    async handle({ gateway, query: { chain, by, limit, ...days } }) {
      venueOf(gateway, chain);
      const { from, to } = rangeOf(days, dayOf(gateway.clock.now()));
      const { rows, groups, total } = await gateway.store.gas.costs({ chain, by, from, to, limit });
      return {
        chain,
        by,
        from: dateOf(from),
        to: dateOf(to),
        rows: rows.map((row) => ({ ...row, cost: formatNative(row.costWei) })),
        total: { ...total, cost: formatNative(total.costWei) },
        leftOut: groups - rows.length,
      };
    },
  }),
];
