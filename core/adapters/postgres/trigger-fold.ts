import type { ChainEvent, Level } from '../../domain/chain-event.js';
import {
  foldTriggers,
  TRIGGER_EVENTS,
  type AskedTrigger,
  type FoldedTriggers,
  type StandingTrigger,
  type TriggerKey,
  type TriggerPlace,
  type TriggerRow,
} from '../../domain/triggers.js';
import type { Address, Hex } from '../../types.js';
import { decodeExact, encodeExact, statement, type Statement, type Values } from './statement.js';
import { readEvent } from './tracking-rows.js';

/**
 * Loads the facts of `core/domain/triggers.ts` and stores what it returns. A fold begins at the trader's newest base, which says what stood
 * after a block, so that it reads few events however many there are. It runs in the indexer's transactions; no other writes what the fold writes.
 */
export interface TriggerUnit {
  /** Folds the triggers of these traders again. `since`: the block of the oldest event that was stored late. */
  refoldTriggers(traders: readonly Address[], since?: bigint): Promise<void>;
}

interface Asking {
  readonly rows: <Row>(asked: Statement, values: Values) => Promise<Row[]>;
  readonly leave: (asked: Statement, values: Values) => void;
}

/** When a fold has read so many events, another base is stored. */
const MOST_EVENTS = 50;
/** The newest events stay after the base: a reorganisation of few blocks leaves it as it is. */
const EVENTS_AFTER_BASE = 10;
/** Bases that are further below the newest are not needed: no reorganisation goes that deep. */
const KEPT_BLOCKS = 2_000n;
/** Before all events, also those that have no block. */
const GENESIS = -2n;

export function createTriggerUnit({ rows, leave }: Asking): TriggerUnit & { readonly forgetBasesAbove: (block: bigint) => void } {
  return {
    async refoldTriggers(traders, since) {
      if (traders.length === 0) return;
      if (since !== undefined) leave(FORGET_BASES_OF, { traders, block: since - 1n });
      const histories = (await rows<HistoryRow>(LOAD_EVENTS, { traders })).map(readHistory);
      const events = histories.flatMap((history) => history.events);
      const known = await rows<KnownRow>(LOAD_TRIGGERS, {
        bases: JSON.stringify(histories.map(({ trader, base }) => ({ trader, block: (base ?? GENESIS).toString() }))),
        hashes: [...new Set(events.flatMap(({ event }) => event.place.txHash ?? []))],
        openings: [...new Set(events.flatMap(({ orderId }) => orderId?.toString() ?? []))],
      });
      const written = histories.flatMap((history) => changedRows(history, ofTrader(known, history.trader)));
      if (written.length > 0) leave(STORE, { rows: JSON.stringify(written) });
      const bases = histories.flatMap((history) => newBases(history, ofTrader(known, history.trader)));
      if (bases.length > 0) leave(STORE_BASES, { rows: JSON.stringify(bases) });
      if (bases.length > 0) leave(FORGET_OLD_BASES, { traders: bases.map(({ trader }) => trader), kept: KEPT_BLOCKS });
    },
    forgetBasesAbove(block) {
      leave(FORGET_BASES, { block });
    },
  };
}

/** The events of a trader since a base. */
interface History {
  readonly trader: Address;
  /** Null for a trader who was never folded. */
  readonly base: bigint | null;
  readonly standing: readonly StandingTrigger[];
  readonly events: readonly { readonly event: ChainEvent; readonly orderId: bigint | null }[];
}

interface HistoryRow {
  readonly trader: Address;
  readonly base: bigint | null;
  readonly standing: string | null;
  readonly events: readonly (readonly [orderId: string | null, event: string])[];
}

const readHistory = ({ trader, base, standing, events }: HistoryRow): History => ({
  trader,
  base,
  standing: standing === null ? [] : (decodeExact(standing) as StandingTrigger[]),
  events: events.map(([orderId, event]) => ({ event: readEvent(event), orderId: orderId === null ? null : BigInt(orderId) })),
});

interface KnownRow {
  readonly trader: Address;
  readonly key: TriggerKey;
  readonly kind: Level;
  readonly parent: bigint | null;
  readonly asked_place: TriggerPlace | null;
  readonly job: bigint | null;
  /** Of its transaction, if one of the events is in it. */
  readonly hash: Hex | null;
  readonly state: 'asked' | 'standing' | 'over';
  readonly place: TriggerPlace | null;
  readonly price: string;
  readonly set_at: bigint | null;
  readonly price_at: bigint | null;
  readonly changed_block: bigint | null;
  readonly end_cause: string | null;
  readonly end_at: bigint | null;
}

const ofTrader = (known: readonly KnownRow[], trader: Address): KnownRow[] => known.filter((row) => row.trader === trader);

function foldOf({ standing, events }: Pick<History, 'standing' | 'events'>, known: readonly KnownRow[]): FoldedTriggers {
  const asked = new Map<Hex, AskedTrigger[]>();
  const withOpening = new Map<bigint, Pick<AskedTrigger, 'key' | 'kind'>[]>();
  for (const { key, kind, parent, job, hash, asked_place: place } of known) {
    if (hash !== null && place !== null) asked.set(hash, [...(asked.get(hash) ?? []), { key, kind, place }]);
    if (parent !== null && job === null) withOpening.set(parent, [...(withOpening.get(parent) ?? []), { key, kind }]);
  }
  return foldTriggers({ standing, events, asked, withOpening });
}

/** A trigger as the fold writes it. `asked`: nothing on the chain set it. */
interface WrittenRow {
  readonly trader: Address;
  readonly key: TriggerKey;
  readonly kind: Level;
  readonly state: KnownRow['state'];
  readonly place: TriggerPlace | null;
  readonly price: string;
  readonly set_at: number | null;
  readonly price_at: number | null;
  readonly changed_block: string | null;
  readonly end_cause: string | null;
  readonly end_at: number | null;
  readonly end_hash: Hex | null;
}

function changedRows(history: History, known: readonly KnownRow[]): WrittenRow[] {
  const { trader } = history;
  const { rows } = foldOf(history, known);
  const stored = new Map(known.map((row) => [row.key, row]));
  const folded = rows.flatMap((row) => (isStored(row, stored.get(row.key)) ? [] : [writtenRow(trader, row)]));
  const keys = new Set(rows.map(({ key }) => key));
  const base = history.base ?? GENESIS;
  // What set it after the base is gone with a reorganisation.
  const undone = known.filter(({ key, changed_block: changed }) => !keys.has(key) && changed !== null && changed > base);
  return [...folded, ...undone.map((row) => asAsked(trader, row))];
}

const isStored = ({ place, price, end, setAt, priceAt, changedBlock }: TriggerRow, known: KnownRow | undefined): boolean =>
  known?.state === (end === null ? 'standing' : 'over') &&
  known.place === place &&
  known.price === price.toString() &&
  (setAt === null || Number(known.set_at) === setAt) &&
  (priceAt === null || Number(known.price_at) === priceAt) &&
  known.changed_block === (changedBlock ?? known.changed_block) &&
  known.end_cause === (end?.cause ?? null) &&
  (end === null || Number(known.end_at) === end.at);

const writtenRow = (trader: Address, { key, kind, place, price, setAt, priceAt, changedBlock, end }: TriggerRow): WrittenRow => ({
  ...{ trader, key, kind, place, price: price.toString(), state: end === null ? 'standing' : 'over', set_at: setAt, price_at: priceAt },
  changed_block: changedBlock?.toString() ?? null,
  ...{ end_cause: end?.cause ?? null, end_at: end?.at ?? null, end_hash: end?.txHash ?? null },
});

const asAsked = (trader: Address, { key, kind, price }: KnownRow): WrittenRow => ({
  ...{ trader, key, kind, price, state: 'asked', place: null, set_at: null, price_at: null, changed_block: null },
  ...{ end_cause: null, end_at: null, end_hash: null },
});

interface BaseRow {
  readonly trader: Address;
  readonly block: string;
  readonly standing: string;
}

function newBases({ trader, base, standing, events }: History, known: readonly KnownRow[]): BaseRow[] {
  const rowOf = (block: bigint, stood: readonly StandingTrigger[]): BaseRow => ({
    trader,
    block: block.toString(),
    standing: encodeExact(stood),
  });
  const first = base === null ? [rowOf(GENESIS, [])] : [];
  const block = events.length > MOST_EVENTS ? events.at(-EVENTS_AFTER_BASE)?.event.place.blockNumber : undefined;
  if (block === undefined || block - 1n <= (base ?? GENESIS)) return first;
  // All of a block or nothing of it.
  const before = events.filter(({ event }) => event.place.blockNumber < block);
  return [...first, rowOf(block - 1n, foldOf({ standing, events: before }, known).standing)];
}

/** As the index of these events names them. */
export const KINDS = TRIGGER_EVENTS.map((kind) => `'${kind}'`).join(', ');

export const LOAD_EVENTS = statement(`
  select wanted.trader, base.block_number as base, base.standing,
    coalesce((
      select json_agg(json_build_array(found.order_id::text, found.event::text) order by found.block_number, found.log_index, found.id)
      from chain_events found
      where found.chain = cast(:chain as text) and found.trader = wanted.trader and found.block_number > coalesce(base.block_number, ${GENESIS})
        and found.kind in (${KINDS}) and not found.orphaned), '[]') as events
  from unnest(cast(:traders as text[])) as wanted(trader)
  left join lateral (
    select block_number, standing from trigger_bases where chain = cast(:chain as text) and trader = wanted.trader
    order by block_number desc limit 1) base on true`);

/** The triggers that the events may be about: those that stand, those changed since the base, and those asked for in one of the transactions. */
export const LOAD_TRIGGERS = statement(`
  with bases as (
    select trader, block from jsonb_to_recordset(cast(:bases as jsonb)) as base(trader text, block bigint)
  ), sent as (
    select job_id, hash from relay_hashes where chain = cast(:chain as text) and hash = any(cast(:hashes as text[]))
  ), wanted as (
    select trader, key from triggers
    where chain = cast(:chain as text) and trader = any(array(select trader from bases)) and state = 'standing'
    union
    select bases.trader, changed.key from bases cross join lateral (
      select key from triggers where chain = cast(:chain as text) and trader = bases.trader and changed_block > bases.block offset 0) changed
    union
    select trader, key from triggers where job = any(array(select job_id from sent))
    union
    select trader, key from triggers where parent = any(cast(:openings as bigint[]))
  )
  select found.trader, found.key, found.kind, found.parent, found.asked_place, found.job, sent.hash, found.state, found.place,
    found.price::text, found.set_at, found.price_at, found.changed_block, found.end_cause, found.end_at
  from wanted cross join lateral (
    select * from triggers where chain = cast(:chain as text) and trader = wanted.trader and key = wanted.key limit 1) found
  left join sent on sent.job_id = found.job
  order by found.owner, found.leg`);

/** A trigger that no order of a bot asked for gets its row here: under the id of its native order, or under a number of its own. */
const STORE = statement(`
  insert into triggers as kept (chain, trader, key, owner, origin, leg, kind, price, asked_at, state, place, set_at, price_at,
    changed_block, end_cause, end_at, end_hash)
  select cast(:chain as text), trader, key, coalesce(
      (select owner from triggers known where known.chain = cast(:chain as text) and known.trader = given.trader and known.key = given.key),
      case when key like 'native/%' then substring(key from 8)::bigint end, nextval('entity_ids')),
    split_part(key, '/', 1), 1, kind, price, coalesce(set_at, end_at, 0), state, place, set_at, price_at, changed_block, end_cause, end_at, end_hash
  from jsonb_to_recordset(cast(:rows as jsonb)) as given(trader text, key text, kind text, state text, place text, price numeric,
    set_at bigint, price_at bigint, changed_block bigint, end_cause text, end_at bigint, end_hash text)
  on conflict (chain, trader, key) do update set state = excluded.state, place = excluded.place, price = excluded.price,
    set_at = case when excluded.state = 'asked' then null else coalesce(excluded.set_at, kept.set_at) end,
    price_at = case when excluded.state = 'asked' then null else coalesce(excluded.price_at, kept.price_at) end,
    changed_block = case when excluded.state = 'asked' then null else coalesce(excluded.changed_block, kept.changed_block) end,
    end_cause = excluded.end_cause, end_at = excluded.end_at, end_hash = excluded.end_hash`);

const STORE_BASES = statement(`
  insert into trigger_bases (chain, trader, block_number, standing)
  select cast(:chain as text), trader, block, standing
  from jsonb_to_recordset(cast(:rows as jsonb)) as given(trader text, block bigint, standing text)
  on conflict (chain, trader, block_number) do update set standing = excluded.standing`);

/** The newest of those that no reorganisation reaches stays. */
const FORGET_OLD_BASES = statement(`
  delete from trigger_bases old where old.chain = cast(:chain as text) and old.trader = any(cast(:traders as text[]))
    and old.block_number < (
      select max(final.block_number) from trigger_bases final join chain_cursors on chain_cursors.chain = final.chain
      where final.chain = old.chain and final.trader = old.trader and final.block_number <= chain_cursors.block_number - cast(:kept as bigint))`);

const FORGET_BASES = statement('delete from trigger_bases where chain = cast(:chain as text) and block_number > cast(:block as bigint)');

const FORGET_BASES_OF = statement(`
  delete from trigger_bases
  where chain = cast(:chain as text) and trader = any(cast(:traders as text[])) and block_number > cast(:block as bigint)`);
