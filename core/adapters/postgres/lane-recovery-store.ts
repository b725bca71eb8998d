import type { Knex } from 'knex';
import type { LaneRecoveryStore } from '../../ports/stores/lane-recovery.js';
import type { RelayJob } from '../../ports/stores/relay.js';
import type { Hex } from '../../types.js';
import { FIRST_CURSOR } from './continuity/continuity-sql.js';
import { JOB_COLUMNS, readJob, type JobRow } from './relay-rows.js';
import { ask, encodeExact, statement, type Statement, type Values } from './statement.js';

const LANE = statement(`
  select lane.next_nonce, lane.reconciled_loss, used.highest from (
    select max(nonce) as highest from relay_jobs where chain = :chain and wallet = :wallet and nonce is not null and is_over
  ) used left join relay_lanes lane on lane.chain = :chain and lane.wallet = :wallet`);

/** Each loss skips as many ids as cursors: those of jobs before the newest lie below. */
const SURVIVORS = statement(`
  select ${JOB_COLUMNS} from relay_jobs where chain = :chain and wallet = :wallet and not is_over and id <= ${FIRST_CURSOR}
  order by nonce nulls last, id`);

const MISSING = statement(`
  select nonce.nonce from generate_series(greatest(cast(:from as bigint), cast(:below as bigint) - :limit), cast(:below as bigint) - 1) as nonce
  where not exists (select from relay_jobs job where job.chain = :chain and job.wallet = :wallet and job.nonce = nonce.nonce)
  order by 1`);

const MINED_BEFORE = statement(`
  select max(mined_block) as block from relay_jobs
  where chain = :chain and wallet = :wallet and mined_block is not null and nonce < :nonce`);

const INDEXED_ABOVE = statement(`
  select distinct event -> 'place' ->> 'txHash' as hash from chain_events
  where chain = :chain and block_number > cast(:block as bigint) and not orphaned and event -> 'place' ->> 'txHash' is not null limit :limit`);

const RELEASE = statement(`
  update relay_jobs set nonce = null, attempts = '[]', state = 'queued', accepted_at = null where chain = :chain and id = :id and not is_over`);

const RECALL = statement(`
  with recalled as (
    update relay_jobs set nonce = :nonce, attempts = attempts || cast(:attempt as jsonb), state = 'accepted', accepted_at = coalesce(accepted_at, :at)
    where chain = cast(:chain as text) and id = :id and not is_over and (nonce = :nonce or attempts = '[]')
    returning ${JOB_COLUMNS}
  ), known as (
    insert into relay_hashes (chain, hash, job_id) select chain, cast(:hash as text), id from recalled on conflict do nothing
  )
  select * from recalled`);

const KEEP = statement(`
  with kept as (
    insert into relay_jobs (chain, wallet, purpose, data, gas, context, state, nonce, attempts, created_at, accepted_at)
    values (cast(:chain as text), :wallet, 'no-op', '0x', 0, 'null', 'accepted', :nonce, cast(:attempt as jsonb), :at, :at)
    on conflict (chain, wallet, nonce) where nonce is not null do nothing returning ${JOB_COLUMNS}
  ), known as (
    insert into relay_hashes (chain, hash, job_id) select chain, cast(:hash as text), id from kept on conflict do nothing
  )
  select * from kept`);

const FINISH = statement(`
  insert into relay_lanes as lane (chain, wallet, next_nonce, reconciled_loss) values (:chain, :wallet, :nextNonce, :loss)
  on conflict (chain, wallet) do update set
    next_nonce = greatest(lane.next_nonce, excluded.next_nonce), reconciled_loss = greatest(lane.reconciled_loss, excluded.reconciled_loss)`);

interface LaneRow {
  readonly next_nonce: bigint | null;
  readonly reconciled_loss: bigint | null;
  readonly highest: bigint | null;
}

export function createLaneRecoveryStore(db: Knex): LaneRecoveryStore {
  const jobs = async (asked: Statement, values: Values): Promise<RelayJob[]> => (await ask<JobRow>(db, asked, values)).map(readJob);

  return {
    async lane(chain, wallet) {
      const [row] = await ask<LaneRow>(db, LANE, { chain, wallet });
      const next = row?.next_nonce ?? null;
      return {
        nextNonce: next === null || next < 0n ? null : Number(next),
        highestOver: row?.highest == null ? null : Number(row.highest),
        reconciledLoss: row?.reconciled_loss ?? 0n,
      };
    },
    survivors: (chain, wallet) => jobs(SURVIVORS, { chain, wallet }),
    async missing(chain, wallet, { from, below, limit }) {
      const rows = await ask<{ nonce: bigint }>(db, MISSING, { chain, wallet, from, below, limit });
      return rows.map(({ nonce }) => Number(nonce));
    },
    async minedBefore(chain, wallet, nonce) {
      const [row] = await ask<{ block: bigint | null }>(db, MINED_BEFORE, { chain, wallet, nonce });
      return row?.block ?? null;
    },
    async indexedAbove(chain, block, limit) {
      const rows = await ask<{ hash: Hex }>(db, INDEXED_ABOVE, { chain, block, limit });
      return rows.map(({ hash }) => hash);
    },
    async release(chain, id) {
      await ask(db, RELEASE, { chain, id });
    },
    async recall(chain, id, { nonce, attempt }) {
      const values = { chain, id, nonce, at: attempt.signedAt, hash: attempt.hash, attempt: encodeExact([attempt]) };
      return (await jobs(RECALL, values))[0] ?? null;
    },
    async keep(chain, wallet, { nonce, attempt }) {
      const values = { chain, wallet, nonce, at: attempt.signedAt, hash: attempt.hash, attempt: encodeExact([attempt]) };
      return (await jobs(KEEP, values))[0] ?? null;
    },
    async finish(chain, wallet, { loss, nextNonce }) {
      await ask(db, FINISH, { chain, wallet, loss, nextNonce });
    },
  };
}
