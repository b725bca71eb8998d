import type { Knex } from 'knex';
import type { Notice, NotificationStore } from '../../ports/stores/notifications.js';
import { IS_OWNER, rowsOf } from './level-sql.js';
import type { Address } from '../../types.js';

interface NoticeRow {
  readonly chain: string;
  readonly trader: string;
  readonly id: bigint;
  readonly kind: Notice['kind'];
  readonly about: Address | null;
  readonly created_at: bigint;
}

interface MovedRow {
  readonly oid: bigint;
  readonly pair_index: number;
  readonly asked: string;
  readonly kept: string;
  readonly at: bigint;
}

const units = (path: string): string => `(event -> ${path} ->> '$n')::numeric`;

/**
 * A stop loss is set by an edit of its trade or with its opening execution; a trade opened by a resting order has another index. One that
 * was moved on several trades, or several times, is listed once, as it was moved last.
 */
const MOVED_STOPS = `
  with stops as (
    select stop.oid, stop.pair_index, stop.terms -> 'order' -> 'style' -> 'trigger' ->> '$n' as asked, level.price, level.slot
    from exchange_orders stop join level_owners level on ${rowsOf({ chain: 'stop.chain', trader: 'stop.trader', oid: 'stop.oid' })}
    where stop.chain = :chain and stop.trader = :trader and stop.manner = 'protection' and level.kind = 'sl'
      and stop.terms -> 'order' -> 'style' ->> 'tpsl' = 'sl'
      and level.price <> (stop.terms -> 'order' -> 'style' -> 'trigger' ->> '$n')::numeric and ${IS_OWNER}
    order by stop.oid desc limit :limit
  )
  select distinct on (oid) oid, pair_index, asked, price::text as kept, stood.at from stops cross join lateral (
    select (event -> 'place' ->> 'at')::bigint as at from chain_events
    where chain = :chain and trader = :trader and not orphaned
      and (trade_index = slot or trade_index = (
        select heir.trade_index from chain_events heir
        where heir.chain = :chain and heir.trader = :trader and heir.order_key = 'resting:' || slot and heir.kind = 'executed' and not heir.orphaned
        limit 1))
      and (kind = 'edited' and event ->> 'field' = 'sl' and ${units(`'value'`)} = price
        or kind = 'executed' and ${units(`'after' -> 'sl'`)} = price)
    order by block_number, log_index limit 1
  ) stood
  order by oid desc, stood.at desc`;

interface DelegateRow {
  readonly chain: string;
  readonly trader: string;
  readonly delegate: Address | null;
}

interface DismissalRow {
  readonly trader: string;
  readonly notification_id: bigint;
}

export const createNotificationStore = (db: Knex): NotificationStore => ({
  async delegateSeen(chain, trader) {
    const row = await db<DelegateRow>('delegates_seen').where({ chain, trader }).first('delegate');
    return row?.delegate;
  },

  /** One statement: of two that see the same change, the row lock lets one write it and the other finds it written. */
  async noteDelegate(chain, trader, delegate, at) {
    await db.raw(
      `with before as (select delegate from delegates_seen where chain = :chain and trader = :trader for update),
       seen as (
         insert into delegates_seen (chain, trader, delegate) values (:chain, :trader, :delegate)
         on conflict (chain, trader) do update set delegate = excluded.delegate where delegates_seen.delegate is distinct from excluded.delegate
         returning 1
       )
       insert into notices (chain, trader, kind, about, subject, created_at)
       select :chain, :trader, 'delegation_changed', :delegate, coalesce(:delegate, 'none') || '@' || :at, :at
       from before, seen where before.delegate is distinct from :delegate
       on conflict do nothing`,
      { chain, trader, delegate, at },
    );
  },

  async noteExpiring(chain, trader, agents, at) {
    if (agents.length === 0) return;
    await db.raw(
      `insert into notices (chain, trader, kind, about, subject, created_at)
       select :chain, :trader, 'agent_expiring', about, subject, :at
       from unnest(cast(:agents as text[]), cast(:subjects as text[])) as expiring (about, subject)
       where not exists (select from notices known
         where known.chain = :chain and known.trader = :trader and known.kind = 'agent_expiring' and known.subject = expiring.subject)
       on conflict do nothing`,
      {
        chain,
        trader,
        at,
        agents: agents.map(({ agent }) => agent),
        subjects: agents.map(({ agent, expiresAt }) => `${agent}@${expiresAt}`),
      },
    );
  },

  async notices(chain, trader, limit) {
    const rows = await db<NoticeRow>('notices').where({ chain, trader }).orderBy('id', 'desc').limit(limit);
    return rows.map(({ id, kind, about, created_at }) => ({ id, kind, about, at: Number(created_at) }));
  },

  async movedStops(chain, trader, limit) {
    const { rows } = await db.raw<{ rows: MovedRow[] }>(MOVED_STOPS, { chain, trader, limit } as never);
    return rows.map(({ oid, pair_index, asked, kept, at }) => ({
      oid,
      pairIndex: pair_index,
      asked: BigInt(asked),
      kept: BigInt(kept),
      at: Number(at),
    }));
  },

  async dismissed(trader, ids) {
    if (ids.length === 0) return new Set();
    const rows = await db<DismissalRow>('dismissals')
      .where({ trader })
      .whereIn('notification_id', [...ids]);
    return new Set(rows.map(({ notification_id }) => Number(notification_id)));
  },

  async dismiss(trader, id, at) {
    await db('dismissals').insert({ trader, notification_id: id, dismissed_at: at }).onConflict(['trader', 'notification_id']).ignore();
  },
});
