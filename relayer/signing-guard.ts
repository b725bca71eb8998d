import type { Clock } from '../core/ports/clock.js';
import type { Address } from '../core/types.js';
import { BLOCKED_EXITS, careQuota, dayStart, exitQuota, nextDay, type RelayRules } from '../core/domain/relay/guardrails.js';
import type { GivenRules } from '../core/config/rules.js';
import type { Refusal, RelayJob } from '../core/ports/stores/relay.js';
import type { UsedQuota } from '../core/observability/alerts/rules.js';
import type { RulesStore } from '../core/ports/stores/rules.js';

/** opens: makes a position, or grows one · cares: changes the levels or the margin of what is there · exits: takes risk away, as its trader asked. */
export type JobNature = 'opens' | 'cares' | 'exits';

/** Why the operator's rules keep a job from being signed; null when they do not. */
export type SigningGuard = (job: RelayJob, nature: JobNature) => Promise<Refusal | null>;

export interface SigningGuardOptions {
  readonly store: Pick<RulesStore, 'before'>;
  readonly given: (trader: Address) => GivenRules;
  readonly clock: Clock;
  /** Somebody is to be told of it. */
  readonly onQuota: (trader: Address, reached: UsedQuota) => Promise<void>;
}

/** For so long a trader without bounds is believed to have none; openings were judged by the newest rules when they were stored. */
const REMEMBER_MS = 1_000;
const MOST_REMEMBERED = 10_000;

/** The operator's rules once more, before the signature. One lane sends for a trader, so what comes before a job is settled by then. */
export function createSigningGuard({ store, given, clock, onQuota }: SigningGuardOptions): SigningGuard {
  const freeSince = new Map<Address, number>();
  return async ({ trader, chain, id, createdAt }, nature) => {
    if (trader === null || clock.now() - (freeSince.get(trader) ?? -Infinity) < REMEMBER_MS) return null;
    const { rules, transactions, holds } = await store.before({ chain, trader, id, given: given(trader), since: dayStart(createdAt) });
    if (freeSince.size >= MOST_REMEMBERED) freeSince.clear();
    if (isFree(rules)) freeSince.set(trader, clock.now());
    else freeSince.delete(trader);
    const isBlocked = rules.access === 'blocked';
    // What a stranger opened with its own wallet is none of the relayer's business, getting out of it included.
    const standing = nature === 'opens' || (isBlocked && !holds) ? standingRefusal(rules) : null;
    if (standing !== null) return standing;
    const bound = isBlocked ? BLOCKED_EXITS : rules.dailyTransactions === null ? null : QUOTAS[nature](rules.dailyTransactions);
    if (bound === null || transactions < bound) return null;
    const reached = { bound, used: transactions, freesAt: nextDay(createdAt) };
    await onQuota(trader, reached);
    return quotaRefusal(reached);
  };
}

const isFree = ({ access, reduceOnly, dailyTransactions }: RelayRules): boolean =>
  access === 'allowed' && !reduceOnly && dailyTransactions === null;

/** By nature, of the quota of openings: what is sent for one counts for all. */
const QUOTAS: Readonly<Record<JobNature, (dailyTransactions: number) => number>> = {
  opens: (dailyTransactions) => dailyTransactions,
  cares: careQuota,
  exits: exitQuota,
};

function standingRefusal({ access, reduceOnly }: RelayRules): Refusal | null {
  if (access === 'blocked') return { reason: 'rules', note: 'Trading is halted for this user by the operator' };
  return reduceOnly ? { reason: 'rules', note: 'Only reduce-only orders allowed for this user' } : null;
}

function quotaRefusal({ bound, used, freesAt }: UsedQuota): Refusal {
  const resets = new Date(freesAt).toISOString();
  const note = `Too many cumulative requests sent (${used + 1} > ${bound}) for the daily quota of transactions, which resets at ${resets}`;
  return { reason: 'quota', note };
}
