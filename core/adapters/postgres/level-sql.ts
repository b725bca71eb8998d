/** Which order has a take profit or stop loss, and whether it stands: every statement about levels reads this from here. */

/**
 * Of a row of `level_owners`: its transaction did not fail, or it has none. One whose nonce became free again may only use up that nonce. A
 * value and no `exists`, so that jobs are always looked up by id: as a join the planner reads all of them.
 */
export const hasNotFailed = (row: string): string => `coalesce((
    select sent.state not in ('refused', 'reverted', 'replaced') and (sent.state = 'mined' or sent.not_after is distinct from 0)
    from relay_jobs sent where sent.id = ${row}.job), true)`;

const isMined = (row: string): string => `coalesce((select sent.state = 'mined' from relay_jobs sent where sent.id = ${row}.job), true)`;

const ofSameLevel = (row: string): string =>
  `${row}.chain = level.chain and ${row}.trader = level.trader and ${row}.slot = level.slot and ${row}.kind = level.kind and ${row}.price = level.price`;

/** The later transaction has a level before the earlier one, and any transaction before what was only seen on chain. */
export const newestFirst = (row: string): string => `${row}.job desc, ${row}.owner desc`;

/**
 * Whether `level` is the newest row of its level of those for which this holds. It looks for the next one of them and not for the newest:
 * any number may have failed since, and they would be walked through for each row anew.
 */
const isNewest = (holds: (row: string) => string): string => `(${holds('level')} and (
    select newer.id from level_owners newer
    where ${ofSameLevel('newer')} and (newer.job, newer.owner) > (level.job, level.owner) and ${holds('newer')}
    order by newer.job, newer.owner limit 1) is null)`;

/**
 * Whether a row of `level_owners` is the one that has its level: the newest whose transaction did not fail. It is decided with each look and
 * never stored, because after a reorganisation a transaction that failed may be mined, and one that was mined may fail.
 */
export const IS_OWNER = isNewest(hasNotFailed);

/** Whether a row is the newest whose transaction was mined: it has its level, or has it again if all that are under way fail. */
export const IS_NEWEST_MINED = isNewest(isMined);

/** The order that has the level of `level`. */
export const OWNER = `(
    select newest.owner from level_owners newest where ${ofSameLevel('newest')} and ${hasNotFailed('newest')} order by ${newestFirst('newest')} limit 1)`;

/** The index of a level's trade: that of the position once its resting order was filled. */
export const PLACE = `coalesce((
    select opening.trade_index from chain_events opening
    where opening.chain = level.chain and opening.trader = level.trader and opening.order_key = 'resting:' || level.slot
      and opening.kind = 'executed' and not opening.orphaned limit 1), level.slot)`;

/** The index under which the levels of a trade are stored. */
export const slotOf = (tradeIndex: string): string => `coalesce((
    select substring(order_key from 9)::bigint from chain_events
    where chain = :chain and trader = :trader and trade_index = ${tradeIndex} and kind = 'executed' and order_key like 'resting:%'
      and not orphaned limit 1), ${tradeIndex})`;

/** Where the levels of the order `parent` are stored that came with it: the index of the resting order, or of the trade. */
const SLOT_OF_OPENING = `coalesce(substring(parent.order_key from '^resting:(.*)$')::bigint, (parent.state -> 'fill' ->> 'tradeIndex')::bigint)`;

/**
 * The order of `level` came with an opening that has another slot: on another branch the contract may number trades and resting orders in
 * another order. Rows with a transaction name their slot in its call, so they keep it.
 */
const IS_ELSEWHERE = `level.job = 0 and o.chain = level.chain and o.oid = level.owner and parent.id = o.parent_order and level.slot <> ${SLOT_OF_OPENING}`;

export const IS_DISPLACED = `exists (select from exchange_orders o join orders parent on parent.id = o.parent_order where ${IS_ELSEWHERE})`;

/** Levels of these owners that came with an opening follow it to its slot. */
export const FOLLOW_OPENING = `
  with gone as (
    delete from level_owners level using exchange_orders o, orders parent
    where level.chain = :chain and level.trader = :trader and level.owner = any(cast(:owners as bigint[])) and ${IS_ELSEWHERE}
    returning level.*, ${SLOT_OF_OPENING} as slot_of_opening
  )
  insert into level_owners (chain, trader, slot, kind, price, owner, job, seen_at)
  select chain, trader, slot_of_opening, kind, price, owner, job, seen_at from gone on conflict do nothing`;

/** The rows of an order in `level_owners`: on every trade, and at every price to which the contract moved it. */
export const rowsOf = ({ chain, trader, oid }: OrderRef): string =>
  `level.chain = ${chain} and level.trader = ${trader} and level.owner = ${oid}`;

interface OrderRef {
  readonly chain: string;
  readonly trader: string;
  readonly oid: string;
}

/** The rows of an order for open trades. */
export const onTrades = (order: OrderRef): string => `
  level_owners level join positions on positions.chain = level.chain and positions.trader = level.trader and positions.is_open
    and positions.trade_index = ${PLACE}
  where ${rowsOf(order)}`;

/** The levels that an order has on open trades. */
export const levelsOf = (order: OrderRef): string => `${onTrades(order)} and ${IS_OWNER}`;

/** Logs of transactions that set a level of this kind of this trade, whatever the price. */
const settingOf = (log: string, place: string): string => `
  ${log}.chain = level.chain and ${log}.trader = level.trader and ${log}.trade_index = ${place}
    and ${log}.kind = 'edited' and ${log}.event ->> 'field' = level.kind and not ${log}.orphaned`;

/** The transaction of `level`, by its row in `relay_hashes`. */
const OF_ITS_JOB = 'sent.job_id = level.job';

interface Setters {
  /** The native order, which has or had the price of `level` too. */
  readonly native: string;
  readonly place: string;
  /** Which transaction is that of `level`. */
  readonly isOwn?: string;
}

/**
 * Where on chain the native order first set its level after the order of `level` did; null if it did not. Their logs decide once the
 * transaction of `level` has one, because transactions are not mined in the order in which they were asked for; before that the time does,
 * and all logs count. Logs of others say nothing of the two, and a native order whose position was only resized set nothing.
 */
export const nativeSince = ({ native, place, isOwn = OF_ITS_JOB }: Setters): string => `(
    select case when own.block_number is null
      then case when (${native}.state ->> 'createdAt')::bigint > level.seen_at then array[-1, -1]::bigint[] end
      else (
        select array[later.block_number, later.log_index] from chain_events later join chain_events named on named.chain = later.chain
          and named.trader = later.trader and named.trade_index = later.trade_index and named.block_number = later.block_number
          and named.log_index = later.log_index
        where ${settingOf('later', place)} and (later.block_number, later.log_index) > (own.block_number, own.log_index)
          and named.order_id = ${native}.id and named.kind in ('guarded', 'guardMoved') and not named.orphaned
        order by later.block_number, later.log_index limit 1)
      end
    from (select) one left join lateral (
      select own.block_number, own.log_index
      from chain_events own join relay_hashes sent on sent.chain = own.chain and sent.hash = own.event -> 'place' ->> 'txHash'
      where ${settingOf('own', place)} and ${isOwn}
      order by own.block_number desc, own.log_index desc limit 1) own on true)`;

export const isNativeLater = (setters: Setters): string => `${nativeSince(setters)} is not null`;

/** Whether a native order has the level of `level`. */
export const isNatives = (place: string): string => `exists (
    select from orders native where native.chain = level.chain and native.trader = level.trader
      and native.order_key = level.kind || ':' || ${place} and (native.state -> 'price' ->> '$n')::numeric = level.price
      and ${isNativeLater({ native: 'native', place })})`;

/**
 * Whether a level of an order stands: its trade has exactly that price, and not from a native order that set the same price later. Cancels,
 * statuses, the search by cloid and the check of new cloids all depend on this.
 */
export const IS_SET = `(positions.state -> level.kind ->> '$n')::numeric = level.price and not ${isNatives('positions.trade_index')}`;

/**
 * The contract moves a stop loss to another price: its order has that price too. It keeps the former one, because its transaction may only
 * set that price afterwards, and because a reorganisation may undo the move. The orders before it come along, which have the level if it
 * fails; no more than these, as any number may have been at one price. `from`: which rows, `to`: the new price.
 */
export const copyTo = (from: string, to: string): string => `
  insert into level_owners (chain, trader, slot, kind, price, owner, job, seen_at)
  select level.chain, level.trader, level.slot, level.kind, ${to}, level.owner, level.job, level.seen_at from level_owners level
  where ${from}
  order by ${hasNotFailed('level')} desc, ${newestFirst('level')} limit 20
  on conflict do nothing`;
