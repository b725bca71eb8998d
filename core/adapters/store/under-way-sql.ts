import { MAY_BE_SENT_MS } from '../../relay/lane-waits.js';
import { NOW_MS } from './migrations/migration.js';
import { statement } from './statement.js';

/**
 * By wallet, of which only what is open and what is new is read; one that never sent has no lane yet. A job that sets a level makes no
 * order of ours. One whose time was over long ago is nobody's: its wallet was given up.
 */
const UNDER_WAY = `relay_jobs
  where chain = cast(:chain as text) and wallet = any(array(
    select wallet from relay_lanes where chain = cast(:chain as text)
    union select wallet from relay_wallets where chain = cast(:chain as text) and trader = cast(:trader as text)))
  and (not is_over and coalesce(not_after, ${NOW_MS}) > ${NOW_MS} - ${MAY_BE_SENT_MS} or state = 'mined' and mined_block > (select block_number from chain_cursors where chain = cast(:chain as text)))
  and trader = cast(:trader as text) and order_id is null and purpose = 'action'`;

export const AWAITED_JOBS = `
  select parent, (context->>'item')::integer as item from ${UNDER_WAY} and context->>'kind' in ('order', 'child')`;

export const AWAITED = statement(AWAITED_JOBS);

export const AMENDED = statement(`
  select 1 from ${UNDER_WAY} and context->'intent'->>'kind' = 'amend' and (context->'intent'->>'tradeIndex')::bigint = cast(:tradeIndex as bigint) limit 1`);
