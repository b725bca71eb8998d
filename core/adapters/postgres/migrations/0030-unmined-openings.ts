import { NOW_MS, type Migration } from './migration.js';

/**
 * What a facade opening takes from the trader's wallet when it is mined; the sum over openings not yet in the chain's figures is queried
 * with every opening. The database's clock sets the time at which an order stops being prepared, on every replica.
 */
const UNMINED = `
  alter table orders add column takes numeric(78, 0), add column left_at bigint;
  create index if not exists orders_unmined on orders (chain, trader) where takes is not null and status = 'prepared';
  create index if not exists orders_left on orders (chain, trader, left_at) where left_at is not null;
  create function order_leaves() returns trigger language plpgsql as $$
  begin
    new.left_at := ${NOW_MS};
    return new;
  end $$;
  create trigger orders_leave before update of status on orders for each row
  when (old.takes is not null and old.status = 'prepared' and new.status <> 'prepared') execute function order_leaves();
`;

export const unminedOpenings: Migration = {
  name: '0030-unmined-openings',
  async up(trx) {
    await trx.raw(UNMINED);
  },
};
