import type { Knex } from 'knex';

/**
 * One step of the schema. Steps only go forward and only add, so that the gateway of yesterday still runs on the schema of today while
 * replicas are exchanged; a step that has been released is never changed.
 * An index on a table that grows with the orders is made `if not exists`, so that an operator of a large database can make it beforehand,
 * `concurrently`: inside a step nobody writes to the table until it is made.
 * Conventions: times are `bigint` epoch milliseconds, amounts `numeric(78, 0)` in the contract's units, addresses and hashes lower-case
 * `text`, chains by their slug; names are singular nouns for single rows and plural for tables of many.
 */
export interface Migration {
  readonly name: string;
  readonly up: (trx: Knex.Transaction) => Promise<void>;
}

/** The database's own clock in the unit of all our times. */
export const NOW_MS = '(extract(epoch from clock_timestamp()) * 1000)::bigint';
