import { createHash } from 'node:crypto';
import type { Knex } from 'knex';
import pg from 'pg';
import type { ChainSlug } from '../../chains/chains.js';
import type { Address } from '../../types.js';
import { borrowed, retire } from './connection-pool.js';
import { tryAgain } from './faults.js';
import { sendPipeline } from './pipeline.js';

/** A statement with named parameters (`:chain`), sent with numbered ones. */
export interface Statement {
  /** As written, to run it in a Knex transaction. */
  readonly named: string;
  readonly text: string;
  readonly names: readonly string[];
  /** Name of the prepared statement, parsed and planned once per connection; null: not prepared. */
  readonly name: string | null;
}

export type Values = Readonly<Record<string, unknown>>;

export interface Question {
  readonly asked: Statement;
  readonly values: Values;
}

/** A parameter used twice is sent once, so each use states its type: `cast(:chain as text)`. */
export function statement(named: string): Statement {
  const names: string[] = [];
  const text = named.replace(/(?<!:):([a-zA-Z]\w*)/g, (_match, name: string) => {
    if (!names.includes(name)) names.push(name);
    return `$${names.indexOf(name) + 1}`;
  });
  return { named, text, names, name: `dg_${createHash('sha256').update(text).digest('hex').slice(0, 24)}` };
}

/** Planned for each execution: a generic plan would scan the whole table. */
export const plannedAnew = (named: string): Statement => ({ ...statement(named), name: null });

/**
 * Whether a table of values contains this id. Forces an index lookup per id: with a join, a database without statistics would scan every
 * row of the chain.
 */
export const isNamed = (id: string, values: string): string => `${id} = any(array(select id from ${values}))`;

const valuesOf = ({ names }: Statement, values: Values): unknown[] => names.map((name) => values[name] ?? null);

/** A statement without parameters. */
export const plain = (text: string): Question => ({ asked: statement(text), values: {} });

/** Atomic; repeated after a conflict with a concurrent one, so the work must have no effect outside the database. */
export const inTransaction = <Result>(db: Knex, work: (trx: Knex.Transaction) => Promise<Result>): Promise<Result> =>
  tryAgain(() => db.transaction(work));

/** Takes the lock `name`. */
export const LOCK = 'pg_advisory_xact_lock(hashtextextended(cast(:name as text), 0))';
/** The lock function never returns null, so no row is returned. */
const LOCK_FIRST = statement(`select 1 where ${LOCK} is null`);

/** Takes a lock that every replica knows by this name, held until the transaction ends. */
export const lock = (name: string): Question => ({ asked: LOCK_FIRST, values: { name } });

/** The same in a Knex transaction. */
export async function lockIn(trx: Knex.Transaction, name: string): Promise<void> {
  await trx.raw(`select ${LOCK}`, { name });
}

/** The lock under which the orders of a trader are prepared and their spending is reserved, across replicas. */
export const ordersLock = (chain: ChainSlug, trader: Address): string => `diamond-gateway orders ${chain} ${trader}`;

/** The lock under which a change of a resting order is prepared or queued. */
export const amendLock = (chain: ChainSlug, trader: Address | null, tradeIndex: number): string =>
  `diamond-gateway amends ${chain} ${trader} ${tradeIndex}`;

/** Asks several statements in order within one transaction; returns the rows of the last. */
export type AskWithin = <Row>(...questions: readonly Question[]) => Promise<Row[]>;

/** In a Knex transaction: a round trip for each. */
export const askWithin =
  (trx: Knex.Transaction): AskWithin =>
  async <Row>(...questions: readonly Question[]) => {
    let rows: unknown[] = [];
    for (const { asked, values } of questions) ({ rows } = await trx.raw<{ rows: unknown[] }>(asked.named, values as never));
    return rows as Row[];
  };

/** Runs in a Knex transaction. */
export async function runAll(trx: Knex.Transaction, questions: readonly Question[]): Promise<void> {
  for (const { asked, values } of questions) await trx.raw(asked.named, values as never);
}

/** One statement, one round trip; repeated after a conflict with a concurrent transaction, such as a deadlock. */
export const ask = <Row>(db: Knex, asked: Statement, values: Values): Promise<Row[]> => askAll<Row>(db, [{ asked, values }]);

/** All statements in one round trip and one transaction, repeated after a conflict; returns the rows of the last. */
export async function askAll<Row>(db: Knex, questions: readonly Question[]): Promise<Row[]> {
  const rows = await tryAgain(() => askEach(db, questions));
  return (rows.at(-1) ?? []) as Row[];
}

/** The rows of each. A caller that shares the trip with others repeats each by itself after a conflict. */
export const askEach = (db: Knex, questions: readonly Question[]): Promise<unknown[][]> =>
  borrowed(db, (connection) => byName(connection, (manner) => sendTogether(connection, questions, manner)));

/** The prepared statement is outdated or unknown to the server. It was not executed. */
const OUTDATED: ReadonlySet<unknown> = new Set(['0A000', '26000']);

/** A new release may change tables while this one runs: then the full text is sent, and the connection is not reused. */
async function byName<Result>(connection: pg.Client, send: (manner: Manner) => Promise<Result>): Promise<Result> {
  try {
    return await send('by-name');
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || !OUTDATED.has(error.code)) throw error;
    retire(connection);
    return send('in-full');
  }
}

/** A transaction with one round trip per read: writes are sent with the next read or with the commit. */
export interface Steps {
  ask<Row>(asked: Statement, values: Values): Promise<Row[]>;
  /** Several in one round trip; returns the rows of the last. */
  readonly askTogether: AskWithin;
  /** Executed in call order. A failure is reported by the read or commit that it is sent with. */
  leave(...questions: readonly Question[]): void;
}

const [BEGIN, COMMIT, ROLLBACK] = [plain('begin'), plain('commit'), plain('rollback')];

/**
 * Atomic. Retries the work after a conflict with a concurrent transaction or a change of the tables by a new release, so the work must have
 * no side effects outside the database.
 */
export const inSteps = <Result>(db: Knex, work: (steps: Steps) => Promise<Result>): Promise<Result> =>
  tryAgain(() => borrowed(db, (connection) => byName(connection, (manner) => run(connection, manner, work))));

async function run<Result>(connection: pg.Client, manner: Manner, work: (steps: Steps) => Promise<Result>): Promise<Result> {
  let left: Question[] = [BEGIN];
  let failed: Error | null = null;
  const send = async (...asked: readonly Question[]): Promise<unknown[][]> => {
    // A commit after a failure would succeed as a rollback, so it must not be sent.
    if (failed !== null) throw failed;
    const questions = [...left, ...asked];
    left = [];
    try {
      return await sendTogether(connection, questions, manner);
    } catch (error) {
      failed = error instanceof Error ? error : new Error('the database failed without a message');
      throw error;
    }
  };
  try {
    const askTogether: AskWithin = async <Row>(...questions: readonly Question[]) => ((await send(...questions)).at(-1) ?? []) as Row[];
    const result = await work({
      ask: (asked, values) => askTogether({ asked, values }),
      askTogether,
      leave: (...questions) => void left.push(...questions),
    });
    await send(COMMIT);
    return result;
  } catch (error) {
    await undo(connection);
    throw error;
  }
}

/** Releases locks immediately instead of when the broken connection is noticed. */
async function undo(connection: pg.Client): Promise<void> {
  try {
    await sendTogether(connection, [ROLLBACK], 'in-full');
  } catch {
    retire(connection);
  }
}

/** By name the server reuses the parsed statement; in full where it has changed under its name. */
type Manner = 'by-name' | 'in-full';

const sendTogether = (connection: pg.Client, questions: readonly Question[], manner: Manner): Promise<unknown[][]> =>
  sendPipeline(
    connection,
    questions.map(({ asked, values }) => ({
      name: (manner === 'by-name' ? asked.name : null) ?? '',
      text: asked.text,
      values: valuesOf(asked, values),
    })),
  );

/** JSON that keeps bigints: `{"$n":"123"}`. Client-supplied strings cannot produce this form. */
export const encodeExact = (value: unknown): string =>
  JSON.stringify(value, (_key, field: unknown) => (typeof field === 'bigint' ? { $n: field.toString() } : field));

export const decodeExact = (text: string): unknown => revive(JSON.parse(text) as unknown);

/** In place, and only for nested values: a JSON.parse reviver would be called for every field of every row. */
function revive(value: unknown): unknown {
  if (!isNested(value)) return value;
  if (Array.isArray(value)) return value.map(revive);
  if (typeof value['$n'] === 'string') return BigInt(value['$n']);
  for (const [key, field] of Object.entries(value)) if (isNested(field)) value[key] = revive(field);
  return value;
}

const isNested = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
