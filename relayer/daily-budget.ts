import { nextDay } from '../core/domain/relay/guardrails.js';
import { dayOf } from '../core/ports/stores/gas.js';
import { formatNative } from '../core/domain/native-amount.js';
import type { DailyBudgetSetting } from '../core/config/relayer.js';
import { isOver, type Refusal, type RelayJob, type RelayStore } from '../core/ports/stores/relay.js';
import type { ChainSlug } from '../core/chains/chains.js';
import type { Logger } from '../core/ports/log.js';
import type { Clock } from '../core/ports/clock.js';
import type { Address } from '../core/types.js';

export interface UsedBudget {
  readonly wallet: Address;
  readonly spentWei: bigint;
  readonly budgetWei: bigint;
  readonly freesAt: number;
}

export interface BudgetEvents {
  /** What opens or changes something is not sent any more. */
  readonly onReached: (used: UsedBudget) => Promise<void>;
  /** The budget covers what was spent: the day ended, or the wallet was topped up. */
  readonly onLeft: (wallet: Address) => Promise<void>;
}

export interface DailyBudgetOptions {
  readonly setting: DailyBudgetSetting;
  readonly slug: ChainSlug;
  readonly wallet: Address;
  readonly store: Pick<RelayStore, 'budgetDay'>;
  readonly events: BudgetEvents | null;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What a wallet may spend on one UTC day. Only the lane's lease holder asks, so what is under way is known here. */
export interface DailyBudget {
  /** After each look at the chain: the wallet's balance, and what is open. */
  refresh(balance: bigint, open: readonly RelayJob[]): Promise<void>;
  /** Why a job that costs this much at most is not begun; null while the budget covers it beside all that is under way. */
  refusal(maxCostWei: bigint): Promise<Refusal | null>;
  /** A job is begun: it counts until it is over, and then by what it cost. */
  begin(id: bigint, maxCostWei: bigint): void;
  /** Jobs that were begun and got no nonce after all, because they were canceled in the queue: they cost nothing. */
  release(ids: readonly bigint[]): void;
  step(job: RelayJob): void;
  /** Another replica held the lane meanwhile. */
  forget(): void;
}

const UNLIMITED: DailyBudget = {
  refresh: () => Promise.resolve(),
  refusal: () => Promise.resolve(null),
  begin: () => undefined,
  release: () => undefined,
  step: () => undefined,
  forget: () => undefined,
};

interface Day {
  readonly day: number;
  readonly highest: bigint;
  readonly spent: bigint;
}

export function createDailyBudget(options: DailyBudgetOptions): DailyBudget {
  const { setting, slug, wallet, store, events, clock, log } = options;
  if (setting === 'unlimited') return UNLIMITED;
  const underWay = new Map<bigint, bigint>();
  let last: (Day & { readonly balance: bigint }) | null = null;
  /** Null until the first answer: an alert of a process before this one may be open. */
  let isReached: boolean | null = null;

  /** A day that began since the last look has spent nothing yet. */
  function today(): Day | null {
    const day = dayOf(clock.now());
    if (last === null || last.day === day) return last;
    return { day, highest: last.balance, spent: 0n };
  }

  const budgetOf = ({ highest }: Day): bigint => (setting === 'half' ? highest / 2n : setting);
  const committed = (): bigint => [...underWay.values()].reduce((sum, cost) => sum + cost, 0n);

  async function tell(isNow: boolean, day: Day): Promise<void> {
    if (isReached === isNow) return;
    isReached = isNow;
    const used = { wallet, spentWei: day.spent, budgetWei: budgetOf(day), freesAt: nextDay(clock.now()) };
    if (isNow) log.warn('relay.budget-reached', { wallet, spentWei: used.spentWei, budgetWei: used.budgetWei });
    await (isNow ? events?.onReached(used) : events?.onLeft(wallet));
  }

  return {
    async refresh(balance, open) {
      for (const job of open) {
        const attempt = job.attempts.at(-1);
        if (attempt && !underWay.has(job.id)) underWay.set(job.id, job.gas * attempt.maxFeePerGas);
      }
      const day = dayOf(clock.now());
      const { highest, spent } = await store.budgetDay(slug, wallet, { day, balance });
      last = { day, highest, spent, balance };
      const isSpent = spent >= budgetOf(last);
      // Between the two, what is under way decides with the next job.
      if (isSpent || isReached !== true || spent + committed() < budgetOf(last)) await tell(isSpent, last);
    },
    async refusal(maxCostWei) {
      const day = today();
      // Nothing is begun before the first look, which refreshes this.
      if (day === null) return null;
      const budget = budgetOf(day);
      if (day.spent + committed() + maxCostWei <= budget) return null;
      await tell(true, day);
      const note = `the relayer has used its budget of ${formatNative(budget)} for today; cancels and closes are still sent`;
      return { reason: 'budget', note };
    },
    begin: (id, maxCostWei) => void underWay.set(id, maxCostWei),
    release: (ids) => ids.forEach((id) => underWay.delete(id)),
    step(job) {
      if (isOver(job.state)) underWay.delete(job.id);
    },
    forget() {
      underWay.clear();
      last = null;
      isReached = null;
    },
  };
}
