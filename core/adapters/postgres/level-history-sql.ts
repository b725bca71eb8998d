export const AT = `((event -> 'place' ->> 'at')::bigint)`;
export const field = (name: string): string => `coalesce((event -> '${name}' ->> '$n')::numeric, 0)`;

/** A trailing stop is set all day long; only this many of the newest steps are searched. */
const MAX_STEPS = 10_000;

/** Edits set one of TP and SL; placing or amending an order, and changing the size of a trade, state both. */
export const LEVEL_STEPS = `
  select place, at, tp, sl from (
  select block_number, log_index, case when kind in ('rested', 'amended') then substring(order_key from 9)::bigint else trade_index end as place, ${AT} as at,
    case when kind = 'edited' then case when event ->> 'field' = 'tp' then event -> 'value' ->> '$n' end
      else coalesce(event -> 'after' -> 'tp', event -> 'terms' -> 'tp', event -> 'tp') ->> '$n' end as tp,
    case when kind = 'edited' then case when event ->> 'field' = 'sl' then event -> 'value' ->> '$n' end
      else coalesce(event -> 'after' -> 'sl', event -> 'terms' -> 'sl', event -> 'sl') ->> '$n' end as sl
  from chain_events
  where chain = :chain and trader = :trader and not orphaned and (
    trade_index = any(cast(:tradeIndices as bigint[])) and (kind = 'edited' or kind = 'executed' and jsonb_typeof(event -> 'after') = 'object')
    or order_key = any(cast(:keys as text[])) and kind in ('rested', 'amended'))
  order by block_number desc, log_index desc limit ${MAX_STEPS}
  ) newest order by block_number, log_index`;

/** If it was removed twice, the first removal counts. */
export const LEVEL_END = `
  with edits as (
    select event, block_number, log_index, ${field('value')} as level from chain_events
    where chain = :chain and trader = :trader and trade_index = :tradeIndex and kind = 'edited' and event ->> 'field' = :kind and not orphaned
  )
  select event -> 'place' ->> 'txHash' as hash from edits
  where (block_number, log_index) > all (select block_number, log_index from edits where level <> 0)
  order by block_number, log_index limit 1`;
