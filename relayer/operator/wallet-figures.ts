import type { ChainSlug } from '../../core/chains/chains.js';
import type { Gateway, Venue } from '../../core/gateway.js';
import type { Address } from '../../core/types.js';
import { runwayDays, type Burn, type LaneOwner } from '../../core/ports/stores/gas.js';
import type { LaneHealth } from '../../core/ports/stores/relay.js';

/** A relayer wallet as shown to its operator. */
export interface WalletFigures {
  readonly chain: ChainSlug;
  readonly address: Address;
  /** Wei; null while no node answers. */
  readonly balance: bigint | null;
  readonly burn: Burn;
  readonly runwayDays: number | null;
  readonly lane: LaneHealth | null;
  readonly owner: LaneOwner | null;
  readonly openByState: Readonly<Record<string, number>>;
  readonly oldestOpenMs: number | null;
  readonly traders: number;
}

/** All wallets of a chain, whichever replica runs their lanes. */
export async function readWallets({ store, clock }: Gateway, { definition: { slug }, relayer, chain }: Venue): Promise<WalletFigures[]> {
  if (relayer === null) return [];
  const [lanes, jobs, traders] = await Promise.all([relayer.lanes(), store.gas.openJobs(slug), store.gas.assigned(slug)]);
  return Promise.all(
    relayer.wallets().map(async (address): Promise<WalletFigures> => {
      const [balance, burn, owner] = await Promise.all([
        chain.nativeBalance(address).catch(() => null),
        store.gas.burn(slug, address, clock.now()),
        store.gas.laneOwner(slug, address),
      ]);
      const own = jobs.filter(({ wallet }) => wallet === address);
      return {
        chain: slug,
        address,
        balance,
        burn,
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
