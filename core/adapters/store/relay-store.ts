import type { Knex } from 'knex';
import type { ChainSlug } from '../../chains.js';
import type { Address } from '../../ports.js';
import { isOver, type RelayJob, type RelayStore } from '../../relay/relay-store.js';
import { encodeExact } from './exact-json.js';
import { lease } from './named-lease.js';
import {
  ACTION_COLUMNS,
  JOB_COLUMNS,
  readAction,
  readJob,
  readLane,
  writeAttempt,
  writeMined,
  type ActionRow,
  type JobRow,
  type LaneRow,
} from './relay-rows.js';

/** Each method is one statement: it holds or it does not. */
export function createRelayStore(db: Knex): RelayStore {
  const rows = async <Row>(sql: string, values: Record<string, unknown>): Promise<Row[]> =>
    (await db.raw<{ rows: Row[] }>(sql, values as never)).rows;
  const jobs = async (sql: string, values: Record<string, unknown>): Promise<RelayJob[]> => (await rows<JobRow>(sql, values)).map(readJob);
  const one = async (sql: string, values: Record<string, unknown>): Promise<RelayJob> => {
    const [job] = await jobs(sql, values);
    if (!job) throw new Error('No such relay job.');
    return job;
  };
  const update = (chain: ChainSlug, id: bigint, change: string, values: Record<string, unknown>): Promise<RelayJob> =>
    one(`update relay_jobs set ${change} where chain = :chain and id = :id returning ${JOB_COLUMNS}`, { chain, id, ...values });

  return {
    async recordAction(action) {
      const [row] = await rows<ActionRow>(RECORD_ACTION, { ...action, nonce: action.nonce.toString() });
      if (!row) throw new Error('The action was not stored.');
      return readAction(row);
    },
    async action(chain, id) {
      const [row] = await rows<ActionRow>(`select ${ACTION_COLUMNS} from relay_actions where chain = :chain and id = :id`, { chain, id });
      return row ? readAction(row) : null;
    },
    queue: ({ gas, context, ...request }, at) => one(QUEUE, { ...request, gas: gas.toString(), context: encodeExact(context), at }),
    unreclaimed: async (chain, triedBefore) =>
      (
        await rows<{ order_id: bigint; trader: Address; agent: Address; action: bigint; order_key: string }>(UNRECLAIMED, {
          chain,
          triedBefore,
        })
      ).map(({ order_id, order_key, ...row }) => ({ ...row, orderId: order_id, requestIndex: Number(order_key.slice('request:'.length)) })),
    open: (chain, wallet) => jobs(OPEN, { chain, wallet }),
    job: async (chain, id) =>
      (await jobs(`select ${JOB_COLUMNS} from relay_jobs where chain = :chain and id = :id`, { chain, id }))[0] ?? null,
    jobs: (chain, ids) =>
      jobs(`select ${JOB_COLUMNS} from relay_jobs where chain = :chain and id = any(:ids::bigint[])`, { chain, ids: ids.map(String) }),
    jobsOfOrder: (chain, orderId) =>
      jobs(`select ${JOB_COLUMNS} from relay_jobs where chain = :chain and order_id = :orderId order by id`, { chain, orderId }),
    jobByHash: async (chain, hash) => (await jobs(BY_HASH, { chain, hash }))[0] ?? null,
    number: async (chain, id, atLeast) => (await jobs(NUMBER, { chain, id, atLeast }))[0] ?? null,
    fillGap: async (chain, wallet, nonce, gas, at) => (await jobs(FILL_GAP, { chain, wallet, nonce, gas: gas.toString(), at }))[0] ?? null,
    async resetLane(chain, wallet, nonce) {
      await rows(RESET_LANE, { chain, wallet, nonce });
    },
    async lane(chain, wallet) {
      const [row] = await rows<LaneRow>(LANE, { chain, wallet });
      return readLane(wallet, row);
    },
    async fenceLane(chain, wallet, fence) {
      await rows(FENCE_LANE, { chain, wallet, since: fence?.since ?? null, reason: fence?.reason ?? null });
    },
    addAttempt: (chain, id, attempt) => one(ADD_ATTEMPT, { chain, id, hash: attempt.hash, attempt: writeAttempt(attempt) }),
    setState: (chain, id, state, at, note) =>
      update(
        chain,
        id,
        `state = :state, is_over = :over, note = :note,
         accepted_at = coalesce(accepted_at, case when :state = 'accepted' then :at::bigint end)`,
        { state, over: isOver(state), note, at },
      ),
    settle: (chain, id, state, mined) =>
      update(chain, id, 'state = :state, is_over = true, mined = :mined::jsonb, mined_block = :block, note = null', {
        state,
        mined: writeMined(mined),
        block: mined.blockNumber,
      }),
    unsettle: (chain, id, at) =>
      update(
        chain,
        id,
        `state = 'unknown', is_over = false, mined = null, mined_block = null, accepted_at = :at::bigint, note = 'its block is gone'`,
        { at },
      ),
    async newestMinedBlock(chain, wallet) {
      const sql = 'select max(mined_block) as block from relay_jobs where chain = :chain and wallet = :wallet and mined_block is not null';
      return (await rows<{ block: bigint | null }>(sql, { chain, wallet }))[0]?.block ?? null;
    },
    minedSince: (chain, wallet, block) =>
      jobs(`select ${JOB_COLUMNS} from relay_jobs where chain = :chain and wallet = :wallet and mined_block >= :block order by nonce`, {
        chain,
        wallet,
        block,
      }),
    walletOf: async (chain, trader) =>
      (await rows<{ wallet: Address }>('select wallet from relay_wallets where chain = :chain and trader = :trader', { chain, trader }))[0]
        ?.wallet ?? null,
    async assignWallet(chain, trader, wallet) {
      const [row] = await rows<{ wallet: Address }>(ASSIGN, { chain, trader, wallet });
      return row?.wallet ?? wallet;
    },
    lease: (chain, wallet) => lease(db, `relays ${chain} ${wallet}`),
  };
}

const RECORD_ACTION = `
  insert into relay_actions (chain, signer, trader, envelope, action_hash, form, network, nonce, received_at)
  values (:chain, :signer, :trader, :envelope, :actionHash, :form, :network, :nonce::numeric, :receivedAt)
  returning ${ACTION_COLUMNS}`;

const QUEUE = `
  insert into relay_jobs (chain, wallet, trader, purpose, parent, order_id, data, gas, context, not_after, state, created_at)
  values (:chain, :wallet, :trader, :purpose, :parent, :orderId, :data, :gas::numeric, :context::jsonb, :notAfter, 'queued', :at)
  returning ${JOB_COLUMNS}`;

const OPEN = `
  select ${JOB_COLUMNS} from relay_jobs where chain = :chain and wallet = :wallet and not is_over
  order by nonce nulls last, id`;

const UNRECLAIMED = `
  select orders.id as order_id, bot.trader, bot.agent, bot.action, orders.order_key
  from orders
  join exchange_legs leg on leg.chain = orders.chain and leg.order_id = orders.id
  join exchange_orders bot on bot.chain = leg.chain and bot.oid = leg.oid
  where orders.chain = :chain and orders.status = 'timed_out' and orders.order_key like 'request:%'
  and not exists (
    select from relay_jobs job where job.chain = :chain and job.purpose = 'reclaim' and job.order_id = orders.id
    and (not job.is_over or job.created_at >= :triedBefore))
  limit 50`;

const BY_HASH = `
  select ${JOB_COLUMNS} from relay_jobs
  where id = (select job_id from relay_hashes where chain = :chain and hash = :hash)`;

/** The lane's row is locked until the job has its number, so numbers are dense and never given twice. */
const TAKE_NONCE = `
  insert into relay_lanes as lane (chain, wallet, next_nonce) select chain, wallet, :atLeast::bigint + 1 from wanted
  on conflict (chain, wallet) do update set next_nonce = greatest(lane.next_nonce, :atLeast::bigint) + 1
  returning next_nonce - 1 as nonce`;

const NUMBER = `
  with wanted as (
    select chain, wallet from relay_jobs where chain = :chain and id = :id and state = 'queued' for update
  ), taken as (${TAKE_NONCE})
  update relay_jobs set state = 'numbered', nonce = taken.nonce from taken
  where relay_jobs.chain = :chain and relay_jobs.id = :id returning ${JOB_COLUMNS.replace('nonce,', 'relay_jobs.nonce,')}`;

const FILL_GAP = `
  insert into relay_jobs (chain, wallet, purpose, data, gas, context, state, nonce, created_at)
  values (:chain, :wallet, 'no-op', '0x', :gas::numeric, 'null', 'numbered', :nonce, :at)
  on conflict (chain, wallet, nonce) where nonce is not null do nothing returning ${JOB_COLUMNS}`;

const RESET_LANE = `
  update relay_lanes set next_nonce = :nonce where chain = :chain and wallet = :wallet
  and not exists (select from relay_jobs where chain = :chain and wallet = :wallet and not is_over)
  and not exists (select from relay_jobs where chain = :chain and wallet = :wallet and nonce >= :nonce) returning 1`;

const LANE = `
  select lane.next_nonce, lane.fenced_since, lane.fence_reason, open.jobs, open.oldest from (
    select count(*) as jobs, min(created_at) as oldest from relay_jobs where chain = :chain and wallet = :wallet and not is_over
  ) open left join relay_lanes lane on lane.chain = :chain and lane.wallet = :wallet`;

/** A lane that was never used has no number of its own yet: the chain's will be above it. */
const FENCE_LANE = `
  insert into relay_lanes as lane (chain, wallet, next_nonce, fenced_since, fence_reason)
  values (:chain, :wallet, 0, :since::bigint, :reason::text)
  on conflict (chain, wallet) do update set fenced_since = excluded.fenced_since, fence_reason = excluded.fence_reason`;

/** The hash is findable from the moment the raw bytes exist. */
const ADD_ATTEMPT = `
  with known as (
    insert into relay_hashes (chain, hash, job_id) values (:chain, :hash, :id) on conflict (chain, hash) do nothing
  )
  update relay_jobs set attempts = attempts || :attempt::jsonb, state = case when state = 'numbered' then 'signed' else state end
  where chain = :chain and id = :id returning ${JOB_COLUMNS}`;

const ASSIGN = `
  insert into relay_wallets as known (chain, trader, wallet) values (:chain, :trader, :wallet)
  on conflict (chain, trader) do update set wallet = known.wallet returning wallet`;
