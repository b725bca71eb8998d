import type { Knex } from 'knex';
import { movedServer, suspicionOf, type DatabasePosition, type ServerName, type Suspicion } from '../../../domain/continuity.js';
import type { Clock } from '../../../ports/clock.js';
import type { Logger } from '../../../ports/log.js';
import type { CommitLoss, ContinuityStore } from '../../../ports/stores/continuity.js';
import type { Cancel } from '../../../types.js';
import { ask } from '../statement.js';
import * as sql from './continuity-sql.js';
import type { ReplicaMemory } from './replica-memory.js';
import { ALIVE_MS, createReviews, type Reviews } from './reviews.js';

/** The part of a session that a server may answer differently in a simulation. */
export type ServerIdentity = Pick<DatabasePosition, 'system' | 'timeline' | 'log'>;

/** What a session reports of the server it reached. */
export interface PositionWatch {
  /** A column of a statement that is asked when a session begins, and with each heartbeat. */
  readonly column: string;
  /** Called before such a statement is sent; what it returns takes the column's value. */
  asked(): (position: unknown) => void;
  /** A session ended that was not closed here: the next one may reach another server, or an older state of this one. */
  cut(): void;
  /** How often commits were suspected to be lost. A write that was judged before the last time is judged again. */
  readonly suspicions: () => number;
}

export interface ContinuityParts {
  /** A UUID of this process. */
  readonly replica: string;
  readonly memory: ReplicaMemory;
  readonly clock: Clock;
  readonly log: Logger;
  /** Replaces what the server says of itself. */
  readonly identity?: ((read: ServerIdentity) => ServerIdentity) | undefined;
}

export interface Continuity extends ContinuityStore {
  readonly watch: PositionWatch;
  /** Begins to count and to review, on this pool. */
  start(db: Knex): void;
  stop(): Promise<void>;
}

const COUNT_MS = 1_000;
/** Well below ALIVE_MS. */
const IDLE_MS = 4_000;
/** Counters of processes that ended are removed after this. */
const COUNTER_KEPT_MS = 86_400_000;
/** How long the end waits for what is under way. */
const STOP_MS = 1_000;
/** Connections that are cut together are one reason. */
const GATHER_MS = 20;
/** Until a review that failed is tried again. */
const AGAIN_MS = 250;

/** An older database may give the id of a loss again. */
const NEWS = ['id', 'detectedAt', 'adoptedAt', 'lostFrom'] as const;

export function createContinuity({ replica, memory, clock, log, identity = (read) => read }: ContinuityParts): Continuity {
  let pool: Knex | null = null;
  let seen: DatabasePosition | null = null;
  let review = 0n;
  let suspicion: Suspicion | null = null;
  let suspicions = 0;
  /** A review has begun to read: what is suspected from then on is for the next one. */
  let isReading = false;
  let loss: CommitLoss | null = null;
  let isLossRead = false;
  /** The replicas that were alive at the last heartbeat. */
  let alive: ReadonlySet<string> = new Set();
  let countedAt = Number.NEGATIVE_INFINITY;
  let reviewing: Promise<void> | null = null;
  let counting: Promise<void> | null = null;
  let stopCounting: Cancel = () => undefined;
  const stopping = new AbortController();
  const listeners = new Set<(loss: CommitLoss) => void>();
  let waiting: (() => void)[] = [];

  const database = (): Knex => {
    if (pool === null) throw new Error('The review of a database needs its pool.');
    return pool;
  };
  const shared = (): Reviews => createReviews({ db: database(), replica, memory, clock });
  /** Other replicas wait for the report of one that has counted. */
  const isKnown = (): boolean => suspicion === null && isLossRead && countedAt > Number.NEGATIVE_INFINITY;

  function asked(): (column: unknown) => void {
    const before = seen === null ? null : { position: seen, counter: memory.counter(), review, loss: loss?.id ?? 0n };
    return (column) => {
      const now = readPosition(column, identity);
      if (now === null) return;
      if (seen === null) return meet(now);
      if (before === null) return;
      const found = suspicionOf(before, now);
      if (found !== null) {
        suspect(found);
        // The next session of this server is not suspected for the same reason again.
        seen = now;
        return;
      }
      if (suspicion === null) alive = aliveIn(now);
      if (now.log !== null && (seen.log === null || now.log > seen.log)) seen = { ...seen, log: now.log };
    };
  }

  const aliveIn = ({ replicas }: MetPosition): ReadonlySet<string> =>
    new Set(
      Object.entries(replicas).flatMap(([each, writtenAt]) => (each !== replica && writtenAt > clock.now() - ALIVE_MS ? [each] : [])),
    );

  /** A process that starts remembers nothing that could be missing, but others may. It has judged nothing yet, so no write is refused for it. */
  function meet(now: MetPosition): void {
    seen = now;
    alive = aliveIn(now);
    const moved = movedServer(now.known, now);
    if (moved !== null) reviewFor({ reason: moved, joins: false });
    else if (now.openReview > 0n) reviewFor({ reason: 'another replica suspects it', joins: true });
  }

  function suspect(found: Suspicion): void {
    if (reviewFor(found)) suspicions += 1;
  }

  /** False if a review is under way that covers it. */
  function reviewFor(found: Suspicion): boolean {
    const isCovered = suspicion !== null && (found.joins || (!suspicion.joins && !isReading));
    if (stopping.signal.aborted || isCovered) return false;
    suspicion = found;
    log.info('store.continuity-review', { reason: found.reason });
    beginReview();
    return true;
  }

  function beginReview(): void {
    if (pool === null || suspicion === null) return;
    reviewing ??= untilReviewed().finally(() => (reviewing = null));
  }

  async function untilReviewed(): Promise<void> {
    let hasFailed = false;
    while (suspicion !== null && !stopping.signal.aborted) {
      await clock.sleep(GATHER_MS, stopping.signal);
      const judged: Suspicion = suspicion;
      isReading = true;
      try {
        await reviewOnce(judged);
        // Another reason may have come up meanwhile.
        if (suspicion === judged) suspicion = null;
      } catch (error) {
        isReading = false;
        // As long as the database is away each try fails.
        if (!hasFailed) log.warn('store.continuity-unknown', { error });
        hasFailed = true;
        await clock.sleep(AGAIN_MS, stopping.signal);
      }
      isReading = false;
    }
    release();
  }

  /** Reports what is missing, waits for the other replicas, and follows the verdict. */
  async function reviewOnce({ reason, joins }: Suspicion): Promise<void> {
    const begun = clock.monotonic();
    const reviews = shared();
    const number = joins ? await reviews.open() : await reviews.begin(reason);
    const missing = number === null ? null : await reviews.report(number);
    if (number !== null) {
      await reviews.untilComplete(number, alive, stopping.signal);
      await reviews.end(number, reason);
      review = number;
    }
    await readLoss();
    // What is missing is known to be lost; from now on the database is compared with what it is.
    if (missing !== null) memory.forget();
    await comparePosition();
    log.info('store.continuity-known', { reason, isLost: missing !== null, ms: Math.round(clock.monotonic() - begun) });
  }

  async function comparePosition(): Promise<void> {
    const { rows } = await database().raw<{ rows: { position: unknown }[] }>(`select ${sql.positionColumn(replica)}`);
    const now = readPosition(rows[0]?.position, identity);
    if (now === null) return;
    seen = now;
    alive = aliveIn(now);
    await ask(database(), sql.KEEP_SERVER, { system: now.system, timeline: now.timeline });
  }

  async function readLoss(): Promise<void> {
    const found = await shared().lastLoss();
    const isNews = found !== null && (loss === null || NEWS.some((field) => found[field] !== loss?.[field]));
    const isFirst = !isLossRead;
    [loss, isLossRead] = [found, true];
    if (!isNews) return;
    if (!isFirst) log.error('store.commits-lost', { loss: found.id, since: found.lostFrom, reason: found.reason });
    for (const listener of listeners) listener(found);
  }

  function release(): void {
    if (!isKnown()) return;
    const released = waiting;
    waiting = [];
    for (const resolve of released) resolve();
  }

  /** An idle replica has nothing to lose, and only shows that it is there. */
  async function count(): Promise<void> {
    const at = clock.now();
    try {
      if (!isLossRead) {
        await readLoss();
        if (suspicion === null) await comparePosition();
      }
      // A counter that is written during a review would hide that the last one is missing.
      if (suspicion !== null || (memory.isEmpty(at) && at - countedAt < IDLE_MS && at >= countedAt)) return;
      const [counter, before] = [memory.nextCounter(), memory.counter()];
      const written = await ask(database(), before === 0n ? sql.BEGIN_COUNT : sql.COUNT, { replica, counter, before, now: at });
      if (written.length === 0) return suspect({ reason: 'what this replica wrote is missing', joins: false });
      memory.counted(counter, clock.now());
      countedAt = at;
      release();
    } catch (error) {
      log.debug('store.counter-not-written', { error });
    }
  }

  return {
    watch: {
      column: sql.positionColumn(replica),
      asked,
      cut: () => suspect({ reason: 'its connections were cut', joins: false }),
      suspicions: () => suspicions,
    },
    start(db) {
      pool = db;
      void ask(db, sql.SWEEP_COUNTERS, { before: clock.now() - COUNTER_KEPT_MS }).catch(() => undefined);
      const tick = (): void => void (counting ??= count().finally(() => (counting = null)));
      stopCounting = clock.every(COUNT_MS, tick);
      tick();
      beginReview();
    },
    async stop() {
      stopping.abort();
      stopCounting();
      waiting.splice(0).forEach((resolve) => resolve());
      // A database that is away must not delay the end. No review waits for a process that ended.
      const last = Promise.all([reviewing, counting]).then(() => ask(database(), sql.END_COUNTER, { replica }));
      const ended = new AbortController();
      await Promise.race([last.catch(() => undefined), clock.sleep(STOP_MS, ended.signal)]);
      ended.abort();
    },
    doubt() {
      if (suspicion !== null) return `it is being checked whether the database lost commits, because ${suspicion.reason}`;
      return isKnown() ? null : 'it is not known yet whether the database lost commits';
    },
    known: () => (isKnown() || stopping.signal.aborted ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    lastLoss: () => loss,
    onLoss(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    notes: () =>
      seen?.timeline === null
        ? ['the database server does not give its timeline: lost commits are noticed by what each replica remembers alone']
        : [],
    async prove({ reason }) {
      await shared().prove(reason);
      await readLoss();
      if (loss === null) throw new Error('The database stored no loss.');
      return loss;
    },
    async adopt(id, at) {
      const adopted = await shared().adopt(id, at);
      await readLoss();
      return adopted;
    },
    async isCursorLost(chain, trader, cursor) {
      const [row] = await ask<{ is_lost: boolean }>(database(), sql.IS_CURSOR_LOST, { chain, trader, cursor });
      return row?.is_lost === true;
    },
  };
}

/** As a session reported it, with the server that was last compared with what replicas remember. */
interface MetPosition extends DatabasePosition {
  readonly known: ServerName;
  /** When each replica wrote its counter last. */
  readonly replicas: Readonly<Record<string, number>>;
}

/** Null for a database without the tables, as before its migration. */
function readPosition(column: unknown, identity: (read: ServerIdentity) => ServerIdentity): MetPosition | null {
  if (typeof column !== 'object' || column === null) return null;
  const { replicas, ...row } = column as { replicas?: Record<string, number> } & Partial<Record<string, string | null>>;
  const text = (name: string): string | null => row[name] ?? null;
  const whole = (name: string): bigint | null => (row[name] == null ? null : BigInt(row[name]));
  return {
    ...identity({ system: text('system'), timeline: text('timeline'), log: whole('log') }),
    known: { system: text('known_system'), timeline: text('known_timeline') },
    instance: text('instance') ?? '',
    counter: whole('counter'),
    openReview: whole('open_review') ?? 0n,
    loss: whole('loss') ?? 0n,
    replicas: replicas ?? {},
  };
}
