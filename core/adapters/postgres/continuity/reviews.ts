import type { Knex } from 'knex';
import { verdictOf, type MemoryReport } from '../../../domain/continuity.js';
import type { Clock } from '../../../ports/clock.js';
import { awaitsOperator, type CommitLoss } from '../../../ports/stores/continuity.js';
import { ask, askWithin, inTransaction, lockIn, type AskWithin } from '../statement.js';
import * as sql from './continuity-sql.js';
import type { ReplicaMemory } from './replica-memory.js';

/** Reviews are shared by all replicas: each reports what is missing of what it remembers, and the first that has all reports ends it. */
export interface Reviews {
  /** The open review, or a new one. */
  begin(reason: string): Promise<bigint>;
  /** Null when the review has ended. */
  open(): Promise<bigint | null>;
  report(review: bigint): Promise<MemoryReport['missing']>;
  /** Resolves when every replica that is alive has reported, or after REVIEW_MS. `remembered`: those that were, which the database may have lost. */
  untilComplete(review: bigint, remembered: ReadonlySet<string>, signal: AbortSignal): Promise<void>;
  end(review: bigint, reason: string): Promise<void>;
  prove(reason: string): Promise<void>;
  /** A backup was put back, and no replica runs. Stored once until one starts. */
  markRestored(
    reason: string,
    walletNonces: Readonly<Record<string, number>>,
  ): Promise<{ readonly loss: CommitLoss; readonly isNew: boolean }>;
  adopt(loss: bigint, at: number): Promise<CommitLoss | null>;
  lastLoss(): Promise<CommitLoss | null>;
}

export interface ReviewParts {
  readonly db: Knex;
  readonly replica: string;
  readonly memory: ReplicaMemory;
  readonly clock: Clock;
}

/** A replica that wrote its counter within this time is waited for. */
export const ALIVE_MS = 10_000;
/** A review waits this long at most for the reports of other replicas. */
const REVIEW_MS = 5_000;
const POLL_MS = 100;
/** A review whose replicas ended before it is not joined. */
const REVIEW_KEPT_MS = 60_000;
/** Well below the time after which unused registrations are removed. */
const AGENT_COMPARED_MS = 86_400_000;
const REVIEW_LOCK = 'diamond-gateway continuity';

export function createReviews({ db, replica, memory, clock }: ReviewParts): Reviews {
  async function findMissing(): Promise<MemoryReport['missing']> {
    const { actions, signerNonces, orders, jobs, entries, ...native } = memory.newest();
    const now = clock.now();
    // Later they are removed: by then their time alone refuses the requests, and an agent that was never used is one that no one misses.
    const nonces = native.nativeNonces.filter(({ keepUntil }) => keepUntil > now);
    const agents = native.agents.filter(({ at }) => at > now - AGENT_COMPARED_MS);
    // Before the question: what is acknowledged while it is under way may be missing from its answer.
    const acknowledged = memory.counter();
    const [row] = await ask<MissingRow>(db, sql.FIND_MISSING, {
      replica,
      ...{
        actionIds: actions.map(({ id }) => id),
        actionHashes: actions.map(({ hash }) => hash),
        actionTimes: actions.map(({ at }) => at),
      },
      ...{ signers: signerNonces.map(({ signer }) => signer), signerNonces: signerNonces.map(({ nonce }) => nonce) },
      nonceTimes: signerNonces.map(({ at }) => at),
      ...{ nativeChains: nonces.map(({ chain }) => chain), credentials: nonces.map(({ credential }) => credential) },
      ...{
        nativeNonces: nonces.map(({ nonce }) => nonce),
        keptUntil: nonces.map(({ keepUntil }) => keepUntil),
        nativeTimes: nonces.map(({ at }) => at),
      },
      ...{ agentChains: agents.map(({ chain }) => chain), agents: agents.map(({ agent }) => agent) },
      ...{ versions: agents.map(({ version }) => version), createdTimes: agents.map(({ createdAt }) => createdAt) },
      agentTimes: agents.map(({ at }) => at),
      ...{ orderChains: orders.map(({ chain }) => chain), tags: orders.map(({ tag }) => tag), orderTimes: orders.map(({ at }) => at) },
      ...{ jobIds: jobs.map(({ id }) => id), wallets: jobs.map(({ wallet }) => wallet), jobNonces: jobs.map(({ nonce }) => nonce) },
      ...{ jobHashes: jobs.map(({ hash }) => hash), jobTimes: jobs.map(({ at }) => at) },
      ...{ chains: entries.map(({ chain }) => chain), traders: entries.map(({ trader }) => trader) },
      ...{
        cursors: entries.map(({ cursor }) => cursor),
        entryTimes: entries.map(({ entryAt }) => entryAt),
        readTimes: entries.map(({ at }) => at),
      },
    });
    const counter = row?.counter ?? 0n;
    const counted = counter < acknowledged ? memory.countedAfter(counter) : null;
    const from = [row?.missing_from ?? null, counted].flatMap((at) => (at === null ? [] : [Number(at)]));
    const to = [row?.missing_to ?? null, counted].flatMap((at) => (at === null ? [] : [Number(at)]));
    return from.length === 0 ? null : { from: Math.min(...from), to: Math.max(...to) };
  }

  /** The first replica that is here writes the verdict. A later one that misses commits which no verdict covers proves another loss. */
  async function endReview(within: AskWithin, review: bigint, reason: string): Promise<void> {
    await within({ asked: sql.LOCK_REVIEW, values: { review } });
    const [row] = await within<ReviewRow>({ asked: sql.REVIEW, values: { review, aliveSince: clock.now() } });
    const reports = row?.reports ?? [];
    const [known] = await within<LossRow>({ asked: sql.LAST_LOSS, values: {} });
    const missing = reports.map(({ replica: of, from, to }) => ({
      replica: of,
      missing: from === null || to === null ? null : { from, to },
    }));
    const verdict = verdictOf(missing, known ? Number(known.detected_at) : Number.NEGATIVE_INFINITY);
    if (verdict === null) return void (await within({ asked: sql.END_REVIEW, values: { review, now: clock.now(), loss: null } }));
    const nonces = mergeNonces([
      ...(known && !verdict.isNew ? [known.wallet_nonces] : []),
      ...reports.map(({ walletNonces }) => walletNonces),
    ]);
    const lostFrom = verdict.isNew && known ? unadopted(lossOf(known), verdict.from) : verdict.from;
    const proven = await storeLoss(within, { known: verdict.isNew ? null : (known ?? null), lostFrom, reason, nonces });
    await within({ asked: sql.END_REVIEW, values: { review, now: clock.now(), loss: proven.id } });
  }

  async function storeLoss(
    within: AskWithin,
    { known, lostFrom, reason, nonces }: { known: LossRow | null; lostFrom: number | null; reason: string; nonces: Record<string, number> },
  ): Promise<CommitLoss> {
    const values = { now: clock.now(), lostFrom, reason, walletNonces: JSON.stringify(nonces), id: known?.id };
    const [row] = await within<LossRow>({ asked: known ? sql.WIDEN_LOSS : sql.ADD_LOSS, values });
    if (!row) throw new Error('The database stored no loss.');
    if (known === null) {
      await within({ asked: sql.SKIP_IDS, values: {} });
      await within({ asked: sql.SKIP_CURSORS, values: {} });
    }
    return lossOf(row);
  }

  return {
    begin: (reason) =>
      inTransaction(db, async (trx) => {
        await lockIn(trx, REVIEW_LOCK);
        const now = clock.now();
        const values = { now, reason, notBefore: now - REVIEW_KEPT_MS };
        const [row] = await askWithin(trx)<{ id: bigint }>({ asked: sql.DROP_REVIEWS, values }, { asked: sql.BEGIN_REVIEW, values });
        if (!row) throw new Error('The database began no review.');
        return row.id;
      }),
    async open() {
      const [row] = await ask<{ id: bigint | null }>(db, sql.OPEN_REVIEW, { notBefore: clock.now() - REVIEW_KEPT_MS });
      return row?.id ?? null;
    },
    async report(review) {
      const missing = await findMissing();
      const walletNonces = JSON.stringify(memory.walletNonces());
      await ask(db, sql.REPORT, { review, replica, from: missing?.from ?? null, to: missing?.to ?? null, walletNonces });
      return missing;
    },
    async untilComplete(review, remembered, signal) {
      const begun = clock.monotonic();
      const aliveSince = clock.now() - ALIVE_MS;
      while (!signal.aborted && clock.monotonic() - begun < REVIEW_MS) {
        const [row] = await ask<ReviewRow>(db, sql.REVIEW, { review, aliveSince });
        const reported = new Set(row?.reports.map((report) => report.replica));
        const isComplete = row?.silent.length === 0 && [...remembered].every((each) => reported.has(each));
        if (row?.ended_at !== null || isComplete) return;
        await clock.sleep(POLL_MS, signal);
      }
    },
    end: (review, reason) => inTransaction(db, async (trx) => endReview(askWithin(trx), review, reason)),
    prove: (reason) =>
      inTransaction(db, async (trx) => {
        await lockIn(trx, REVIEW_LOCK);
        await storeLoss(askWithin(trx), { known: null, lostFrom: null, reason, nonces: memory.walletNonces() });
      }),
    markRestored: (reason, walletNonces) =>
      inTransaction(db, async (trx) => {
        await lockIn(trx, REVIEW_LOCK);
        const within = askWithin(trx);
        const [marked] = await within<LossRow>({ asked: sql.RESTORED_LOSS, values: {} });
        if (marked) return { loss: lossOf(marked), isNew: false };
        const [known] = await within<LossRow>({ asked: sql.LAST_LOSS, values: {} });
        const [alive] = await within<{ at: bigint | null }>({ asked: sql.LAST_ALIVE, values: {} });
        const from = alive?.at == null ? null : Number(alive.at);
        const lostFrom = known && from !== null ? unadopted(lossOf(known), from) : from;
        const loss = await storeLoss(within, { known: null, lostFrom, reason, nonces: { ...walletNonces } });
        await within({ asked: sql.KEEP_RESTORED, values: { id: loss.id } });
        return { loss, isNew: true };
      }),
    async adopt(id, at) {
      const [row] = await ask<LossRow>(db, sql.ADOPT_LOSS, { id, at });
      return row ? lossOf(row) : null;
    },
    async lastLoss() {
      const [row] = await ask<LossRow>(db, sql.LAST_LOSS, {});
      return row ? lossOf(row) : null;
    },
  };
}

interface MissingRow {
  readonly missing_from: bigint | null;
  readonly missing_to: bigint | null;
  readonly counter: bigint | null;
}

interface ReviewRow {
  readonly ended_at: bigint | null;
  readonly reports: readonly {
    readonly replica: string;
    readonly from: number | null;
    readonly to: number | null;
    readonly walletNonces: Record<string, number>;
  }[];
  readonly silent: readonly string[];
}

interface LossRow {
  readonly id: bigint;
  readonly detected_at: bigint;
  readonly lost_from: bigint | null;
  readonly reason: string;
  readonly wallet_nonces: Record<string, number>;
  readonly adopted_at: bigint | null;
}

const lossOf = ({ id, detected_at, lost_from, reason, wallet_nonces, adopted_at }: LossRow): CommitLoss => ({
  id,
  detectedAt: Number(detected_at),
  lostFrom: lost_from === null ? null : Number(lost_from),
  reason,
  walletNonces: wallet_nonces,
  adoptedAt: adopted_at === null ? null : Number(adopted_at),
});

/** A loss that waits for the operator goes on waiting when another follows. */
function unadopted(before: CommitLoss, from: number): number | null {
  if (!awaitsOperator(before)) return from;
  return before.lostFrom === null ? null : Math.min(before.lostFrom, from);
}

function mergeNonces(all: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const highest: Record<string, number> = {};
  for (const [wallet, nonce] of all.flatMap((each) => Object.entries(each))) highest[wallet] = Math.max(highest[wallet] ?? 0, nonce);
  return highest;
}
