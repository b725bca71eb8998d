import { createHash } from 'node:crypto';
import type { Knex } from 'knex';

/** A statement written once with names for its values (`:chain`) and sent with numbers, as the server knows them. */
export interface Statement {
  /** As written, for whoever runs it as part of a transaction. */
  readonly named: string;
  readonly text: string;
  readonly names: readonly string[];
  /** By which a connection knows it again: the server reads and plans it once, and is told the name from then on. Null: it does not. */
  readonly name: string | null;
}

export type Values = Readonly<Record<string, unknown>>;

export interface Question {
  readonly asked: Statement;
  readonly values: Values;
}

/** A name that is used twice is one value, so each use says its type: `cast(:chain as text)`. */
export function statement(named: string): Statement {
  const names: string[] = [];
  const text = named.replace(/(?<!:):([a-zA-Z]\w*)/g, (_match, name: string) => {
    if (!names.includes(name)) names.push(name);
    return `$${names.indexOf(name) + 1}`;
  });
  return { named, text, names, name: `dg_${createHash('sha256').update(text).digest('hex').slice(0, 24)}` };
}

/** Planned for the values at hand each time: for one that is right for few values, and for any value would be planned to read everything. */
export const plannedAnew = (named: string): Statement => ({ ...statement(named), name: null });

/**
 * Whether a table of values has this id. Each of them is then looked up, whatever the planner believes of the sizes of things: joined, on a
 * database that has not been counted yet, it reads every row of the chain.
 */
export const isNamed = (id: string, values: string): string => `${id} = any(array(select id from ${values}))`;

export const valuesOf = ({ names }: Statement, values: Values): unknown[] => names.map((name) => values[name] ?? null);

/** Of a statement that takes no values. */
export const plain = (text: string): Question => ({ asked: statement(text), values: {} });

/** As part of a transaction of the query builder. */
export async function runAll(trx: Knex.Transaction, questions: readonly Question[]): Promise<void> {
  for (const { asked, values } of questions) await trx.raw(asked.named, values as never);
}
