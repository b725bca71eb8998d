import type { Knex } from 'knex';
import { comparePlaces, isFillAction, isWithdrawal, type ChainEvent, type OrderKey } from '../../domain/chain-event.js';
import type { Address, Hex } from '../../types.js';
import {
  logKey,
  tradeRefKey,
  type ChainCursor,
  type Checkpoint,
  type KnownTag,
  type OrderRef,
  type TakenBack,
  type TrackingStore,
  type TrackingUnit,
  type TradeRef,
  type UnloggedWork,
} from '../../ports/stores/tracking.js';
import { ask, inSteps, type Question, type Statement, type Steps, type Values } from './statement.js';
import { followerName, type LeaseKeeper } from './lease-keeper.js';
import {
  appending,
  checkpointRows,
  eventKey,
  grouped,
  minuteRows,
  orderRefs,
  ownEventKey,
  positionRows,
  readEvent,
  readPosition,
  referralRows,
  saving,
  storedOrder,
  tradeRefs,
  type AppendedRow,
  type OrderRow,
} from './tracking-rows.js';
import * as sql from './tracking-sql.js';
import { KNOWN_EVENTS, PASS, WAITING } from './tracking-sql.js';
import type { ChainSlug } from '../../chains/chains.js';
import { isLevelEvent } from '../../domain/order-machine.js';
import { journalStatements } from './journal-rows.js';
import { createContractUnit } from './contract-store.js';
import { createNetPositionUnit } from './net-position-unit.js';
import { createTriggerUnit } from './trigger-fold.js';

export interface TrackingStoreParts {
  readonly db: Knex;
  readonly leases: LeaseKeeper;
}

export function createTrackingStore({ db, leases }: TrackingStoreParts): TrackingStore {
  return {
    cursor: async (chain) =>
      readCursor(
        await db<CursorRow>('chain_cursors')
          .where({ chain } as never)
          .first(),
      ),
    async checkpoints(chain, below, limit) {
      const rows = await db<{ block_number: bigint; block_hash: Hex }>('chain_checkpoints')
        .where({ chain } as never)
        .andWhere('block_number', '<', below)
        .orderBy('block_number', 'desc')
        .limit(limit);
      return rows.map(({ block_number, block_hash }) => ({ number: block_number, hash: block_hash }));
    },
    async knownTrades(chain, refs) {
      if (refs.length === 0) return new Set();
      const { rows } = await db.raw<{ rows: { trader: Address; trade_index: bigint }[] }>(
        `select positions.trader, positions.trade_index from positions
         join jsonb_to_recordset(:refs::jsonb) as wanted(trader text, trade_index bigint)
           on wanted.trader = positions.trader and wanted.trade_index = positions.trade_index
         where chain = :chain and state is not null`,
        { chain, refs: tradeRefs(refs) },
      );
      return new Set(rows.map(({ trader, trade_index }) => tradeRefKey({ trader, tradeIndex: Number(trade_index) })));
    },
    async isBackfilled(chain, trader) {
      // With a start block of 0 nothing is older than the index.
      const { rows } = await db.raw<{ rows: [{ is_backfilled: boolean }] }>(
        `select exists (select from backfilled_traders where chain = :chain and trader = :trader)
           or exists (select from chain_cursors where chain = :chain and start_block = 0) as is_backfilled`,
        { chain, trader },
      );
      return rows[0].is_backfilled;
    },
    async knownLogs(chain, places) {
      if (places.length === 0) return new Set();
      const rows = await ask<{ event_key: string }>(db, KNOWN_EVENTS, { chain, keys: places.map(logKey) });
      return new Set(rows.map(({ event_key }) => event_key));
    },
    async pass(chain, from, { number, hash }, passed, upToBlock) {
      const given = [...passed.filter((block) => block.number !== number), { number, hash }];
      const [row] = await ask<UnloggedWork & { moved: boolean }>(db, PASS, {
        chain,
        number,
        hash,
        fromNumber: from.number,
        fromHash: from.hash,
        passed: checkpointRows(given),
        upToBlock,
      });
      return row?.moved === true ? { unanswered: row.unanswered, sent: row.sent } : null;
    },
    async waiting(chain, upToBlock) {
      const [row] = await ask<UnloggedWork>(db, WAITING, { chain, upToBlock });
      return row ?? { unanswered: false, sent: false };
    },
    async unanswered(chain, upToBlock) {
      const rows = await db<{ trader: Address; order_key: OrderKey; requested_block: bigint }>('orders')
        .where({ chain, status: 'pending' } as never)
        .andWhere('requested_block', '<=', upToBlock)
        .orderBy('requested_block')
        .select('trader', 'order_key', 'requested_block');
      return rows.map(({ trader, order_key, requested_block }) => ({ trader, orderKey: order_key, requestedBlock: requested_block }));
    },
    change: <Result>(chain: Parameters<TrackingStore['cursor']>[0], work: (unit: TrackingUnit) => Promise<Result>) =>
      inSteps(db, (steps) => work(createTrackingUnit(steps, chain))),
    lease: (chain, noLongerWanted) => leases.lease(followerName(chain), noLongerWanted),
  };
}

/** Checkpoints further below the head than this are deleted: no reorganisation goes that deep. */
const KEPT_CHECKPOINTS = 2_000n;

interface CursorRow {
  start_block: bigint;
  block_number: bigint;
  block_hash: `0x${string}` | null;
}

const readCursor = (row: CursorRow | undefined): ChainCursor | null =>
  row === undefined ? null : { startBlock: row.start_block, number: row.block_number, hash: row.block_hash };

interface TagRow extends Omit<KnownTag, 'orderId'> {
  readonly order_id: bigint;
}

interface PositionRow {
  id: bigint;
  trader: Address;
  trade_index: bigint;
  state: string | null;
}

interface OrphanRow {
  readonly id: bigint;
  readonly trader: Address;
  readonly order_id: bigint | null;
  readonly order_key: OrderKey | null;
  readonly trade_index: bigint | null;
  readonly is_fill: boolean;
  readonly event: string;
}

interface UncountedRow {
  readonly id: bigint;
  readonly orphaned: boolean;
  readonly event: string;
}

const tradeRefOf = ({ trader, trade_index }: PositionRow): TradeRef => ({ trader, tradeIndex: Number(trade_index) });

function createTrackingUnit(steps: Steps, chain: ChainSlug): TrackingUnit {
  const rows = <Row>(asked: Statement, values: Values): Promise<Row[]> => steps.ask<Row>(asked, { chain, ...values });
  const leave = (asked: Statement, values: Values): void => steps.leave({ asked, values: { chain, ...values } });
  const { forgetAbove, ...contract } = createContractUnit(rows, leave);
  const { forgetBasesAbove, ...triggers } = createTriggerUnit({ rows, leave });

  return {
    ...contract,
    ...createNetPositionUnit(rows, leave),
    ...triggers,
    cursor: async () => readCursor((await rows<CursorRow>(sql.CURSOR, {}))[0]),
    setCursor(cursor, passed = []) {
      steps.leave(...movingTo(chain, cursor, passed));
    },
    async orders({ refs, ids }) {
      if (refs.length + ids.length === 0) return [];
      return (await rows<OrderRow>(sql.LOCK_ORDERS, { refs: orderRefs(refs), ids })).map(storedOrder);
    },
    async tags(tags) {
      if (tags.length === 0) return [];
      const found = await rows<TagRow>(sql.SELECT_TAGS, { tags });
      return found.map(({ order_id, ...tag }) => ({ ...tag, orderId: order_id }));
    },
    async newOrderIds(count) {
      if (count === 0) return [];
      return (await rows<{ id: bigint }>(sql.NEW_IDS, { count })).map(({ id }) => id);
    },
    async positions(refs) {
      if (refs.length === 0) return new Map();
      const found = await rows<PositionRow>(sql.SELECT_POSITIONS, { refs: tradeRefs(refs) });
      return new Map(found.map((row) => [tradeRefKey(tradeRefOf(row)), readPosition(row.state)]));
    },
    async unknown(events) {
      if (events.length === 0) return [];
      const found = await rows<{ event_key: string }>(sql.KNOWN_EVENTS, { keys: events.map(eventKey) });
      const known = new Set(found.map(({ event_key }) => event_key));
      return events.filter((event) => !known.has(eventKey(event)));
    },
    async append(events) {
      const keyed = events.map((linked) => ({ ...linked, key: keyOf(linked) }));
      if (keyed.length === 0) return [];
      const added = appending(chain, keyed);
      // Only fills need the id of their event, so other events are queued without waiting.
      if (!keyed.some(({ event }) => isFill(event))) {
        steps.leave(added);
        return [];
      }
      const ids = new Map((await steps.ask<AppendedRow>(added.asked, added.values)).map(({ id, event_key }) => [event_key, id]));
      return keyed.flatMap(({ event, orderId, key }) => {
        const id = ids.get(key);
        return id === undefined ? [] : [{ id, event, orderId }];
      });
    },
    moveEvents({ trader, orderKey }, orderId) {
      leave(sql.MOVE_EVENTS, { trader, orderKey, orderId });
    },
    async orphanAbove(block) {
      leave(sql.UNMARK_BACKFILLED, { block });
      leave(sql.FORGET_REFERRALS, { block });
      forgetAbove(block);
      forgetBasesAbove(block);
      return takenBack(await rows<OrphanRow>(sql.ORPHAN, { block }));
    },
    async eventsOfOrders(ids) {
      const found = ids.length === 0 ? [] : await rows<{ of_id: bigint; event: string }>(sql.EVENTS_OF_ORDERS, { ids });
      return grouped(found, ({ of_id }) => of_id);
    },
    async eventsOfTrades(refs) {
      const found = refs.length === 0 ? [] : await rows<{ event: string }>(sql.EVENTS_OF_TRADES, { refs: tradeRefs(refs) });
      return grouped(found, (_row, { trader, tradeIndex }) => tradeRefKey({ trader, tradeIndex: tradeIndex ?? -1 }));
    },
    saveOrders(orders) {
      steps.leave(...saving(chain, orders));
    },
    noteHashes(seen) {
      const given = seen.map(({ orderId, hash, at }) => ({ order_id: orderId.toString(), hash, seen_at: at }));
      if (given.length > 0) leave(sql.NOTE_HASHES, { rows: JSON.stringify(given) });
    },
    async savePositions(changes) {
      if (changes.length === 0) return [];
      const stored = await rows<PositionRow>(sql.SAVE_POSITIONS, { rows: positionRows(changes) });
      return stored.map((row) => ({ ...tradeRefOf(row), id: row.id, position: readPosition(row.state) }));
    },
    recordReferrals(referrals) {
      if (referrals.length > 0) leave(sql.RECORD_REFERRALS, { rows: referralRows(referrals) });
    },
    async uncountedTrades(limit) {
      const found = await rows<UncountedRow>(sql.UNCOUNTED, { limit });
      return found.flatMap(({ id, orphaned, event }) => {
        const executed = readEvent(event);
        return executed.kind === 'executed' ? [{ id, executed, isOrphaned: orphaned }] : [];
      });
    },
    countTrades(ids, minutes) {
      leave(sql.MARK_COUNTED, { ids });
      if (minutes.length > 0) leave(sql.ADD_TO_MINUTES, { rows: minuteRows(minutes) });
    },
    markBackfilled(trader, block) {
      leave(sql.MARK_BACKFILLED, { trader, block });
    },
    publish(at, entries) {
      steps.leave(...journalStatements(chain, at, entries));
    },
  };
}

/** Deletes checkpoints that are too deep, and those above the cursor, which are on another branch. */
function movingTo(chain: ChainSlug, { startBlock, number, hash }: ChainCursor, passed: readonly Checkpoint[]): Question[] {
  const lowest = number - KEPT_CHECKPOINTS;
  const wanted = hash === null ? passed : [...passed.filter((block) => block.number !== number), { number, hash }];
  const kept = wanted.filter((block) => block.number >= lowest);
  return [
    { asked: sql.SET_CURSOR, values: { chain, startBlock, number, hash } },
    { asked: sql.FORGET_CHECKPOINTS, values: { chain, lowest, number } },
    ...(kept.length === 0 ? [] : [{ asked: sql.KEEP_CHECKPOINTS, values: { chain, passed: checkpointRows(kept) } }]),
  ];
}

/** Events whose id is used in the journal. */
const isFill = (event: ChainEvent): boolean => event.kind === 'executed' && (isFillAction(event.action) || isWithdrawal(event));

/** A reverted transaction has no log, so it is keyed by transaction and block; derived TP/SL events are keyed by their order. */
function keyOf({ event, orderId }: { readonly event: ChainEvent; readonly orderId: bigint | null }): string {
  const { blockHash, txHash, logIndex } = event.place;
  const own = (place: string): string => ownEventKey(orderId ?? 0n, event.kind, place);
  if (event.kind === 'reverted' || event.kind === 'settled') return own(`${blockHash ?? ''}/${txHash ?? ''}`);
  return isLevelEvent(event) ? own(`${blockHash ?? ''}/${txHash ?? ''}/${logIndex ?? ''}`) : eventKey(event);
}

function takenBack(found: readonly OrphanRow[]): TakenBack {
  const orderIds = new Set<bigint>();
  const trades = new Map<string, TradeRef>();
  const places: OrderRef[] = [];
  const fills: { id: bigint; executed: TakenBack['fills'][number]['executed'] }[] = [];
  const traders = new Set<Address>();
  const events: ChainEvent[] = [];
  for (const { id, trader, order_id, order_key, trade_index, is_fill, event: text } of found) {
    if (order_id !== null && order_id !== 0n) orderIds.add(order_id);
    else if (order_id === null && order_key !== null) places.push({ trader, orderKey: order_key });
    const ref = trade_index === null ? null : { trader, tradeIndex: Number(trade_index) };
    if (ref) trades.set(tradeRefKey(ref), ref);
    const event = readEvent(text);
    traders.add(trader);
    if (ref) events.push(event);
    if (event.kind === 'executed' && (is_fill || isWithdrawal(event))) fills.push({ id, executed: event });
  }
  return {
    orderIds: [...orderIds],
    places,
    trades: [...trades.values()],
    fills,
    traders: [...traders],
    events: events.sort((a, b) => comparePlaces(a.place, b.place)),
  };
}
