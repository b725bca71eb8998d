/**
 * One schema step. Steps only go forward and only add, so that the previous release still runs on the new schema during a rolling update; a
 * released step is never changed.
 * An index that a later step adds to a table that grows with the orders is created `if not exists`, so that the operator of a large database
 * can create it beforehand with `concurrently`: inside a step it would block writes.
 * Conventions: times are `bigint` epoch milliseconds, amounts `numeric(78, 0)` in the contract's units, addresses and hashes lower-case
 * `text`, chains by their slug; names are singular nouns for single rows and plural for tables of many.
 */
export interface Migration {
  readonly name: string;
  /** Statements that are sent in one round trip. */
  readonly sql: string;
}

/** The database's clock in epoch ms. */
export const NOW_MS = '(extract(epoch from clock_timestamp()) * 1000)::bigint';
