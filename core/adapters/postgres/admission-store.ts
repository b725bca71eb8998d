import type { Knex } from 'knex';
import type { AdmissionEntry, AdmissionStore, AdmissionVerdict, SubjectCount } from '../../ports/stores/access.js';
import { WINDOW_MS } from '../../access/limits.js';
import { tryAgain } from './faults.js';
import { ask, statement } from './statement.js';

/**
 * The unique key admits one of two requests with the same nonce, on any replica. Rows are written in key order, nonces before counts, so
 * that batches of two replicas cannot deadlock. Versions are read in the same snapshot, so an agent revoked before this statement is
 * seen as revoked.
 */
const ADMIT = statement(`
  with input as (
    select * from unnest(cast(:chains as text[]), cast(:credentials as text[]), cast(:nonces as text[]), cast(:expiries as bigint[]), cast(:writes as boolean[]))
      with ordinality as entry (chain, credential, nonce, expires_at, is_write, place)
  ), fresh as (
    insert into nonces (chain, agent, nonce, expires_at)
    select chain, credential, nonce, expires_at from input where nonce is not null order by 1, 2, 3
    on conflict do nothing
    returning chain, agent, nonce
  ), good as (
    select input.* from input left join fresh on fresh.chain = input.chain and fresh.agent = input.credential and fresh.nonce = input.nonce
    where input.nonce is null or fresh.nonce is not null
  ), counted as (
    insert into request_counts (window_start, subject, requests, writes)
    select cast(:window as bigint), chain || ':' || credential, count(*), count(*) filter (where is_write) from good group by 2 order by 2
    on conflict (window_start, subject) do update
      set requests = request_counts.requests + excluded.requests, writes = request_counts.writes + excluded.writes
    returning subject, requests, writes
  )
  select good.place is not null as is_fresh,
    coalesce(counted.requests, 0) as requests, coalesce(counted.writes, 0) as writes,
    case when input.nonce is null
      then (select cast(0 as bigint) from api_keys where api_keys.chain = input.chain and key_hash = input.credential)
      else (select version from agents where agents.chain = input.chain and agent = input.credential)
    end as version
  from input
    left join good on good.place = input.place
    left join counted on counted.subject = input.chain || ':' || input.credential
  order by input.place`);

const RELEASE_NONCES = statement(`
  delete from nonces using unnest(cast(:chains as text[]), cast(:credentials as text[]), cast(:nonces as text[])) as freed (chain, agent, nonce)
  where nonces.chain = freed.chain and nonces.agent = freed.agent and nonces.nonce = freed.nonce`);

const ADD_COUNTS = statement(`
  with input as (
    select * from unnest(cast(:subjects as text[]), cast(:requests as bigint[])) with ordinality as entry (subject, requests, place)
  ), counted as (
    insert into request_counts (window_start, subject, requests, writes)
    select cast(:window as bigint), subject, requests, 0 from input order by subject
    on conflict (window_start, subject) do update set requests = request_counts.requests + excluded.requests
    returning subject, requests
  )
  select counted.requests from input join counted using (subject) order by input.place`);

interface VerdictRow {
  readonly is_fresh: boolean;
  readonly requests: bigint;
  readonly writes: bigint;
  readonly version: bigint | null;
}

/** Kept longer than required, for replicas whose clocks differ. */
const NONCE_GRACE_MS = 60_000;
/** Nonces older than two days are refused by age, so older floors have no effect; the third day covers clocks that were set back. */
const FLOOR_KEPT_MS = 3 * 86_400_000;
const PRUNE_CHUNK = 5_000;

export function createAdmissionStore(db: Knex) {
  return {
    async admit(window: number, entries: readonly AdmissionEntry[]): Promise<AdmissionVerdict[]> {
      const rows = await tryAgain(() => ask<VerdictRow>(db, ADMIT, { window, ...columnsOf(entries) }));
      return rows.map(({ is_fresh: isFresh, requests, writes, version }) => ({
        isFresh,
        requests: Number(requests),
        writes: Number(writes),
        version,
      }));
    },
    async release(entries: readonly AdmissionEntry[]): Promise<void> {
      const { chains, credentials, nonces } = columnsOf(entries);
      await tryAgain(() => ask(db, RELEASE_NONCES, { chains, credentials, nonces }));
    },
    async addCounts(window: number, counts: readonly SubjectCount[]): Promise<number[]> {
      const given = { window, subjects: counts.map(({ subject }) => subject), requests: counts.map(({ requests }) => requests) };
      const rows = await tryAgain(() => ask<{ requests: bigint }>(db, ADD_COUNTS, given));
      return rows.map(({ requests }) => Number(requests));
    },
    async prune(now: number): Promise<void> {
      await prune(db, 'nonces', 'expires_at', now - NONCE_GRACE_MS);
      await prune(db, 'request_counts', 'window_start', now - 2 * WINDOW_MS);
      await prune(db, 'nonce_floors', 'floor', now - FLOOR_KEPT_MS);
    },
  } satisfies AdmissionStore;
}

const columnsOf = (entries: readonly AdmissionEntry[]): Record<string, unknown[]> => ({
  chains: entries.map(({ chain }) => chain),
  credentials: entries.map(({ credential }) => credential),
  nonces: entries.map(({ nonce }) => nonce),
  expiries: entries.map(({ keepUntil }) => keepUntil),
  writes: entries.map(({ isWrite }) => isWrite),
});

/** Deletes in small chunks and skips locked rows: requests are not blocked, and replicas that prune at once share the work. */
async function prune(db: Knex, table: string, column: string, before: number): Promise<void> {
  for (let deleted = PRUNE_CHUNK; deleted === PRUNE_CHUNK;) {
    const { rowCount } = await db.raw<{ rowCount: number }>(
      `delete from ${table} where ctid = any (array(
         select ctid from ${table} where ${column} < ? limit ${PRUNE_CHUNK} for update skip locked))`,
      [before],
    );
    deleted = rowCount;
  }
}
