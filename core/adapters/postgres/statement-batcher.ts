import type { Knex } from 'knex';
import pg from 'pg';
import { suspected } from '../../access/after-loss.js';
import type { Clock } from '../../ports/clock.js';
import { SILENCE_MS } from './connect-database.js';
import { ask, askAll, askEach, plain, type Question, type Statement, type Values } from './statement.js';

/**
 * Statement batcher. Statements asked while a batch is in flight wait for it briefly, and are then sent as one batch: one write, one
 * transaction, one commit. A single pending statement is sent immediately.
 */
export interface StatementBatcher {
  ask<Row>(asked: Statement, values: Values, company: Company): Promise<Row[]>;
}

export interface Company {
  /** Sort key within a batch, so that every replica takes locks in the same order. */
  readonly order: string;
  /** Runs directly before it, in the same transaction. */
  readonly before?: Question;
}

/** For a statement that only reads. */
export const LOCKS_NOTHING: Company = { order: '' };

interface PendingStatement {
  readonly question: Question;
  readonly company: Company;
  readonly resolve: (rows: unknown[]) => void;
  readonly fail: (error: unknown) => void;
  /** How often commits had been suspected to be lost when it was asked. */
  readonly suspicions: number;
}

const MAX_BATCH = 16;
/** Two statements each, and the two around the batch. */
const MAX_STATEMENTS = 2 * MAX_BATCH + 2;
/**
 * A batch is rolled back when one of its statements takes longer, so that the others do not wait for it. The sum stays below the time after
 * which a server counts as silent: a batch given up here but committed by the server would place orders that were reported as failed.
 */
const STATEMENT_MS = Math.floor(SILENCE_MS / MAX_STATEMENTS);
const LOCK_MS = 25;
/** The next batch starts after this even if the current one is still in flight. */
const IN_FLIGHT_MS = 10;
/** Pause after a batch of several statements, to collect more; a single statement does not wait. */
const COLLECT_MS = 5;

const SET_TIMEOUTS = plain(`
  select set_config('gateway.lock_timeout', current_setting('lock_timeout'), true),
    set_config('lock_timeout', '${LOCK_MS}', true), set_config('statement_timeout', '${STATEMENT_MS}', true)`);
/** The commit may wait for other commits, so the short lock timeout must not apply to it. */
const RESET_LOCK_TIMEOUT = plain(`select set_config('lock_timeout', current_setting('gateway.lock_timeout'), true)`);

export function createStatementBatcher(db: Knex, clock: Clock, suspicions: () => number = () => 0): StatementBatcher {
  let waiting: PendingStatement[] = [];
  let isDraining = false;

  async function drain(): Promise<void> {
    while (waiting.length > 0) {
      // What was judged before the last suspicion has to be judged again.
      for (const { fail } of waiting.filter((each) => each.suspicions !== suspicions())) fail(suspected());
      waiting = waiting.filter((each) => each.suspicions === suspicions());
      const group = waiting.slice(0, MAX_BATCH);
      waiting = waiting.slice(MAX_BATCH);
      if (group.length === 0) break;
      const more = group.length > 1 ? clock.sleep(COLLECT_MS) : null;
      await Promise.all([atMost(clock, IN_FLIGHT_MS, runBatch(db, group.sort(inOrder))), more]);
    }
    isDraining = false;
  }

  return {
    ask: <Row>(asked: Statement, values: Values, company: Company) =>
      new Promise<Row[]>((resolve, fail) => {
        waiting.push({
          question: { asked, values },
          company,
          resolve: resolve as (rows: unknown[]) => void,
          fail,
          suspicions: suspicions(),
        });
        if (isDraining) return;
        isDraining = true;
        // Requests from the same read of the sockets have added their statements by then.
        setImmediate(() => void drain());
      }),
  };
}

const inOrder = ({ company: a }: PendingStatement, { company: b }: PendingStatement): number =>
  a.order < b.order ? -1 : Number(a.order > b.order);

async function runBatch(db: Knex, group: readonly PendingStatement[]): Promise<void> {
  const [only] = group;
  if (group.length === 1 && only) return runSingle(db, only);
  try {
    const rows = (await askEach(db, [SET_TIMEOUTS, ...group.flatMap(questionsOf), RESET_LOCK_TIMEOUT])).slice(1);
    for (const pending of group) pending.resolve(rows.splice(0, questionsOf(pending).length).at(-1) ?? []);
  } catch (error) {
    if (wasRolledBack(error)) await Promise.all(group.map((pending) => runSingle(db, pending)));
    else for (const { fail } of group) fail(error);
  }
}

async function runSingle(db: Knex, pending: PendingStatement): Promise<void> {
  const { question, company, resolve, fail } = pending;
  try {
    resolve(await (company.before ? askAll(db, questionsOf(pending)) : ask(db, question.asked, question.values)));
  } catch (error) {
    fail(error);
  }
}

const questionsOf = ({ question, company: { before } }: PendingStatement): Question[] => (before ? [before, question] : [question]);

/** The connection or server failed, so the outcome is unknown. Severities are localised, hence the codes. */
const OUTCOME_UNKNOWN = /^(?:08|57P0|25P0[34]|58|F0|XX)/;

/** The server reported a failed statement: the batch was rolled back, and the others can be retried alone. */
const wasRolledBack = (error: unknown): boolean => error instanceof pg.DatabaseError && !OUTCOME_UNKNOWN.test(error.code ?? 'XX');

/** Resolves when the work is done or after `ms`; `work` never fails. */
const atMost = (clock: Clock, ms: number, work: Promise<void>): Promise<void> =>
  new Promise((resolve) => {
    const cancel = clock.after(ms, resolve);
    void work.then(() => {
      cancel();
      resolve();
    });
  });
