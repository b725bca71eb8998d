import { z } from 'zod';
import { formatEther, formatUnits } from 'viem/utils';
import { CHAIN_SLUGS } from '../../core/chains/chains.js';
import { GatewayError } from '../../core/errors.js';
import { venueOf, type Gateway, type Venue } from '../../core/gateway.js';
import { referrersOf } from '../../core/trading/order-variables.js';
import type { Address } from '../../core/types.js';
import { BURN_STEPS, COST_GROUPS, DAY_MS, dayOf, type Earned, type Earnings, type RecordedBalance } from '../../core/ports/stores/gas.js';
import { operatorRoute, relayedVenue, requireOwn, Wallet } from './operator-route.js';

/** Bounds a report to one year. */
const MOST_DAYS = 366;
const MOST_ROWS = 1_000;

/** Days since 1970 in UTC. */
const Day = z.iso.date('must be a day such as 2026-01-31').transform((text) => Date.parse(`${text}T00:00:00Z`) / DAY_MS);

const Limit = z.coerce
  .number('must be a number')
  .int('must be a whole number')
  .min(1, 'must be 1 to 1000')
  .max(MOST_ROWS, 'must be 1 to 1000')
  .default(100);

/** Overrides the configured referrers, for example with an earlier one. */
const Referrer = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/, 'must be an address')
  .transform((text) => text.toLowerCase() as Address);

const EARNING_GROUPS = ['trader', 'day'] as const;

const Query = z.strictObject({
  chain: z.enum(CHAIN_SLUGS, 'must be a chain'),
  by: z.enum(COST_GROUPS, `must be one of ${COST_GROUPS.join(', ')}`).default('action'),
  from: Day.optional(),
  to: Day.optional(),
  limit: Limit,
  referrer: Referrer.optional(),
});

const EarningsQuery = Query.extend({ by: z.enum(EARNING_GROUPS, `must be one of ${EARNING_GROUPS.join(', ')}`).default('trader') });

/** One day if only `to` is given, until today if only `from` is. */
function rangeOf(days: Pick<z.output<typeof Query>, 'from' | 'to'>, today: number): { readonly from: number; readonly to: number } {
  const to = days.to ?? Math.max(today, days.from ?? 0);
  const from = days.from ?? to;
  const wrong = (message: string): GatewayError => new GatewayError('VALIDATION_ERROR', { issues: [{ path: 'from', message }] });
  if (from > to) throw wrong('must not be after to');
  if (to - from >= MOST_DAYS) throw wrong(`must be at most ${MOST_DAYS} days before to, which is today where it is left out`);
  return { from, to };
}

const dateOf = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);

/** All amounts have 18 decimals. */
const earnedText = ({ volumeUsd, gns, usd }: Earned) => ({
  volumeUsd: formatUnits(volumeUsd, 18),
  gns: formatUnits(gns, 18),
  usd: formatUnits(usd, 18),
});

/** Total earnings of these days, however the rows are grouped. */
const earnedSummary = (referrers: readonly Address[], { total, registered, claimedGns }: Earnings) => ({
  referrers,
  ...earnedText(total),
  registered,
  claimedGns: formatUnits(claimedGns, 18),
});

const NOTHING_EARNED: Earned = { volumeUsd: 0n, gns: 0n, usd: 0n };

/** The requested referrer, or the configured ones. Throws for a chain that is not served. */
function chosenReferrers(gateway: Gateway, chain: string, asked: Address | undefined): readonly Address[] {
  const { referrers } = venueOf(gateway, chain);
  return asked === undefined ? referrersOf(referrers) : [asked];
}

/** Gas costs and referral earnings by UTC day. */
export const COST_ROUTES = [
  operatorRoute({
    method: 'GET',
    path: '/costs',
    query: Query,
    async handle({ gateway, query: { chain, by, limit, referrer, ...days } }) {
      const referrers = chosenReferrers(gateway, chain, referrer);
      const { from, to } = rangeOf(days, dayOf(gateway.clock.now()));
      const { rows, groups, total } = await gateway.store.gas.costs({ chain, by, from, to, limit });
      const isEarnedBy = by === 'trader' || by === 'day';
      const keys = isEarnedBy ? rows.flatMap(({ key }) => key ?? []) : [];
      const earnings = await gateway.store.gas.earnings({ chain, by: isEarnedBy ? by : 'day', from, to, limit, referrers, keys });
      const earned = new Map(earnings.rows.map((row) => [row.key, row]));
      return {
        chain,
        by,
        from: dateOf(from),
        to: dateOf(to),
        rows: rows.map((row) => ({
          ...row,
          cost: formatEther(row.costWei),
          ...(isEarnedBy && { earned: earnedText(earned.get(row.key ?? '') ?? NOTHING_EARNED) }),
        })),
        total: { ...total, cost: formatEther(total.costWei) },
        leftOut: groups - rows.length,
        earned: earnedSummary(referrers, earnings),
      };
    },
  }),
  operatorRoute({
    method: 'GET',
    path: '/earnings',
    query: EarningsQuery,
    async handle({ gateway, query: { chain, by, limit, referrer, ...days } }) {
      const referrers = chosenReferrers(gateway, chain, referrer);
      const { from, to } = rangeOf(days, dayOf(gateway.clock.now()));
      const earnings = await gateway.store.gas.earnings({ chain, by, from, to, limit, referrers });
      return {
        chain,
        by,
        from: dateOf(from),
        to: dateOf(to),
        rows: earnings.rows.map(({ key, ...row }) => ({ key, ...earnedText(row) })),
        total: earnedSummary(referrers, earnings),
        leftOut: earnings.groups - earnings.rows.length,
      };
    },
  }),
];

/** Hours of a week and days of a month: as many bars as a chart can show. */
const RANGES = { '7': { step: 'hour', steps: 7 * 24 }, '30': { step: 'day', steps: 30 } } as const;

const HistoryQuery = z.strictObject({
  chain: z.string().optional(),
  wallet: Wallet,
  days: z.enum(['7', '30'], 'must be 7 or 30').default('7'),
});

/** A wallet's spending and balance over time. */
export const HISTORY_ROUTES = [
  operatorRoute({
    method: 'GET',
    path: '/history',
    query: HistoryQuery,
    async handle({ gateway, query: { chain, wallet, days } }) {
      const venue = relayedVenue(gateway, chain);
      requireOwn(venue, wallet);
      const { slug } = venue.definition;
      const { step, steps } = RANGES[days];
      const now = gateway.clock.now();
      const stepMs = BURN_STEPS[step];
      const from = (Math.floor(now / stepMs) - steps + 1) * stepMs;
      const [burn, recorded, current] = await Promise.all([
        gateway.store.gas.burnSteps({ chain: slug, wallet, step, from }),
        gateway.store.gas.balances(slug, wallet, from),
        currentBalance(gateway, venue, wallet),
      ]);
      return {
        chain: slug,
        wallet,
        days: Number(days),
        from,
        to: now,
        stepMs,
        burn: burn.map((row) => ({ ...row, cost: formatEther(row.costWei) })),
        balances: [...recorded, ...current].map((row) => ({ ...row, balance: formatEther(row.balanceWei) })),
      };
    },
  }),
];

/** The newest point of the series; none while no node answers. */
async function currentBalance({ clock }: Gateway, { chain }: Venue, wallet: Address): Promise<RecordedBalance[]> {
  try {
    const balanceWei = await chain.nativeBalance(wallet);
    return [{ at: clock.now(), balanceWei }];
  } catch {
    return [];
  }
}
