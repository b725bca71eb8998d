import { z } from 'zod';
import { formatEther } from 'viem/utils';
import { BURN_STEPS, type RecordedBalance } from '../../core/ports/stores/gas.js';
import type { Gateway, Venue } from '../../core/gateway.js';
import type { Address } from '../../core/types.js';
import { operatorRoute } from './operator-route.js';
import { relayedVenue, requireOwn, Wallet } from './relayed-venue.js';

/** Hours of a week and days of a month: as many bars as a chart can show. */
const RANGES = { '7': { step: 'hour', steps: 7 * 24 }, '30': { step: 'day', steps: 30 } } as const;

const Query = z.strictObject({
  chain: z.string().optional(),
  wallet: Wallet,
  days: z.enum(['7', '30'], 'must be 7 or 30').default('7'),
});

/** A wallet's spending and balance over time. */
export const HISTORY_ROUTES = [
  operatorRoute({
    method: 'GET',
    path: '/history',
    query: Query,
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
