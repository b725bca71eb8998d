import type { ChainSlug } from '../../core/chains/chains.js';
import type { Gateway, Venue } from '../../core/gateway.js';
import type { Address } from '../../core/types.js';
import type { DailyBudgetSetting } from '../../core/config/relayer.js';
import { runwayDays, type Burn, type LaneOwner, type SpentToday } from '../../core/ports/stores/gas.js';
import type { LaneHealth } from '../../core/ports/stores/relay.js';

/** A relayer wallet as shown to its operator. */
export interface WalletFigures {
  readonly chain: ChainSlug;
  readonly address: Address;
  /** Wei; null while no node answers. */
  readonly balance: bigint | null;
  readonly burn: Burn;
  readonly runwayDays: number | null;
  readonly budget: WalletBudget;
  readonly lane: LaneHealth | null;
  readonly owner: LaneOwner | null;
  readonly openByState: Readonly<Record<string, number>>;
  readonly oldestOpenMs: number | null;
  readonly traders: number;
}

/** What a wallet may spend and has spent in this UTC day. */
export interface WalletBudget {
  readonly setting: 'fixed' | 'half' | 'unlimited';
  /** Wei; null: unlimited, or half of a balance that no lane has read yet today. */
  readonly budgetWei: bigint | null;
  readonly spentWei: bigint;
}

function budgetOf(setting: DailyBudgetSetting, { spentWei, highestBalanceWei }: SpentToday): WalletBudget {
  if (typeof setting === 'bigint') return { setting: 'fixed', budgetWei: setting, spentWei };
  const isHalf = setting === 'half' && highestBalanceWei !== null;
  return { setting, budgetWei: isHalf ? highestBalanceWei / 2n : null, spentWei };
}

/** All wallets of a chain, whichever replica runs their lanes. */
export async function readWallets({ store, clock }: Gateway, { definition: { slug }, relayer, chain }: Venue): Promise<WalletFigures[]> {
  if (relayer === null) return [];
  const [lanes, jobs, traders] = await Promise.all([relayer.lanes(), store.gas.openJobs(slug), store.gas.assigned(slug)]);
  return Promise.all(
    relayer.wallets().map(async (address): Promise<WalletFigures> => {
      const [balance, burn, spent, owner] = await Promise.all([
        chain.nativeBalance(address).catch(() => null),
        store.gas.burn(slug, address, clock.now()),
        store.gas.spentToday(slug, address, clock.now()),
        store.gas.laneOwner(slug, address),
      ]);
      const own = jobs.filter(({ wallet }) => wallet === address);
      return {
        chain: slug,
        address,
        balance,
        burn,
        budget: budgetOf(relayer.dailyBudget(), spent),
        owner,
        runwayDays: balance === null ? null : runwayDays(balance, burn),
        lane: lanes.find(({ wallet }) => wallet === address) ?? null,
        openByState: Object.fromEntries(own.map(({ state, count }) => [state, count])),
        oldestOpenMs: own.length === 0 ? null : clock.now() - Math.min(...own.map(({ oldestAt }) => oldestAt)),
        traders: traders.get(address) ?? 0,
      };
    }),
  );
}
