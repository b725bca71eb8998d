import { NOW_MS, type Migration } from './migration.js';

/**
 * What an opening of the facade takes from the wallet of its trader when it is mined; the sum of those that the chain's figures do not hold
 * yet is asked for with every opening. The database's own clock says when an order stops being prepared, whichever replica stores it.
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
