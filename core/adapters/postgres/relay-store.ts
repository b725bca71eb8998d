import type { Address } from '../../types.js';
import {
  isOver,
  RECLAIM_AGAIN_MS,
  RECLAIM_LONGEST_MS,
  JOBS_PER_TRADER,
  MORE_FOR_EXITS,
  UNCOMPARED,
  type MinedBlock,
  type RelayJob,
  type RelayStore,
} from '../../ports/stores/relay.js';
import * as SQL from './relay-sql.js';
import { LIVE_CLOIDS } from './exchange-sql.js';
import { childValues } from './exchange-store.js';
import { amendLock, ask, askAll, encodeExact, inSteps, lock, ordersLock, type Statement, type Values } from './statement.js';
import type { LeaseKeeper } from './lease-keeper.js';
import { laneName } from './lease-keeper.js';
import { placeRelayed, type PlaceParts } from './place-order.js';
import {
  queueValues,
  readAction,
  readJob,
  readLane,
  writeAttempts,
  writeSettled,
  type ActionRow,
  type JobRow,
  type LaneRow,
} from './relay-rows.js';

interface RelayStoreParts extends PlaceParts {
  readonly leases: LeaseKeeper;
}

/** Each method is one atomic statement. */
export function createRelayStore({ db, batcher, leases }: RelayStoreParts): RelayStore {
  const rows = <Row>(asked: Statement, values: Values): Promise<Row[]> => ask<Row>(db, asked, values);
  const jobs = async (asked: Statement, values: Values): Promise<RelayJob[]> => (await rows<JobRow>(asked, values)).map(readJob);
  const one = async (asked: Statement, values: Values): Promise<RelayJob> => {
    const [job] = await jobs(asked, values);
    if (!job) throw new Error('No such relay job.');
    return job;
  };

  return {
    async action(chain, id) {
      const [row] = await rows<ActionRow>(SQL.ACTION, { chain, id });
      return row ? readAction(row) : null;
    },
    actions: async (chain, ids) => (await rows<ActionRow>(SQL.ACTIONS_OF, { chain, ids: ids.map(String) })).map(readAction),
    approvals: async (chain, agent) =>
      (await rows<{ trader: Address; envelope: string; approved_at: bigint }>(SQL.APPROVALS, { chain, agent })).map(
        ({ approved_at, ...row }) => ({ ...row, approvedAt: Number(approved_at) }),
      ),
    placeAndQueue: (relayed) => placeRelayed({ db, batcher }, relayed),
    async queue(request, at) {
      const [row] = await rows<JobRow>(SQL.QUEUE, queueValues(request, at));
      if (!row) throw new Error('The relay job was not stored.');
      return readJob(row);
    },
    async queueOnce(request, at) {
      const values = queueValues(request, at);
      // Only one job is queued for the same cancel, across replicas.
      const first = lock(`diamond-gateway cancels ${request.chain} ${request.trader}`);
      const [row] = await askAll<JobRow & { readonly is_new: boolean }>(db, [first, { asked: SQL.QUEUE_ONCE, values }]);
      if (!row) throw new Error('The relay job was not stored.');
      return { job: readJob(row), isNew: row.is_new };
    },
    async queueAmend(request, { tradeIndex, amended, child, newCloid = null, closingSlippageP }, at) {
      const { chain } = request;
      const { trader, price, tp, sl, slippageP } = amended.order;
      const read = encodeExact({ status: 'open', price, tp, sl, slippageP });
      const own = { parentOrder: amended.id, tradeIndex, read, closingSlippageP: closingSlippageP ?? null };
      const values = { ...(child && childValues(child)), ...queueValues(request, at), ...own };
      // Across replicas only one change of an order is under way.
      const first = lock(amendLock(chain, trader, tradeIndex));
      const asked = child === null ? SQL.QUEUE_AMEND : SQL.QUEUE_CHILD;
      return inSteps(db, async ({ askTogether }) => {
        if (newCloid !== null) {
          const names = { asked: LIVE_CLOIDS, values: { chain, trader, cloids: [newCloid] } };
          if ((await askTogether(lock(ordersLock(chain, trader)), names)).length > 0) return 'cloid-taken';
        }
        const [row] = await askTogether<JobRow & { readonly oid: bigint | null }>(first, { asked, values });
        return row ? { job: readJob(row), oid: row.oid } : null;
      });
    },
    unreclaimed: async (chain, now) =>
      (
        await rows<{ order_id: bigint; trader: Address; agent: Address; action: bigint; order_key: string }>(SQL.UNRECLAIMED, {
          chain,
          now,
          triedBefore: now - RECLAIM_AGAIN_MS,
        })
      ).map(({ order_id, order_key, ...row }) => ({ ...row, orderId: order_id, requestIndex: Number(order_key.slice('request:'.length)) })),
    async reclaimTried(chain, trader, at, isDone) {
      const waits = { firstWait: RECLAIM_AGAIN_MS, longestWait: RECLAIM_LONGEST_MS };
      await (isDone ? rows(SQL.RECLAIM_DONE, { chain, trader }) : rows(SQL.RECLAIM_FAILED, { chain, trader, at, ...waits }));
    },
    open: (chain, wallet) => jobs(SQL.OPEN, { chain, wallet }),
    queued: (chain, wallet, limit) => jobs(SQL.QUEUED, { chain, wallet, limit, perTrader: JOBS_PER_TRADER, forExits: MORE_FOR_EXITS }),
    job: async (chain, id) => (await jobs(SQL.JOB, { chain, id }))[0] ?? null,
    jobs: (chain, ids) => jobs(SQL.JOBS_OF, { chain, ids: ids.map(String) }),
    jobsOfOrder: (chain, orderId) => jobs(SQL.JOBS_OF_ORDER, { chain, orderId }),
    jobByHash: async (chain, hash) => (await jobs(SQL.BY_HASH, { chain, hash }))[0] ?? null,
    assignNonces: async (chain, wallet, ids, atLeast) =>
      (await jobs(SQL.NUMBER, { chain, wallet, ids: ids.map(String), atLeast, uncompared: UNCOMPARED })).sort(
        (a, b) => (a.nonce ?? 0) - (b.nonce ?? 0),
      ),
    unusedNonces: async (chain, wallet, from, below) =>
      (await rows<{ nonce: bigint; is_given_up: boolean }>(SQL.HOLES, { chain, wallet, from, below })).map(({ nonce, is_given_up }) => ({
        nonce: Number(nonce),
        isGivenUp: is_given_up,
      })),
    fillGap: async (chain, wallet, nonce, gas, at) =>
      (await jobs(SQL.FILL_GAP, { chain, wallet, nonce, gas: gas.toString(), at }))[0] ??
      (await jobs(SQL.REOPEN, { chain, wallet, nonce }))[0] ??
      null,
    async knownLanes(chain) {
      const [row] = await rows<{ lanes: Address[]; is_empty: boolean }>(SQL.KNOWN_LANES, { chain });
      if (!row) throw new Error('The database did not say which lanes it knows.');
      return { lanes: row.lanes, isEmpty: row.is_empty };
    },
    async resetLane(chain, wallet, nonce) {
      await rows(SQL.RESET_LANE, { chain, wallet, nonce });
    },
    async beginLane(chain, wallet, nonce) {
      await rows(SQL.BEGIN_LANE, { chain, wallet, nonce });
    },
    async lane(chain, wallet) {
      const [row] = await rows<LaneRow>(SQL.LANE, { chain, wallet });
      return readLane(wallet, row);
    },
    async storeLaneProblem(chain, wallet, problem) {
      await rows(SQL.BLOCK_LANE, { chain, wallet, since: problem?.since ?? null, reason: problem?.reason ?? null });
    },
    addAttempt: (chain, attempts) => jobs(SQL.ADD_ATTEMPT, { chain, attempts: writeAttempts(attempts) }),
    setState: async (chain, id, state, at, note, reason) =>
      (await jobs(SQL.SET_STATE, { chain, id, state, over: isOver(state), note, at, reason: reason ?? null }))[0] ??
      one(SQL.JOB, { chain, id }),
    accept: (chain, ids, at) => jobs(SQL.ACCEPT, { chain, ids: ids.map(String), at }),
    noteQueued: async (chain, id, note) => (await jobs(SQL.NOTE_QUEUED, { chain, id, note }))[0] ?? null,
    refuse: async (chain, id, { note, reason }) => (await jobs(SQL.REFUSE, { chain, id, note, reason }))[0] ?? null,
    giveUpCall: async (chain, id, { note, reason }) => (await jobs(SQL.GIVE_UP_CALL, { chain, id, note, reason }))[0] ?? null,
    settle: (chain, settled) => jobs(SQL.SETTLE, { chain, settled: writeSettled(settled) }),
    unsettle: (chain, id, at) => one(SQL.UNSETTLE, { chain, id, at }),
    minedBlocks: (chain, wallet, blocks) => rows<MinedBlock>(SQL.MINED_BLOCKS, { chain, wallet, blocks }),
    settledIn: (chain, wallet, gone, nonce) =>
      jobs(SQL.SETTLED_IN, {
        chain,
        wallet,
        nonce,
        numbers: gone.map(({ number }) => String(number)),
        hashes: gone.map(({ hash }) => hash),
      }),
    async budgetDay(chain, wallet, { day, balance }) {
      const [row] = await rows<{ highest: string; spent: string }>(SQL.BUDGET_DAY, { chain, wallet, day, balance: balance.toString() });
      return { highest: BigInt(row?.highest ?? balance), spent: BigInt(row?.spent ?? 0) };
    },
    walletOf: async (chain, trader) => (await rows<{ wallet: Address }>(SQL.WALLET_OF, { chain, trader }))[0]?.wallet ?? null,
    async assignWallet(chain, trader, wallet) {
      const [row] = await rows<{ wallet: Address }>(SQL.ASSIGN, { chain, trader, wallet });
      return row?.wallet ?? wallet;
    },
    lease: (chain, wallet, noLongerWanted) => leases.lease(laneName(chain, wallet), noLongerWanted),
  };
}
