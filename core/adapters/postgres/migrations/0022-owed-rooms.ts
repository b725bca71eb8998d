import type { Migration } from './migration.js';

/** Small: a row exists from an order with TP/SL until its trade is open and has its closing slippage. */
export const owedRooms: Migration = {
  name: '0022-owed-rooms',
  async up(trx) {
    await trx.raw(`
      create table owed_rooms (
        id bigint generated always as identity primary key,
        chain text not null,
        trader text not null,
        agent text not null,
        action bigint not null references relay_actions (id),
        item integer not null,
        oid bigint not null,
        order_id bigint,
        trade_index bigint,
        room_p integer not null check (room_p > 0),
        tries integer not null default 0,
        due_at bigint not null,
        check ((order_id is null) <> (trade_index is null))
      );
      create index owed_rooms_due on owed_rooms (chain, due_at);
    `);
  },
};
