import type { Migration } from './migration.js';

/** What clients of the facade must find unchanged whenever they come back, and what they search by. */
export const facadeReads: Migration = {
  name: '0011-facade-reads',
  async up(trx) {
    await trx.raw(`
      create table asset_units (
        chain text not null,
        pair_index integer not null,
        symbol text not null,
        sz_decimals integer not null check (sz_decimals between 0 and 5),
        multiplier integer not null check (multiplier in (1, 1000)),
        primary key (chain, pair_index, symbol)
      )`);
    await trx.raw(`
      create table leverage_settings (
        chain text not null,
        trader text not null,
        pair_index integer not null,
        leverage integer not null check (leverage > 0),
        is_cross boolean not null,
        primary key (chain, trader, pair_index)
      )`);
    // Take-profits and stop-losses by the slot they were set on; ids are drawn where those of orders and positions are.
    await trx.raw(`
      create table protections (
        id bigint primary key default nextval('entity_ids'),
        chain text not null,
        trader text not null,
        slot bigint not null,
        kind text not null check (kind in ('tp', 'sl')),
        price numeric(78, 0) not null,
        seen_at bigint not null,
        unique (chain, trader, slot, kind, price)
      )`);
    await trx.raw(`
      create index chain_events_fills_by_time on chain_events (chain, trader, ((event -> 'place' ->> 'at')::bigint), block_number, log_index)
      where is_fill and not orphaned`);
  },
};
