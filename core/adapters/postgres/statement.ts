import { createHash } from 'node:crypto';
import type { Knex } from 'knex';

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

export const valuesOf = ({ names }: Statement, values: Values): unknown[] => names.map((name) => values[name] ?? null);

/** A statement without parameters. */
export const plain = (text: string): Question => ({ asked: statement(text), values: {} });

/** Runs in a Knex transaction. */
export async function runAll(trx: Knex.Transaction, questions: readonly Question[]): Promise<void> {
  for (const { asked, values } of questions) await trx.raw(asked.named, values as never);
}
