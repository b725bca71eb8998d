import type { ChainSlug } from '../../chains/chains.js';
import type { Address } from '../../types.js';
import type { RelayState } from './relay.js';

export const DAY_MS = 86_400_000;
export const dayOf = (at: number): number => Math.floor(at / DAY_MS);

/** By what costs can be summed up. */
export const COST_GROUPS = ['trader', 'action', 'outcome', 'wallet', 'day'] as const;
export type CostGroup = (typeof COST_GROUPS)[number];

export interface CostSum {
  /** The day as `2026-01-31`; null where no trader was served, as by a no-op. */
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
  /** Dearest first, days in their order; at most as many as were asked for. */
  readonly rows: readonly CostSum[];
  /** Of all groups, those left out included. */
  readonly groups: number;
  readonly total: Omit<CostSum, 'key'>;
}

/** What referrers earn of the fees that traders pay; all 1e18. */
export interface Earned {
  readonly volumeUsd: bigint;
  readonly gns: bigint;
  /** What the GNS were worth when they were earned. */
  readonly usd: bigint;
}

export interface EarnedSum extends Earned {
  /** The trader, or the day as `2026-01-31`. */
  readonly key: string;
}

export interface EarningsQuery extends Omit<CostQuery, 'by'> {
  readonly by: 'trader' | 'day';
  readonly referrers: readonly Address[];
  /** Only these of the groups; absent = all. */
  readonly keys?: readonly string[];
}

export interface Earnings {
  /** Most earned first, days in their order; at most as many as were asked for. */
  readonly rows: readonly EarnedSum[];
  /** Of all groups, those left out included. */
  readonly groups: number;
  readonly total: Earned;
  /** Traders that became theirs in these days. */
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

/** What a wallet spent until now. */
export interface Burn {
  readonly dayWei: bigint;
  readonly weekWei: bigint;
}

/** A replica, as the database sees it. */
export interface LaneOwner {
  /** Null where it comes from the database's own machine without a network. */
  readonly host: string | null;
  readonly connection: number;
  /** Epoch ms: since when it is connected. */
  readonly since: number;
}

/**
 * What every transaction of the relayer cost. It is booked in the statement that settles a job, and taken back in the one that unsettles
 * it, so that its sum is what left the wallets. Money that moves past the relayer (funding, a key used elsewhere) is not in it.
 */
export interface GasLedger {
  burn(chain: ChainSlug, wallet: Address, now: number): Promise<Burn>;
  costs(query: CostQuery): Promise<Costs>;
  /** From the Diamond's own events, by the time of their blocks; what an ally takes of it is not the referrer's. */
  earnings(query: EarningsQuery): Promise<Earnings>;
  /** Since the beginning, all chains. */
  totals(): Promise<readonly CostTotal[]>;
  /** Jobs that were never sent, by a few words of why. */
  refusals(): Promise<readonly { readonly chain: ChainSlug; readonly reason: string; readonly count: number }[]>;
  openJobs(
    chain: ChainSlug,
  ): Promise<readonly { readonly wallet: Address; readonly state: RelayState; readonly count: number; readonly oldestAt: number }[]>;
  /** Whose database connection holds the wallet's lane now; null while no replica sends for it. */
  laneOwner(chain: ChainSlug, wallet: Address): Promise<LaneOwner | null>;
  /** How many traders each wallet serves. */
  assigned(chain: ChainSlug): Promise<ReadonlyMap<string, number>>;
}

/** Days until the wallet is empty at the dearer pace of the two; null when it spends nothing. Rounded down to a hundredth. */
export function runwayDays(balance: bigint, { dayWei, weekWei }: Burn): number | null {
  const weekly = weekWei / 7n;
  const perDay = dayWei > weekly ? dayWei : weekly;
  return perDay === 0n ? null : Number((balance * 100n) / perDay) / 100;
}
