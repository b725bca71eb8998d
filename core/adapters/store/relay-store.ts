import type { Knex } from 'knex';
import type { ChainSlug } from '../../chains.js';
import type { Address } from '../../ports.js';
import { isOver, type MinedBlock, type RelayJob, type RelayStore } from '../../relay/relay-store.js';
import * as SQL from './relay-sql.js';
import { encodeExact } from './exact-json.js';
import { recordValues } from './exchange-store.js';
import { ask } from './in-one-go.js';
import type { LeaseKeeper } from './lease-keeper.js';
import { laneName } from './named-lease.js';
import {
  ACTION_COLUMNS,
  JOB_COLUMNS,
  readAction,
  readJob,
  readLane,
  writeAttempts,
  writeSettled,
  type ActionRow,
  type JobRow,
  type LaneRow,
} from './relay-rows.js';

/** Each method is one statement: it holds or it does not. */
export function createRelayStore(db: Knex, leases: LeaseKeeper): RelayStore {
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
      const [row] = await ask<ActionRow>(db, SQL.RECORD_ACTION, { ...action, nonce: action.nonce.toString() });
      if (!row) throw new Error('The action was not stored.');
      return readAction(row);
    },
    async action(chain, id) {
      const [row] = await rows<ActionRow>(`select ${ACTION_COLUMNS} from relay_actions where chain = :chain and id = :id`, { chain, id });
      return row ? readAction(row) : null;
    },
    actions: async (chain, ids) =>
      (
        await rows<ActionRow>(`select ${ACTION_COLUMNS} from relay_actions where chain = :chain and id = any(:ids::bigint[])`, {
          chain,
          ids: ids.map(String),
        })
      ).map(readAction),
    async queue({ gas, context, ...request }, at, record) {
      const values = { ...request, gas: gas.toString(), context: encodeExact(context), at };
      const [row] = await (record
        ? ask<JobRow>(db, SQL.QUEUE_RECORDED, { ...recordValues(record), ...values })
        : ask<JobRow>(db, SQL.QUEUE, values));
      if (!row) throw new Error('The relay job was not stored.');
      return readJob(row);
    },
    unreclaimed: async (chain, triedBefore) =>
      (
        await rows<{ order_id: bigint; trader: Address; agent: Address; action: bigint; order_key: string }>(SQL.UNRECLAIMED, {
          chain,
          triedBefore,
        })
      ).map(({ order_id, order_key, ...row }) => ({ ...row, orderId: order_id, requestIndex: Number(order_key.slice('request:'.length)) })),
    open: (chain, wallet) => jobs(SQL.OPEN, { chain, wallet }),
    queued: (chain, wallet, limit) => jobs(SQL.QUEUED, { chain, wallet, limit }),
    job: async (chain, id) => (await jobs(SQL.JOB, { chain, id }))[0] ?? null,
    jobs: (chain, ids) =>
      jobs(`select ${JOB_COLUMNS} from relay_jobs where chain = :chain and id = any(:ids::bigint[])`, { chain, ids: ids.map(String) }),
    jobsOfOrder: (chain, orderId) =>
      jobs(`select ${JOB_COLUMNS} from relay_jobs where chain = :chain and order_id = :orderId order by id`, { chain, orderId }),
    jobByHash: async (chain, hash) => (await jobs(SQL.BY_HASH, { chain, hash }))[0] ?? null,
    number: async (chain, wallet, ids, atLeast) =>
      (await jobs(SQL.NUMBER, { chain, wallet, ids: ids.map(String), atLeast })).sort((a, b) => (a.nonce ?? 0) - (b.nonce ?? 0)),
    holes: async (chain, wallet, from, below) =>
      (await rows<{ nonce: bigint }>(SQL.HOLES, { chain, wallet, from, below })).map(({ nonce }) => Number(nonce)),
    fillGap: async (chain, wallet, nonce, gas, at) =>
      (await jobs(SQL.FILL_GAP, { chain, wallet, nonce, gas: gas.toString(), at }))[0] ??
      (await jobs(SQL.REOPEN, { chain, wallet, nonce }))[0] ??
      null,
    async resetLane(chain, wallet, nonce) {
      await rows(SQL.RESET_LANE, { chain, wallet, nonce });
    },
    async lane(chain, wallet) {
      const [row] = await rows<LaneRow>(SQL.LANE, { chain, wallet });
      return readLane(wallet, row);
    },
    async fenceLane(chain, wallet, fence) {
      await rows(SQL.FENCE_LANE, { chain, wallet, since: fence?.since ?? null, reason: fence?.reason ?? null });
    },
    addAttempt: (chain, attempts) => jobs(SQL.ADD_ATTEMPT, { chain, attempts: writeAttempts(attempts) }),
    setState: async (chain, id, state, at, note, reason) =>
      (await jobs(SQL.SET_STATE, { chain, id, state, over: isOver(state), note, at, reason: reason ?? null }))[0] ??
      one(SQL.JOB, { chain, id }),
    accept: (chain, ids, at) => jobs(SQL.ACCEPT, { chain, ids: ids.map(String), at }),
    refuse: async (chain, id, { note, reason }) => (await jobs(SQL.REFUSE, { chain, id, note, reason }))[0] ?? null,
    settle: (chain, settled) => jobs(SQL.SETTLE, { chain, settled: writeSettled(settled) }),
    unsettle: (chain, id, at) =>
      update(
        chain,
        id,
        `state = 'unknown', is_over = false, mined = null, mined_block = null, accepted_at = :at::bigint, note = 'its block is gone'`,
        { at },
      ),
    minedBlocks: (chain, wallet, blocks) => rows<MinedBlock>(SQL.MINED_BLOCKS, { chain, wallet, blocks }),
    settledIn: (chain, wallet, gone, nonce) =>
      jobs(SQL.SETTLED_IN, {
        chain,
        wallet,
        nonce,
        numbers: gone.map(({ number }) => String(number)),
        hashes: gone.map(({ hash }) => hash),
      }),
    walletOf: async (chain, trader) => (await ask<{ wallet: Address }>(db, SQL.WALLET_OF, { chain, trader }))[0]?.wallet ?? null,
    async assignWallet(chain, trader, wallet) {
      const [row] = await rows<{ wallet: Address }>(SQL.ASSIGN, { chain, trader, wallet });
      return row?.wallet ?? wallet;
    },
    lease: (chain, wallet) => leases.lease(laneName(chain, wallet)),
  };
}
