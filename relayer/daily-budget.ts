import { formatEther } from 'viem/utils';
import { nextDay } from '../core/domain/relay/guardrails.js';
import { dayOf } from '../core/ports/stores/gas.js';
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
  /** The budget is used up: jobs that open or change something are no longer sent. */
  readonly onReached: (used: UsedBudget) => Promise<void>;
  /** The budget covers the spending again: the day ended, or the wallet was topped up. */
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

/** A wallet's spending limit per UTC day. Only the lane's lease holder uses it, so open jobs can be counted in memory. */
export interface DailyBudget {
  /** Called after each chain check with the wallet's balance and the open jobs. */
  refresh(balance: bigint, open: readonly RelayJob[]): Promise<void>;
  /**
   * Why a job of this maximum cost is not started; null while the budget covers it together with all open jobs. Then it is reserved at once,
   * because several jobs are checked at the same time.
   */
  refusal(id: bigint, maxCostWei: bigint): Promise<Refusal | null>;
  /** Reserves a job's maximum cost until the job is over; then its actual cost counts. */
  begin(id: bigint, maxCostWei: bigint): void;
  /** Reserves more for a job that is to be sent at a higher fee; false, and nothing is changed, if the budget does not cover it. */
  raise(id: bigint, maxCostWei: bigint): boolean;
  /** Releases jobs that got no nonce after all, because they were refused or canceled in the queue: they cost nothing. */
  release(ids: readonly bigint[]): void;
  step(job: RelayJob): void;
  /** Another replica held the lane in the meantime. */
  forget(): void;
}

const UNLIMITED: DailyBudget = {
  refresh: () => Promise.resolve(),
  refusal: () => Promise.resolve(null),
  begin: () => undefined,
  raise: () => true,
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
  /** Null until the first result: an alert raised by an earlier process may still be open. */
  let isReached: boolean | null = null;

  /** If a new day began since the last refresh, nothing is spent yet. */
  function today(): Day | null {
    const day = dayOf(clock.now());
    if (last === null || last.day === day) return last;
    return { day, highest: last.balance, spent: 0n };
  }

  const budgetOf = ({ highest }: Day): bigint => (setting === 'half' ? highest / 2n : setting);
  const committed = (): bigint => [...underWay.values()].reduce((sum, cost) => sum + cost, 0n);

  const covers = (day: Day, id: bigint, maxCostWei: bigint): boolean =>
    day.spent + committed() - (underWay.get(id) ?? 0n) + maxCostWei <= budgetOf(day);

  async function report(isNow: boolean, day: Day): Promise<void> {
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
      // Open jobs may exceed the budget although it is not spent yet; then the next job's check decides.
      if (isSpent || isReached !== true || spent + committed() < budgetOf(last)) await report(isSpent, last);
    },
    async refusal(id, maxCostWei) {
      const day = today();
      // No job is started before the first chain check, which refreshes this.
      if (day === null || covers(day, id, maxCostWei)) {
        underWay.set(id, maxCostWei);
        return null;
      }
      const budget = budgetOf(day);
      await report(true, day);
      const note = `the relayer has used its budget of ${formatEther(budget)} for today; cancels and closes are still sent`;
      return { reason: 'budget', note };
    },
    begin: (id, maxCostWei) => void underWay.set(id, maxCostWei),
    raise(id, maxCostWei) {
      const day = today();
      if (day !== null && !covers(day, id, maxCostWei)) return false;
      underWay.set(id, maxCostWei);
      return true;
    },
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
