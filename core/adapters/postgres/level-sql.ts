/** Which order has a take profit or stop loss, and whether it stands: every statement about levels reads this from here. */

/** A transaction that will not set what it was made for. One whose nonce became free again may only use up that nonce. */
const hasFailed = (job: string): string => `exists (
    select from relay_jobs sent where sent.id = ${job}
      and (sent.state in ('refused', 'reverted', 'replaced') or sent.not_after = 0 and sent.state <> 'mined'))`;

/** Of a row of `level_owners`: its transaction did not fail, or it has none. */
export const isGood = (row: string): string => `not ${hasFailed(`${row}.job`)}`;

/** The later transaction has a level before the earlier one, and any transaction before what was only seen on chain. */
const newestFirst = (row: string): string => `${row}.job desc nulls last, ${row}.owner desc`;

/** The newest row of the level of `level`, of those for which this holds. */
const newestOf = (isCounted: string): string => `level_owners newest
    where newest.chain = level.chain and newest.trader = level.trader and newest.slot = level.slot and newest.kind = level.kind
      and newest.price = level.price and ${isCounted}
    order by ${newestFirst('newest')} limit 1`;

/**
 * Whether a row of `level_owners` is the one that has its level: the newest whose transaction did not fail. It is decided with each look and
 * never stored, because after a reorganisation a transaction that failed may be mined, and one that was mined may fail.
 */
export const IS_OWNER = `level.id = (select newest.id from ${newestOf(isGood('newest'))})`;

/** The order that has the level of `level`. */
export const OWNER = `(select newest.owner from ${newestOf(isGood('newest'))})`;

/** Whether a row is the newest whose transaction was mined: it has its level, or has it again if all that are under way fail. */
export const IS_NEWEST_MINED = `level.id = (select newest.id from ${newestOf(
  `(newest.job is null or exists (select from relay_jobs sent where sent.id = newest.job and sent.state = 'mined'))`,
)})`;

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

/**
 * Whether a level of an order stands: its trade has exactly that price, and not from a native order that set the same price later. Cancels,
 * statuses, the search by cloid and the check of new cloids all depend on this.
 */
export const IS_SET = `(positions.state -> level.kind ->> '$n')::numeric = level.price and not exists (
    select from orders native where native.chain = level.chain and native.trader = level.trader
      and native.order_key = level.kind || ':' || positions.trade_index and (native.state -> 'price' ->> '$n')::numeric = level.price
      and (native.state ->> 'createdAt')::bigint > level.seen_at)`;

/**
 * The contract moves a stop loss to another price: its order has that price too. It keeps the former one, because its transaction may only
 * set that price afterwards, and because a reorganisation may undo the move. The orders before it come along, which have the level if it
 * fails; no more than these, as any number may have been at one price. `from`: which rows, `to`: the new price.
 */
export const copyTo = (from: string, to: string): string => `
  insert into level_owners (chain, trader, slot, kind, price, owner, job, seen_at)
  select level.chain, level.trader, level.slot, level.kind, ${to}, level.owner, level.job, level.seen_at from level_owners level
  where ${from}
  order by ${isGood('level')} desc, ${newestFirst('level')} limit 20
  on conflict do nothing`;
