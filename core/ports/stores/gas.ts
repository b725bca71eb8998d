import type { ChainSlug } from '../../chains/chains.js';
import type { Address } from '../../types.js';
import type { RelayState } from './relay.js';

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
export const dayOf = (at: number): number => Math.floor(at / DAY_MS);

/** Groupings of costs. */
export const COST_GROUPS = ['trader', 'action', 'outcome', 'wallet', 'day'] as const;
export type CostGroup = (typeof COST_GROUPS)[number];

export interface CostSum {
  /** Days as `2026-01-31`; null where no trader was served, as by a no-op. */
  readonly key: string | null;
  readonly transactions: number;
  readonly costWei: bigint;
}

export interface CostQuery {
  readonly chain: ChainSlug;
  readonly by: CostGroup;
  /** Days since 1970 in UTC, both included. */
  readonly from: number;
  readonly to: number;
  readonly limit: number;
}

export interface Costs {
  /** Most expensive first, days in order; at most `limit`. */
  readonly rows: readonly CostSum[];
  /** Of all groups, including those beyond the limit. */
  readonly groups: number;
  readonly total: Omit<CostSum, 'key'>;
}

/** Referrers' share of the fees that traders pay; all 1e18. */
export interface Earned {
  readonly volumeUsd: bigint;
  readonly gns: bigint;
  /** Value of the GNS when they were earned. */
  readonly usd: bigint;
}

export interface EarnedSum extends Earned {
  /** The trader, or the day as `2026-01-31`. */
  readonly key: string;
}

export interface EarningsQuery extends Omit<CostQuery, 'by'> {
  readonly by: 'trader' | 'day';
  readonly referrers: readonly Address[];
  /** Only these groups; absent = all. */
  readonly keys?: readonly string[];
}

export interface Earnings {
  /** Highest first, days in order; at most `limit`. */
  readonly rows: readonly EarnedSum[];
  /** Of all groups, including those beyond the limit. */
  readonly groups: number;
  readonly total: Earned;
  /** Traders that registered with them in these days. */
  readonly registered: number;
  readonly claimedGns: bigint;
}

export interface CostTotal {
  readonly chain: ChainSlug;
  readonly wallet: Address;
  readonly action: string;
  readonly outcome: string;
  readonly transactions: number;
  readonly costWei: bigint;
}

/** A wallet's recent spending. */
export interface Burn {
  readonly dayWei: bigint;
  readonly weekWei: bigint;
}

/** What a wallet spent in one step of a series. */
export interface BurnStep {
  /** Epoch ms of its beginning. */
  readonly at: number;
  readonly transactions: number;
  readonly costWei: bigint;
}

export interface RecordedBalance {
  /** Epoch ms at which a node was asked. */
  readonly at: number;
  readonly balanceWei: bigint;
}

export const BURN_STEPS = { hour: HOUR_MS, day: DAY_MS } as const;

export interface BurnQuery {
  readonly chain: ChainSlug;
  readonly wallet: Address;
  readonly step: keyof typeof BURN_STEPS;
  /** Epoch ms at which a step begins. */
  readonly from: number;
}

/** What the daily budget of a wallet is measured by. Wei. */
export interface SpentToday {
  readonly spentWei: bigint;
  /** Null while no lane has read the balance of the day. */
  readonly highestBalanceWei: bigint | null;
}

/** A replica, as the database sees it. */
export interface LaneOwner {
  /** Null for a local connection without network. */
  readonly host: string | null;
  readonly connection: number;
  /** Epoch ms: since when it is connected. */
  readonly since: number;
}

/**
 * What every transaction of the relayer cost. A cost is booked in the statement that confirms a job and reversed in the one that undoes
 * the confirmation, so that its sum is what left the wallets. Transfers outside the relayer (funding, a key used elsewhere) are not in it.
 */
export interface GasLedger {
  burn(chain: ChainSlug, wallet: Address, now: number): Promise<Burn>;
  /** In order; steps without a transaction are left out. */
  burnSteps(query: BurnQuery): Promise<readonly BurnStep[]>;
  spentToday(chain: ChainSlug, wallet: Address, now: number): Promise<SpentToday>;
  /** Keeps the latest balance of each hour, whichever replica read it. */
  recordBalance(chain: ChainSlug, wallet: Address, read: RecordedBalance): Promise<void>;
  /** Recorded since `from`, in order, at most one of each hour. */
  balances(chain: ChainSlug, wallet: Address, from: number): Promise<readonly RecordedBalance[]>;
  costs(query: CostQuery): Promise<Costs>;
  /** From the Diamond's events, by block time; without the share of the referrer's ally. */
  earnings(query: EarningsQuery): Promise<Earnings>;
  /** Since the beginning, all chains. */
  totals(): Promise<readonly CostTotal[]>;
  /** Jobs that were never sent, by refusal reason. */
  refusals(): Promise<readonly { readonly chain: ChainSlug; readonly reason: string; readonly count: number }[]>;
  openJobs(
    chain: ChainSlug,
  ): Promise<readonly { readonly wallet: Address; readonly state: RelayState; readonly count: number; readonly oldestAt: number }[]>;
  /** The replica whose database connection holds the wallet's lane; null while no replica sends for it. */
  laneOwner(chain: ChainSlug, wallet: Address): Promise<LaneOwner | null>;
  /** How many traders each wallet serves. */
  assigned(chain: ChainSlug): Promise<ReadonlyMap<string, number>>;
}

/** Days until the wallet is empty at the higher of the daily and weekly rate; null when it spends nothing. Rounded down to a hundredth. */
export function runwayDays(balance: bigint, { dayWei, weekWei }: Burn): number | null {
  const weekly = weekWei / 7n;
  const perDay = dayWei > weekly ? dayWei : weekly;
  return perDay === 0n ? null : Number((balance * 100n) / perDay) / 100;
}
