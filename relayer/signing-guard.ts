import type { Clock } from '../core/ports/clock.js';
import type { Address } from '../core/types.js';
import { BLOCKED_EXITS, careQuota, dayStart, exitQuota, nextDay, type RelayRules } from '../core/domain/relay/guardrails.js';
import type { GivenRules } from '../core/config/rules.js';
import type { Refusal, RelayJob } from '../core/ports/stores/relay.js';
import type { UsedQuota } from '../core/observability/alerts/raise.js';
import type { RulesStore } from '../core/ports/stores/rules.js';

/** opens: creates or increases a position · cares: changes TP/SL or margin of an open one · exits: reduces risk at the trader's request. */
export type JobNature = 'opens' | 'cares' | 'exits';

/** Why the operator's rules forbid signing a job; null if they allow it. */
export type SigningGuard = (job: RelayJob, nature: JobNature) => Promise<Refusal | null>;

export interface SigningGuardOptions {
  readonly store: Pick<RulesStore, 'before'>;
  readonly given: (trader: Address) => GivenRules;
  readonly clock: Clock;
  /** Raises the alert about a used quota. */
  readonly onQuota: (trader: Address, reached: UsedQuota) => Promise<void>;
}

/** How long a trader without limits is cached as such; openings were already checked by the newest rules when they were stored. */
const REMEMBER_MS = 1_000;
const MOST_REMEMBERED = 10_000;

/** Checks the operator's rules again before the signature. One lane sends for a trader, so earlier jobs are already counted. */
export function createSigningGuard({ store, given, clock, onQuota }: SigningGuardOptions): SigningGuard {
  const freeSince = new Map<Address, number>();
  return async ({ trader, chain, id, createdAt }, nature) => {
    if (trader === null || clock.now() - (freeSince.get(trader) ?? -Infinity) < REMEMBER_MS) return null;
    const { rules, transactions, holds } = await store.before({ chain, trader, id, given: given(trader), since: dayStart(createdAt) });
    if (freeSince.size >= MOST_REMEMBERED) freeSince.clear();
    if (isFree(rules)) freeSince.set(trader, clock.now());
    else freeSince.delete(trader);
    const isBlocked = rules.access === 'blocked';
    // Positions that a blocked trader opened with its own wallet are not relayed, not even their closes.
    const refusal = nature === 'opens' || (isBlocked && !holds) ? accessRefusal(rules) : null;
    if (refusal !== null) return refusal;
    const bound = isBlocked ? BLOCKED_EXITS : rules.dailyTransactions === null ? null : QUOTAS[nature](rules.dailyTransactions);
    if (bound === null || transactions < bound) return null;
    const reached = { bound, used: transactions, freesAt: nextDay(createdAt) };
    await onQuota(trader, reached);
    return quotaRefusal(reached);
  };
}

const isFree = ({ access, reduceOnly, dailyTransactions }: RelayRules): boolean =>
  access === 'allowed' && !reduceOnly && dailyTransactions === null;

/** Limits by nature, derived from the quota of openings: transactions of every nature count towards each of them. */
const QUOTAS: Readonly<Record<JobNature, (dailyTransactions: number) => number>> = {
  opens: (dailyTransactions) => dailyTransactions,
  cares: careQuota,
  exits: exitQuota,
};

function accessRefusal({ access, reduceOnly }: RelayRules): Refusal | null {
  if (access === 'blocked') return { reason: 'rules', note: 'Trading is halted for this user by the operator' };
  return reduceOnly ? { reason: 'rules', note: 'Only reduce-only orders allowed for this user' } : null;
}

function quotaRefusal({ bound, used, freesAt }: UsedQuota): Refusal {
  const resets = new Date(freesAt).toISOString();
  const note = `Too many cumulative requests sent (${used + 1} > ${bound}) for the daily quota of transactions, which resets at ${resets}`;
  return { reason: 'quota', note };
}
