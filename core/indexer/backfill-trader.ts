import { requireListed, type ListedOrders } from '../ports/account-chain.js';
import type { ChainEvent, EventPlace } from '../domain/chain-event.js';
import { figuresOf, lower, type PrecisionLookup } from '../domain/interpret-executions.js';
import { requested, restedAs } from '../domain/interpret-logs.js';
import { foldPosition, type PositionState } from '../domain/position.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Address } from '../types.js';
import { redactText } from '../observability/redact.js';
import { applyFresh, refsOf } from './apply-events.js';
import { change, CursorMovedError } from './chain-steps.js';
import { entryPriceOf, precisionsOf } from './interpret-range.js';
import { sizeUnitsOf } from './net-positions.js';
import { orderRefKey, type ChainCursor, type TrackingUnit } from '../ports/stores/tracking.js';

/**
 * Backfills a trader once: orders and positions opened before the start block are in no log that was read, so they are read from the chain's
 * state on the first request for the trader's orders. After a failure the next request tries again; stored rows are served meanwhile.
 */
export async function backfillTrader(gateway: Gateway, venue: Venue, trader: Address): Promise<void> {
  const { tracking } = gateway.store;
  const { slug } = venue.definition;
  if (await tracking.isBackfilled(slug, trader)) return;
  const cursor = await tracking.cursor(slug);
  if (cursor === null || cursor.number < cursor.startBlock) return;
  try {
    await backfillAt(gateway, venue, trader, cursor).catch((error: unknown) => {
      if (!(error instanceof CursorMovedError)) throw error;
      return backfillLocked(gateway, venue, trader);
    });
  } catch (error) {
    venue.log.warn('chain.trader-not-met', { error: redactText(error instanceof Error ? error.message : String(error)) });
  }
}

/** When blocks arrive faster than the node answers, the state is read inside the transaction, which keeps the cursor from moving. */
async function backfillLocked(gateway: Gateway, venue: Venue, trader: Address): Promise<void> {
  const changes = await gateway.store.tracking.change(venue.definition.slug, async (unit) => {
    const cursor = await unit.cursor();
    if (cursor === null) return null;
    const made = await backfill(unit, venue, trader, { cursor, events: await lookUp(venue, trader, cursor) });
    unit.publish(venue.clock.now(), made.changes.journalEntries);
    return made;
  });
  if (changes !== null) gateway.bus.emit('tracked', { venue, ...changes });
}

async function backfillAt(gateway: Gateway, venue: Venue, trader: Address, cursor: ChainCursor): Promise<void> {
  const events = await lookUp(venue, trader, cursor);
  await change(gateway, venue, cursor, (unit) => backfill(unit, venue, trader, { cursor, events }));
}

interface Read {
  readonly cursor: ChainCursor;
  readonly events: readonly ChainEvent[];
}

async function backfill(unit: TrackingUnit, venue: Venue, trader: Address, { cursor, events }: Read) {
  const changes = await applyFresh(unit, await unseen(unit, events), { units: sizeUnitsOf(venue) });
  unit.markBackfilled(trader, cursor.number);
  return { block: cursor.number, changes };
}

async function lookUp(venue: Venue, trader: Address, cursor: ChainCursor): Promise<ChainEvent[]> {
  const open = requireListed(await venue.chain.openOrders(trader, cursor.number));
  const made = [...open.positions, ...open.resting].map(({ info }) => info.createdBlock);
  const blocks = [...new Set([...made, ...open.pending.map(({ createdBlock }) => createdBlock)])].map(BigInt);
  const times = new Map((await venue.chain.blocks(blocks)).map(({ number, timestamp }) => [number, Number(timestamp) * 1000]));
  const placeOf = (createdBlock: number): EventPlace => ({
    blockNumber: cursor.number,
    blockHash: null,
    txHash: null,
    logIndex: null,
    at: times.get(BigInt(createdBlock)) ?? 0,
  });
  return eventsOf(open, trader, placeOf, precisionsOf(venue));
}

function eventsOf(
  open: ListedOrders,
  trader: Address,
  placeOf: (createdBlock: number) => EventPlace,
  precisionOf: PrecisionLookup,
): ChainEvent[] {
  const positions = open.positions.map(({ trade, info }): ChainEvent => {
    const about = { trader, orderKey: null, tradeIndex: trade.index, place: placeOf(info.createdBlock) };
    const { maxSlippageP, createdBlock } = info;
    return {
      kind: 'found',
      ...about,
      trade: figuresOf(trade),
      isOpen: true,
      slippageP: BigInt(maxSlippageP),
      openedBlock: BigInt(createdBlock),
      ...entryPriceOf(info),
    };
  });
  const figures = new Map(positions.map((event) => [event.tradeIndex, foldPosition(null, event)]));
  const tradeOf = (user: Address, index: number): PositionState | null => (lower(user) === trader ? (figures.get(index) ?? null) : null);
  const resting = open.resting.map(({ trade, info }) => restedAs(trade, BigInt(info.maxSlippageP), placeOf(info.createdBlock)));
  const waiting = open.pending.flatMap((pending) => {
    const event = requested(pending, placeOf(pending.createdBlock), { logs: [], tradeOf, precisionOf });
    return event ? [{ ...event, createdBlock: BigInt(pending.createdBlock) }] : [];
  });
  return [...positions, ...resting, ...waiting];
}

/** Drops events of orders that are already stored; their own events are more precise than the current chain state. */
async function unseen(unit: TrackingUnit, events: readonly ChainEvent[]): Promise<ChainEvent[]> {
  const orders = await unit.orders({ refs: refsOf(events), ids: [] });
  const known = new Set(orders.flatMap(({ trader, orderKey, order }) => (orderKey && order ? [orderRefKey({ trader, orderKey })] : [])));
  return events.filter(({ trader, orderKey }) => orderKey === null || !known.has(orderRefKey({ trader, orderKey })));
}
