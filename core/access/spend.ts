import type { Decimal } from '../domain/decimal.js';
import { capExceeded, utcDay } from '../domain/agent.js';
import type { Gateway, Venue } from '../gateway.js';
import type { AgentCaller } from './caller.js';

/** Counts the notional against the agent's daily cap, or throws with the amount spent. It stays counted on the day of preparation. */
export async function reserveSpend(
  { store }: Gateway,
  venue: Venue,
  caller: AgentCaller,
  { id, usd, expiresAt }: { readonly id: string; readonly usd: Decimal; readonly expiresAt?: number },
): Promise<void> {
  const { agent, trader, scope } = caller;
  const account = { chain: venue.definition.slug, agent, trader, day: utcDay(venue.clock.now()) };
  if (await store.spend.reserve({ ...account, id, usd, ...(expiresAt !== undefined && { expiresAt }) }, scope.dailySpendCapUsd)) return;
  if (scope.dailySpendCapUsd !== null) throw capExceeded(scope.dailySpendCapUsd, await store.spend.spent(account), usd);
}

/** For an order that expired, was canceled or rejected. */
export const releaseSpend = ({ store }: Gateway, venue: Venue, id: string): Promise<boolean> =>
  store.spend.release(venue.definition.slug, id);

/** For a given-up order whose transaction was mined after all. */
export const restoreSpend = ({ store }: Gateway, venue: Venue, id: string): Promise<boolean> =>
  store.spend.restore(venue.definition.slug, id);
