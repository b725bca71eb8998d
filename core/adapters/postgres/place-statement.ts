import type { OwnEvent } from '../../domain/chain-event.js';
import { FIRST_CURSOR } from './continuity/continuity-sql.js';
import { formatDecimal, type Decimal } from '../../domain/decimal.js';
import { shapeOf } from '../../domain/order-machine.js';
import { isLive, type Order } from '../../domain/order.js';
import type { Draft } from '../../ports/stores/orders.js';
import type { BotOrder, RelayedLeg } from '../../ports/stores/relay.js';
import { encodeExact, statement, type Statement, type Values } from './statement.js';
import { IS_CLOID_TAKEN, legsBefore } from './exchange-sql.js';
import { JOURNAL_CHANNEL } from './journal-rows.js';
import { NOW_MS } from './migrations/migration.js';
import { RULES_OF } from './rules-store.js';

const [chain, trader, agent] = ['cast(:chain as text)', 'cast(:trader as text)', 'cast(:agent as text)'];

export const unsentOf = `chain = ${chain} and agent = ${agent} and status = 'prepared' and not is_sent and expires_at > cast(:now as bigint)`;

/** The checks before placing. */
export interface AroundRow {
  readonly known: bigint | null;
  readonly is_cloid_taken: boolean;
  readonly unsent: number;
  readonly earliest: bigint | null;
  readonly is_busy: boolean;
  /** Null where the draft needs no funds. */
  readonly unmined_takes: string | null;
  readonly unmined_amount: string | null;
  /** By the database's clock. */
  readonly asked_at: bigint;
}

/**
 * Openings that may not be in the chain's figures: those that are prepared, and those that were prepared when the chain was read. Openings
 * whose transaction failed or was never sent do not count.
 */
const OPENINGS = `
      select opening.id, opening.takes, (opening.state -> 'collateralAmount' ->> '$n')::numeric as amount
      from orders as opening where opening.chain = ${chain} and opening.trader = ${trader}
        and (opening.state ->> 'collateralIndex')::integer = cast(:collateralIndex as integer)`;
const UNMINED = `(
      select coalesce(sum(found.takes), 0) as takes, coalesce(sum(found.amount), 0) as amount from (
        ${OPENINGS} and opening.takes is not null and opening.status = 'prepared'
        union all
        ${OPENINGS} and opening.prepared_until >= cast(:fundsReadAt as bigint) and opening.status not in ('prepared', 'expired')
      ) as found
      where cast(:takes as numeric) is not null and not exists (
        select from relay_jobs job where job.chain = ${chain} and job.order_id = found.id and job.state in ('refused', 'replaced', 'reverted')))`;

export const AROUND = `
    (select id from orders where chain = ${chain} and trader = ${trader} and client_id = cast(:clientId as text)) as known,
    ${IS_CLOID_TAKEN} as is_cloid_taken,
    (select count(*)::int from orders where ${unsentOf}) as unsent,
    (select min(expires_at) from orders where ${unsentOf}) as earliest,
    (cast(:soleOn as bigint) is not null and exists (
      select from orders where chain = ${chain} and trader = ${trader} and is_live and status <> 'open'
        and state -> 'unexplained' is null and (state ->> 'tradeIndex')::bigint = cast(:soleOn as bigint))) as is_busy,
    unmined.takes as unmined_takes, unmined.amount as unmined_amount, ${NOW_MS} as asked_at`;

/** Source of the checks; openings are summed only for a draft that needs funds. */
export const LOOKS_FROM = `(select 1) as one left join lateral ${UNMINED} as unmined on cast(:takes as numeric) is not null`;

const IS_PAID = `(cast(:takes as numeric) is null
      or (unmined_takes + cast(:takes as numeric) <= cast(:balance as numeric)
        and unmined_amount + cast(:amount as numeric) <= cast(:allowance as numeric)))`;

export const aroundValues = ({ chain, agent, order, soleOn, freeCloid, funds }: Draft): Values => ({
  chain,
  agent,
  trader: order.trader,
  clientId: order.clientId,
  now: order.createdAt,
  soleOn: soleOn ?? null,
  freeCloid: freeCloid ?? null,
  collateralIndex: funds?.collateralIndex ?? null,
  takes: funds?.takes.toString() ?? null,
  fundsReadAt: funds?.readAt ?? null,
});

export interface PlaceRow extends AroundRow {
  readonly id: bigint;
  readonly is_placed: boolean;
  /** The relay job stored with it. */
  readonly job?: bigint;
}

export interface UnruledRow extends PlaceRow {
  readonly rules: string | null;
}

const [usd, cap] = ['cast(:usd as numeric)', 'cast(:cap as numeric)'];
const [spender, spentFor, day] = ['cast(:spender as text)', 'cast(:spentFor as text)', 'cast(:day as integer)'];

const DAY_OF_AGENT = `chain = ${chain} and agent = ${spender} and trader = ${spentFor} and day = ${day}`;

/** So many reservations are added up with every order before they become part of the day's sum. */
const BESIDE_SUM = 100;

/** The trader's lock keeps two orders from reading the same figure. Rows that are locked are added up another time. */
const CAPPED = {
  parts: `, spent as (
    select coalesce((select usd from spend_sums where ${DAY_OF_AGENT}), 0) + coalesce(sum(case when held then usd else -usd end), 0) as usd,
      count(*) as beside
    from spend_reservations where ${DAY_OF_AGENT} and held <> in_sum
  ), taken as (
    update spend_reservations set in_sum = held where chain = ${chain} and id = any(array(
      select id from spend_reservations where (select beside from spent) > ${BESIDE_SUM} and ${DAY_OF_AGENT} and held <> in_sum for update skip locked
    )) returning case when held then usd else -usd end as usd
  ), summed as (
    insert into spend_sums as known (chain, agent, trader, day, usd)
    select ${chain}, ${spender}, ${spentFor}, ${day}, sum(usd) from taken having count(*) > 0
    on conflict (chain, agent, trader, day) do update set usd = known.usd + excluded.usd
  )`,
  source: `free, spent where spent.usd + ${usd} <= ${cap}`,
};

const UNCAPPED = { parts: '', source: 'free' };

/** Checks, daily spending, the order, its first event, its call data and its journal entry in one atomic statement. */
const placing = (looks: string, condition: string, { parts, columns }: typeof ALONE, spending: typeof UNCAPPED): string => `
  with around as materialized (
    select nextval('entity_ids') as id, ${looks} from ${LOOKS_FROM}
  ), free as (
    select id from around where known is null and not is_cloid_taken and not is_busy and unsent < cast(:maxUnsent as integer) and ${IS_PAID} and ${condition}
  )${spending.parts}, good as (
    select id from ${spending.source}
  ), reserved as (
    insert into spend_reservations (chain, agent, trader, day, id, usd)
    select ${chain}, ${spender}, ${spentFor}, ${day}, id::text, ${usd} from good where ${usd} is not null
  ), happened as (
    insert into chain_events (chain, event_key, trader, kind, order_id, block_number, log_index, is_fill, event)
    select ${chain}, 'order:' || id || '/prepared/0', ${trader}, 'prepared', id, cast(:block as bigint), -1, false, cast(:event as jsonb)
    from good
  ), placed as (
    insert into orders (id, chain, trader, agent, client_id, fingerprint, status, is_live, expires_at, state, takes)
    select id, ${chain}, ${trader}, ${agent}, cast(:clientId as text), cast(:fingerprint as text), cast(:status as text),
      cast(:isLive as boolean), cast(:expiresAt as bigint), cast(:state as jsonb), cast(:takes as numeric)
    from good
  ), tagged as (
    insert into order_tags (chain, tag, order_id, purpose, shape, data, gas)
    select ${chain}, cast(:tag as text), id, 'place', cast(:shape as text), cast(:data as text), cast(:gas as bigint) from good
  ), marked as (
    update agents set signed_at = cast(:now as bigint)
    where chain = ${chain} and agent = ${agent} and trader = ${trader} and signed_at is null and exists (select from good)
  ), clock as (
    insert into account_cursors (chain, trader, cursor) select ${chain}, ${trader}, ${FIRST_CURSOR} + 1 from good
    on conflict (chain, trader) do update set cursor = account_cursors.cursor + 1 returning cursor
  ), published as (
    insert into journal (chain, trader, cursor, at, kind, order_id, fact)
    select ${chain}, ${trader}, cursor, cast(:now as bigint), 'order', id,
      jsonb_build_object('kind', 'order', 'id', jsonb_build_object('$n', id::text), 'order', cast(:state as jsonb))
    from clock, good returning 1
  )${parts}
  select around.*, exists (select from good) as is_placed, (select pg_notify(cast(:channel as text), '') from published) as notified${columns}
  from around`;

const ALONE = { parts: '', columns: '' };

/** The bot's record of an order with one leg, and its relay job. */
const RELAYED = {
  parts: `, recorded as (
    insert into exchange_orders (chain, oid, trader, agent, action, item, cloid, pair_index, manner, terms, created_at)
    select ${chain}, id, ${trader}, ${agent}, cast(:parent as bigint), cast(:item as integer), cast(:cloid as text),
      cast(:pairIndex as integer), cast(:manner as text), cast(:terms as jsonb), cast(:recordedAt as bigint)
    from good where cast(:continues as bigint) is null
  ), continued as (
    update exchange_orders set manner = cast(:manner as text)
    where chain = ${chain} and oid = cast(:continues as bigint) and exists (select from good)
  ), recorded_leg as (
    insert into exchange_legs (chain, oid, seq, role, order_id, trade_index, size_base)
    select ${chain}, coalesce(cast(:continues as bigint), id), ${legsBefore('cast(:continues as bigint)')} + 1, cast(:role as text), id,
      cast(:tradeIndex as bigint), cast(:sizeBase as numeric)
    from good
  ), job as (
    insert into relay_jobs (chain, wallet, trader, purpose, parent, order_id, data, gas, context, not_after, state, created_at)
    select ${chain}, cast(:wallet as text), ${trader}, cast(:purpose as text), cast(:parent as bigint), id, cast(:data as text),
      cast(:jobGas as numeric), cast(:context as jsonb), cast(:notAfter as bigint), 'queued', cast(:recordedAt as bigint)
    from good returning id
  )`,
  columns: ', (select id from job) as job',
};

/** Statements to place an order, alone or with its relay job. */
export interface PlaceStatements {
  readonly place: Statement;
  /** For traders without rules. Where there is one nothing is placed, and the row has it. */
  readonly unruled: Statement;
}

const placements = (beside: typeof ALONE, spending: typeof UNCAPPED): PlaceStatements => ({
  place: statement(placing(AROUND, 'true', beside, spending)),
  unruled: statement(placing(`${AROUND}, ${RULES_OF}`, 'rules is null', beside, spending)),
});

/** Nothing is summed up for an agent without a cap. */
const byCap = (beside: typeof ALONE) => {
  const [capped, uncapped] = [placements(beside, CAPPED), placements(beside, UNCAPPED)];
  return ({ spend }: Draft): PlaceStatements => (spend?.capUsd ? capped : uncapped);
};

export const placeAlone = byCap(ALONE);
export const placeWithJob = byCap(RELAYED);

/** A relayed order of one request, without TP/SL of its own. */
export interface SingleOrder {
  readonly draft: Draft;
  readonly request: NonNullable<RelayedLeg['request']>;
  readonly record: BotOrder;
  readonly leg: BotOrder['legs'][number];
  /** The oid of the bot's order that it continues; null for a new one. */
  readonly continues: bigint | null;
}

export function relayedValues({ request, record, leg, continues }: SingleOrder): Values {
  const { order, wire, createdAt, item, cloid, pairIndex, manner } = record;
  const { wallet, purpose, parent, gas, context, notAfter } = request;
  return {
    ...{ item, cloid, pairIndex, manner, recordedAt: createdAt, terms: encodeExact({ order, wire }), continues },
    ...{ role: leg.role, tradeIndex: leg.tradeIndex, sizeBase: leg.sizeBase.toString() },
    ...{ wallet, purpose, parent, notAfter, jobGas: gas.toString(), context: encodeExact(context) },
  };
}

/** `order` is the order after the event. */
export function placeValues(draft: Draft, event: OwnEvent, order: Order): Values {
  const { agent, fingerprint, spend, maxUnsent, tag, data, gas, funds } = draft;
  return {
    ...aroundValues(draft),
    balance: funds?.balance.toString() ?? null,
    allowance: funds?.allowance.toString() ?? null,
    amount: funds?.amount.toString() ?? null,
    maxUnsent,
    spender: spend?.account.agent ?? agent,
    spentFor: spend?.account.trader ?? order.trader,
    day: spend?.account.day ?? null,
    usd: text(spend?.usd ?? null),
    cap: text(spend?.capUsd ?? null),
    block: event.place.blockNumber,
    event: encodeExact(event),
    fingerprint,
    status: order.status,
    isLive: isLive(order),
    expiresAt: order.expiresAt,
    state: encodeExact(order),
    tag: tag.toLowerCase(),
    shape: shapeOf(order),
    data,
    gas,
    channel: JOURNAL_CHANNEL,
  };
}

const text = (usd: Decimal | null): string | null => (usd === null ? null : formatDecimal(usd));
