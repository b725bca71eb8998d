import type { Migration } from './migration.js';

/**
 * The trader's net position before and after each fill. Fills stored before this step, or by the release before it, have none yet: the replica
 * that follows the chain folds them trader by trader, and a read of such a fill folds its trader first.
 */
export const netPositions: Migration = {
  name: '0011-net-positions',
  sql: `
  alter table chain_events add column if not exists net_before numeric(78, 0), add column if not exists net_after numeric(78, 0);
  comment on column chain_events.net_before is
    'of a fill: the net position of its trader in its market just before it, base units 1e18, each trade at the collateral price of its opening';
  comment on column chain_events.net_after is 'the same just after it; null: not folded yet';
  create index if not exists chain_events_unfolded on chain_events (chain, trader) where is_fill and not orphaned and net_after is null`,
};
