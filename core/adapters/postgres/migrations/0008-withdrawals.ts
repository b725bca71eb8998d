import type { Migration } from './migration.js';

/** Profit withdrawn from open positions, by time: it is part of a day's result, and no fill. */
export const withdrawals: Migration = {
  name: '0008-withdrawals',
  sql: `
  create index if not exists chain_events_withdrawals on chain_events (chain, trader, ((event -> 'place' ->> 'at')::bigint))
  where kind = 'executed' and event ->> 'action' = 'withdraw' and not orphaned`,
};
