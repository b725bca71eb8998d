import { KEPT_NONCES } from '../../../access/signer-nonces.js';
import { statement } from '../statement.js';

/** What a session is asked when it begins, and with each heartbeat. `replica` is a UUID that this process made. */
export const positionColumn = (replica: string): string => `(
  select row_to_json(found) from (
    select server.system, server.timeline, server.log::text, deployment.instance_id as instance,
      deployment.server_system as known_system, deployment.server_timeline as known_timeline,
      (select counter::text from public.replica_counters where replica_counters.replica = '${replica}') as counter,
      (select coalesce(max(id), 0)::text from public.continuity_reviews where ended_at is null) as open_review,
      (select coalesce(max(id), 0)::text from public.commit_losses) as loss,
      (select coalesce(json_object_agg(replica, written_at), '{}') from public.replica_counters) as replicas
    from public.deployment, public.server_position() as server
  ) as found) as position`;

export const BEGIN_COUNT = statement(`
  insert into replica_counters (replica, counter, written_at)
  values (cast(:replica as text), cast(:counter as bigint), cast(:now as bigint))
  on conflict (replica) do update set counter = excluded.counter, written_at = excluded.written_at returning counter`);

/** Writes nothing where the last counter is missing. A higher one is that of a write without an answer. */
export const COUNT = statement(`
  update replica_counters set counter = cast(:counter as bigint), written_at = cast(:now as bigint)
  where replica = cast(:replica as text) and counter >= cast(:before as bigint) returning counter`);

export const END_COUNTER = statement('delete from replica_counters where replica = cast(:replica as text)');

/** Those of processes that were killed. */
export const SWEEP_COUNTERS = statement('delete from replica_counters where written_at < cast(:before as bigint)');

export const KEEP_SERVER = statement(`
  update deployment set server_system = cast(:system as text), server_timeline = cast(:timeline as text)
  where (server_system, server_timeline) is distinct from (cast(:system as text), cast(:timeline as text))`);

export const OPEN_REVIEW = statement(`
  select max(id) as id from continuity_reviews where ended_at is null and begun_at > cast(:notBefore as bigint)`);

/** Those whose replicas ended before them. */
export const DROP_REVIEWS = statement(`
  update continuity_reviews set ended_at = begun_at where ended_at is null and begun_at <= cast(:notBefore as bigint)`);

/** The open review, or a new one. Run under the lock of reviews. */
export const BEGIN_REVIEW = statement(`
  with open as (
    select id from continuity_reviews where ended_at is null and begun_at > cast(:notBefore as bigint) order by id desc limit 1
  ), made as (
    insert into continuity_reviews (begun_at, reason) select cast(:now as bigint), cast(:reason as text)
    where not exists (select from open) returning id
  )
  select id from open union all select id from made`);

/**
 * What is missing of what this replica remembers, with its counter. Ids alone prove nothing: another row may have them by now. Nonces of the
 * native API are pruned, the oldest first, by the clock of any replica: one is missing where an older one is still there.
 */
export const FIND_MISSING = statement(`
  with action as (
    select * from unnest(cast(:actionIds as bigint[]), cast(:actionHashes as text[]), cast(:actionTimes as bigint[])) as kept (id, hash, at)
  ), nonce as (
    select * from unnest(cast(:signers as text[]), cast(:signerNonces as bigint[]), cast(:nonceTimes as bigint[])) as kept (signer, nonce, at)
  ), native as (
    select * from unnest(cast(:nativeChains as text[]), cast(:credentials as text[]), cast(:nativeNonces as text[]), cast(:keptUntil as bigint[]),
      cast(:nativeTimes as bigint[])) as kept (chain, credential, nonce, kept_until, at)
  ), registered as (
    select * from unnest(cast(:agentChains as text[]), cast(:agents as text[]), cast(:versions as bigint[]), cast(:createdTimes as bigint[]),
      cast(:agentTimes as bigint[])) as kept (chain, agent, version, created_at, at)
  ), placed as (
    select * from unnest(cast(:orderChains as text[]), cast(:tags as text[]), cast(:orderTimes as bigint[])) as kept (chain, tag, at)
  ), job as (
    select * from unnest(cast(:jobIds as bigint[]), cast(:wallets as text[]), cast(:jobNonces as bigint[]), cast(:jobHashes as text[]),
      cast(:jobTimes as bigint[])) as kept (id, wallet, nonce, hash, at)
  ), entry as (
    select * from unnest(cast(:chains as text[]), cast(:traders as text[]), cast(:cursors as bigint[]), cast(:entryTimes as bigint[]),
      cast(:readTimes as bigint[])) as kept (chain, trader, cursor, written, at)
  ), missing as (
    select at from action where not exists (select from relay_actions row where row.id = action.id and row.action_hash = action.hash)
    union all
    select at from nonce where not exists (select from signer_nonces row where row.signer = nonce.signer
      and (nonce.nonce = any (row.kept) or (cardinality(row.kept) >= ${KEPT_NONCES} and nonce.nonce < row.kept[1])))
    union all
    select at from native where not exists (select from nonces row
      where row.chain = native.chain and row.agent = native.credential and row.nonce = native.nonce)
      and exists (select from nonces older where older.expires_at <= native.kept_until)
    union all
    select at from registered where not exists (select from agents row where row.chain = registered.chain and row.agent = registered.agent
      and (row.version > registered.version or (row.version = registered.version and row.created_at = registered.created_at)))
    union all
    select at from placed where not exists (select from order_tags row where row.chain = placed.chain and row.tag = placed.tag)
    union all
    select at from job where not exists (select from relay_jobs row where row.id = job.id and row.wallet = job.wallet
      and (job.nonce is null or row.nonce is not null)
      and (job.hash is null or exists (select from relay_hashes hash where hash.hash = job.hash and hash.job_id = job.id)))
    union all
    select at from entry where not exists (select from journal row where row.chain = entry.chain and row.trader = entry.trader
      and row.cursor = entry.cursor and row.at = entry.written)
  )
  select min(at) as missing_from, max(at) as missing_to,
    (select counter from replica_counters where replica = cast(:replica as text)) as counter
  from missing`);

export const REPORT = statement(`
  insert into continuity_reports (review, replica, missing_from, missing_to, wallet_nonces)
  values (cast(:review as bigint), cast(:replica as text), cast(:from as bigint), cast(:to as bigint), cast(:walletNonces as jsonb))
  on conflict (review, replica) do nothing`);

/** The reports of a review, and the replicas that wrote their counter since `aliveSince` and have not reported. */
export const REVIEW = statement(`
  select ended_at,
    (select coalesce(jsonb_agg(jsonb_build_object('replica', replica, 'from', missing_from, 'to', missing_to, 'walletNonces', wallet_nonces)), '[]')
      from continuity_reports where review = continuity_reviews.id) as reports,
    array(select replica from replica_counters where written_at >= cast(:aliveSince as bigint)
      and replica not in (select replica from continuity_reports where review = continuity_reviews.id)) as silent
  from continuity_reviews where id = cast(:review as bigint)`);

export const LOCK_REVIEW = statement('select ended_at from continuity_reviews where id = cast(:review as bigint) for update');

export const END_REVIEW = statement(`
  update continuity_reviews set ended_at = cast(:now as bigint), loss = cast(:loss as bigint) where id = cast(:review as bigint)`);

const LOSS_COLUMNS = 'id, detected_at, lost_from, reason, wallet_nonces, adopted_at';

export const LAST_LOSS = statement(`select ${LOSS_COLUMNS} from commit_losses order by id desc limit 1`);

export const ADD_LOSS = statement(`
  insert into commit_losses (detected_at, lost_from, reason, wallet_nonces)
  values (cast(:now as bigint), cast(:lostFrom as bigint), cast(:reason as text), cast(:walletNonces as jsonb)) returning ${LOSS_COLUMNS}`);

/** A replica that reports late knows of commits that were lost earlier, or of higher nonces. */
export const WIDEN_LOSS = statement(`
  update commit_losses set lost_from = least(lost_from, cast(:lostFrom as bigint)), wallet_nonces = cast(:walletNonces as jsonb)
  where id = cast(:id as bigint) returning ${LOSS_COLUMNS}`);

/** What stands as the server's timeline until the first replica has compared it. */
const RESTORED = `'restored, loss ' || id`;

export const RESTORED_LOSS = statement(`
  select ${LOSS_COLUMNS} from commit_losses
  where id = (select max(id) from commit_losses) and ${RESTORED} = (select server_timeline from deployment)`);

/** No server has such a timeline: the first replica that starts reviews what the others remember. */
export const KEEP_RESTORED = statement(`
  update deployment set server_timeline = (select ${RESTORED} from commit_losses where id = cast(:id as bigint))`);

/** When a replica was last known to be alive: nothing that was acknowledged before is missing. */
export const LAST_ALIVE = statement('select max(written_at) as at from replica_counters');

export const ADOPT_LOSS = statement(`
  update commit_losses set adopted_at = coalesce(adopted_at, cast(:at as bigint)) where id = cast(:id as bigint) returning ${LOSS_COLUMNS}`);

/** More than any deployment gives out between two backups. Versions of agents leave room for 2^20 changes each. */
const ID_GAP = 2n ** 32n;
const VERSION_GAP = 2n ** 52n;

/** Every id of the time that was lost stays unused. All sequences of the schema, so that a new table needs nothing. */
export const SKIP_IDS = statement(`
  select setval(oid::regclass, coalesce(pg_sequence_last_value(oid), seqstart)
    + case relname when 'agent_versions' then ${VERSION_GAP} else ${ID_GAP} end)
  from pg_sequence join pg_class on oid = seqrelid
  where relnamespace = 'public'::regnamespace and seqtypid = 'bigint'::regtype`);

export const SKIP_CURSORS = statement(`
  with moved as (
    update account_cursors set cursor = cursor + ${ID_GAP} returning chain, trader, cursor
  )
  insert into journal_gaps (chain, trader, after_cursor, next_cursor) select chain, trader, cursor - ${ID_GAP}, cursor + 1 from moved`);

/** Every cursor that a client may hold is that of an entry, or the one before the first after a gap. */
export const IS_CURSOR_LOST = statement(`
  select cast(:cursor as bigint) > 0
    and not exists (select from journal where chain = :chain and trader = :trader and cursor = cast(:cursor as bigint))
    and not exists (select from journal_gaps where chain = :chain and trader = :trader and next_cursor = cast(:cursor as bigint) + 1) as is_lost`);

/** Cursors of an account that is new, or whose row was lost, begin above all that were ever given out. */
export const FIRST_CURSOR = `(select ${ID_GAP} * count(*) from commit_losses)`;
