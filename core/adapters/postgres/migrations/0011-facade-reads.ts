import type { Migration } from './migration.js';

/** Values that must stay the same for clients of the facade, and indexes for their queries. */
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
    // TP and SL by the index they were set on; ids come from the sequence of orders and positions.
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
