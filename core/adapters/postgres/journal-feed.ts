import type { JournalEntry } from '../../ports/stores/journal.js';
import { JOURNAL_COLUMNS, readEntry, type JournalRow } from './journal-rows.js';
import { NOW_MS } from './migrations/migration.js';

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

export interface FeedStep {
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
