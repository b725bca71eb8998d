import type { Knex } from 'knex';
import type { Address } from '../../types.js';
import type { DrilledGap, RelaySwitch, SwitchStore, WalletWork } from '../../ports/stores/switches.js';
import { inTransaction } from './statement.js';

const ALL_WALLETS = '*';

export interface SwitchRow {
  readonly wallet: string;
  readonly mode: RelaySwitch['mode'];
  readonly is_retiring: boolean;
  readonly reason: string | null;
  readonly changed_at: bigint | number;
}

export const switchOf = ({ wallet, mode, is_retiring, reason, changed_at }: SwitchRow): RelaySwitch => ({
  wallet: wallet === ALL_WALLETS ? null : (wallet as Address),
  mode,
  isRetiring: is_retiring,
  reason,
  changedAt: Number(changed_at),
});

export function createSwitchStore(db: Knex): SwitchStore {
  const rows = async <Row>(sql: string, values: Record<string, unknown>): Promise<Row[]> =>
    (await db.raw<{ rows: Row[] }>(sql, values as Record<string, string>)).rows;
  return {
    all: async (chain) => (await rows<SwitchRow>('select * from relay_switches where chain = :chain', { chain })).map(switchOf),
    async set(chain, wallet, { mode, reason }, at) {
      await rows(SET, { chain, wallet: wallet ?? ALL_WALLETS, mode, reason, at });
    },
    async retire(chain, wallet, isRetiring, at) {
      await rows(RETIRE, { chain, wallet, isRetiring, at });
    },
    async work(chain, wallets) {
      const found = await rows<Record<keyof WalletWork, string>>(WORK, { chain, wallets: [...wallets] });
      return found.map((row) => ({
        wallet: row.wallet as Address,
        queued: Number(row.queued),
        sent: Number(row.sent),
        traders: Number(row.traders),
      }));
    },
    tradersOf: async (chain, wallet, { after, atMost }) =>
      (await rows<{ trader: Address }>(TRADERS, { chain, wallet, after: after ?? '', atMost })).map(({ trader }) => trader),
    async moveTrader(chain, trader, from, to) {
      const [moved] = await rows<{ wallet: Address }>(MOVE, { chain, trader, from, to });
      if (moved) return moved.wallet;
      const [kept] = await rows<{ wallet: Address }>(ASSIGNED, { chain, trader });
      return kept?.wallet ?? to;
    },
    drillGap: (chain, wallet, chainNonce, gas, at) =>
      inTransaction(db, async (trx) => {
        const first = async <Row>(sql: string, values: Record<string, unknown>): Promise<Row | undefined> =>
          (await trx.raw<{ rows: Row[] }>(sql, values as Record<string, string>)).rows[0];
        // Locks the lane's row, so that no nonce is assigned meanwhile.
        const lane = await first<{ next_nonce: string }>(SKIP, { chain, wallet, chainNonce });
        if (!lane) return null;
        const nonce = Number(lane.next_nonce) - 1;
        const job = await first<{ id: string }>(BEHIND, { chain, wallet, nonce, gas: gas.toString(), at });
        return job ? ({ gap: nonce - 1, job: BigInt(job.id) } satisfies DrilledGap) : null;
      }),
  };
}

const SET = `
  insert into relay_switches (chain, wallet, mode, reason, changed_at) values (:chain, :wallet, :mode, :reason, :at)
  on conflict (chain, wallet) do update set mode = excluded.mode, reason = excluded.reason, changed_at = excluded.changed_at`;

const RETIRE = `
  insert into relay_switches (chain, wallet, is_retiring, changed_at) values (:chain, :wallet, :isRetiring, :at)
  on conflict (chain, wallet) do update set is_retiring = excluded.is_retiring, changed_at = excluded.changed_at`;

const WORK = `
  select wanted.wallet,
    (select count(*) from relay_jobs job where job.chain = :chain and job.wallet = wanted.wallet and not is_over and nonce is null) as queued,
    (select count(*) from relay_jobs job where job.chain = :chain and job.wallet = wanted.wallet and not is_over and nonce is not null) as sent,
    (select count(*) from relay_wallets known where known.chain = :chain and known.wallet = wanted.wallet) as traders
  from unnest(:wallets::text[]) with ordinality as wanted (wallet, place) order by wanted.place`;

const TRADERS = `
  select trader from relay_wallets where chain = :chain and wallet = :wallet and trader > :after order by trader limit :atMost`;

const MOVE = 'update relay_wallets set wallet = :to where chain = :chain and trader = :trader and wallet = :from returning wallet';
const ASSIGNED = 'select wallet from relay_wallets where chain = :chain and trader = :trader';

const SKIP = `
  insert into relay_lanes as lane (chain, wallet, next_nonce)
  select :chain, :wallet, :chainNonce::bigint + 2
  where not exists (select from relay_jobs where chain = :chain and wallet = :wallet and not is_over)
  on conflict (chain, wallet) do update set next_nonce = greatest(lane.next_nonce, :chainNonce::bigint) + 2
  returning next_nonce`;

const BEHIND = `
  insert into relay_jobs (chain, wallet, purpose, data, gas, context, state, nonce, created_at)
  values (:chain, :wallet, 'no-op', '0x', :gas::numeric, 'null', 'assigned', :nonce, :at)
  on conflict (chain, wallet, nonce) where nonce is not null do nothing returning id`;
