import type { Knex } from 'knex';
import type { ChainSlug } from '../../chains/chains.js';
import type { JournalEntry, JournalFact } from '../../ports/stores/journal.js';
import type { Address } from '../../types.js';
import { FIRST_CURSOR } from './continuity/continuity-sql.js';
import { decodeExact, encodeExact, runAll, statement, type Question } from './statement.js';
import { NOW_MS } from './migrations/migration.js';

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
    insert into account_cursors (chain, trader, cursor) select cast(:chain as text), trader, ${FIRST_CURSOR} + entries from counted order by trader
    on conflict (chain, trader) do update set cursor = account_cursors.cursor + excluded.cursor - ${FIRST_CURSOR}
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

/** The part of the driver's connection that is used. */
export interface Connection {
  query(sql: string, values: readonly unknown[]): Promise<{ rows: unknown[] }>;
}

/**
 * Position of a reader of all journals. A snapshot identifies the transactions it has seen, including concurrent ones: whatever the next
 * snapshot adds is new, exactly once, whenever its transaction began.
 */
export interface FeedPosition {
  readonly seen: string;
  /** Database time of `seen`, epoch ms. */
  readonly seenAt: bigint;
  /** Page cursor on the way to the next snapshot; null between two snapshots. */
  readonly partly: { readonly upto: string; readonly at: bigint; readonly last: JournalRow } | null;
}

interface FeedStep {
  readonly position: FeedPosition;
  /** In order per account. */
  readonly entries: readonly JournalEntry[];
  readonly hasMore: boolean;
}

const PAGE = 1_000;
/**
 * Longer than any transaction of ours. In a database restored into another cluster old transaction ids are meaningless; their age keeps
 * those entries from being published again.
 */
const LONGEST_TRANSACTION_MS = 600_000n;

export async function presentPosition(connection: Connection): Promise<FeedPosition> {
  const { rows } = await connection.query(`select pg_current_snapshot()::text as upto, ${NOW_MS} as now`, []);
  const [moment] = rows as Moment[];
  if (!moment) throw new Error('The database names no snapshot.');
  return { seen: moment.upto, seenAt: moment.now, partly: null };
}

interface Moment {
  readonly upto: string;
  readonly now: bigint;
}

type FeedRow = Moment & (JournalRow | { readonly chain: null });

/** One page of entries committed since. A failed read is repeated from the same position. */
export async function readFeed(connection: Connection, position: FeedPosition): Promise<FeedStep> {
  const { seen, seenAt, partly } = position;
  const last = partly?.last;
  const values = [seen, partly?.upto, seenAt - LONGEST_TRANSACTION_MS, last?.chain, last?.trader, last?.cursor];
  const answer = await connection.query(
    READ,
    values.map((value) => value ?? null),
  );
  const rows = answer.rows as FeedRow[];
  const [moment] = rows;
  if (!moment) throw new Error('The database names no snapshot.');
  const found = rows.flatMap((row) => (row.chain === null ? [] : [row]));
  const end = found.at(-1);
  const upto = partly?.upto ?? moment.upto;
  const at = partly?.at ?? moment.now;
  const hasMore = end !== undefined && found.length === PAGE;
  return {
    entries: found.map(readEntry),
    hasMore,
    position: hasMore ? { seen, seenAt, partly: { upto, at, last: end } } : { seen: upto, seenAt: at, partly: null },
  };
}

/** True when a server with older state has taken over, as after a failover that lost its last transactions. */
export const wentBack = (before: FeedPosition, after: FeedPosition): boolean => nextTransaction(after.seen) < nextTransaction(before.seen);

const nextTransaction = (snapshot: string): bigint => BigInt(snapshot.split(':')[1] ?? '0');

const READ = `
  with moment as materialized (
    select coalesce($2::pg_snapshot, pg_current_snapshot()) as upto, ${NOW_MS} as now
  )
  select moment.upto::text as upto, moment.now, entry.* from moment left join lateral (
    select ${JOURNAL_COLUMNS} from journal
    where transaction_id >= pg_snapshot_xmin($1::pg_snapshot) and transaction_id < pg_snapshot_xmax(moment.upto)
      and not pg_visible_in_snapshot(transaction_id, $1::pg_snapshot) and pg_visible_in_snapshot(transaction_id, moment.upto)
      and written_at > $3
      and ($4::text is null or (chain, trader, cursor) > ($4::text, $5::text, $6::bigint))
    order by chain, trader, cursor limit ${PAGE}
  ) as entry on true
  order by chain, trader, cursor`;
