import type { Knex } from 'knex';
import type { ChainSlug } from '../../chains/chains.js';
import type { JournalEntry, JournalFact } from '../../ports/stores/journal.js';
import type { Address } from '../../types.js';
import { decodeExact, encodeExact, runAll, statement, type Question } from './statement.js';

/** Wakes replicas to read new entries; the notification has no payload, so that a batch of any size is one notification. */
export const JOURNAL_CHANNEL = 'diamond_gateway_journal';

export interface NewJournalEntry {
  readonly trader: Address;
  readonly fact: JournalFact;
}

/**
 * Appends to the journals of accounts in the given order, within the transaction. Their rows stay locked until it ends, so a reader that
 * sees a cursor sees every smaller one. Call it once and last, because the locks block every other writer of these accounts.
 */
export const appendJournal = (trx: Knex.Transaction, chain: ChainSlug, at: number, entries: readonly NewJournalEntry[]): Promise<void> =>
  runAll(trx, journalStatements(chain, at, entries));

/** The same as queued statements. */
export function journalStatements(chain: ChainSlug, at: number, entries: readonly NewJournalEntry[]): Question[] {
  if (entries.length === 0) return [];
  const rows = entries.map(({ trader, fact }, ord) => ({
    ord,
    trader,
    kind: fact.kind,
    order_id: orderIdOf(fact)?.toString() ?? null,
    fact: encodeExact(fact),
  }));
  return [{ asked: APPEND, values: { chain, at, rows: JSON.stringify(rows), channel: JOURNAL_CHANNEL } }];
}

function orderIdOf(fact: JournalFact): bigint | null {
  if (fact.kind === 'order') return fact.id;
  return fact.kind === 'correction' && fact.of.kind === 'order' ? fact.of.id : null;
}

/** Accounts are locked in a fixed order, so that batches cannot deadlock. */
const APPEND = statement(`
  with given as materialized (
    select * from jsonb_to_recordset(:rows::jsonb) as row(ord int, trader text, kind text, order_id bigint, fact text)
  ), counted as (
    select trader, count(*) as entries from given group by trader
  ), clocks as (
    insert into account_cursors (chain, trader, cursor) select cast(:chain as text), trader, entries from counted order by trader
    on conflict (chain, trader) do update set cursor = account_cursors.cursor + excluded.cursor
    returning trader, cursor
  ), written as (
    insert into journal (chain, trader, cursor, at, kind, order_id, fact)
    select cast(:chain as text), trader, cursor - entries + row_number() over (partition by trader order by ord), cast(:at as bigint), kind, order_id, fact::jsonb
    from given join counted using (trader) join clocks using (trader)
    returning 1
  )
  select pg_notify(cast(:channel as text), '') where exists (select from written)`);

export interface JournalRow {
  readonly chain: ChainSlug;
  readonly trader: Address;
  readonly cursor: bigint;
  readonly at: bigint;
  readonly fact: string;
}

export const JOURNAL_COLUMNS = 'chain, trader, cursor, at, fact::text';

/** Reads only facts that `appendJournal` wrote. */
export const readEntry = ({ chain, trader, cursor, at, fact }: JournalRow): JournalEntry => ({
  chain,
  trader,
  cursor,
  at: Number(at),
  fact: decodeExact(fact) as JournalFact,
});
