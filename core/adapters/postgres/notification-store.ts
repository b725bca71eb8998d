import type { Knex } from 'knex';
import type { Notice, NotificationStore } from '../../ports/stores/notifications.js';
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

/** A stop loss that was moved on several trades, or several times, is listed once, as it was moved last. */
const MOVED_STOPS = `
  select distinct on (oid) oid, pair_index, asked, kept, at from (
    select stop.owner as oid, bot.pair_index, bot.terms -> 'order' -> 'style' -> 'trigger' ->> '$n' as asked, stop.price::text as kept,
      stop.price_at as at
    from triggers stop join exchange_orders bot on bot.chain = stop.chain and bot.oid = stop.owner
    where stop.chain = :chain and stop.trader = :trader and stop.kind = 'sl' and stop.origin = 'bot' and stop.state <> 'asked'
      and stop.price <> (bot.terms -> 'order' -> 'style' -> 'trigger' ->> '$n')::numeric
    order by stop.owner desc limit :limit) moved
  order by oid desc, at desc`;

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
