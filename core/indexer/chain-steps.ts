import type { ChainEvent } from '../domain/chain-event.js';
import { minutesOf } from '../domain/market-minute.js';
import { tradesMentioned } from '../domain/interpret-logs.js';
import { referralsIn } from '../domain/referral.js';
import type { Gateway, Venue } from '../gateway.js';
import type { LogRange } from '../ports/chain.js';
import type { BlockHead } from '../types.js';
import { applyFresh, applyLate, revertAbove } from './apply-events.js';
import {
  merge,
  NO_CHANGES,
  type Changes,
  type ChainCursor,
  type Checkpoint,
  type NewJournalEntry,
  type TrackingUnit,
  type UnloggedWork,
} from '../ports/stores/tracking.js';
import { findTrades, interpretRange, precisionsOf, readInputs } from './interpret-range.js';
import { refreshStanding } from './contract-standing.js';
import type { TransactionReceipt } from '../domain/diamond-log.js';
import { hashesOf, tradesAfter, withReceipts, type ReadRange } from './unread-transactions.js';
import { overlookedLevel } from './link-levels.js';
import { foldStoredNets, sizeUnitsOf } from './net-positions.js';

/** The steps of a follower. Each is one transaction that commits only if the stored cursor still equals the given one. */

/** Another replica has moved the chain's cursor, so the range that was read is stale. */
export class CursorMovedError extends Error {
  override readonly name = 'CursorMovedError';
}

const samePlace = (a: ChainCursor | null, b: ChainCursor | null): boolean => a?.number === b?.number && a?.hash === b?.hash;

export async function requireCursor(unit: TrackingUnit, cursor: ChainCursor): Promise<void> {
  const stored = await unit.cursor();
  const isFirst = stored === null && cursor.number < cursor.startBlock;
  if (!isFirst && !samePlace(stored, cursor)) throw new CursorMovedError();
}

interface Ingested {
  readonly cursor: ChainCursor;
  /** Null where it has to be asked for. */
  readonly unlogged: UnloggedWork | null;
}

/** Ingests the blocks that follow the cursor. */
export async function ingest(gateway: Gateway, venue: Venue, cursor: ChainCursor, given: LogRange): Promise<Ingested> {
  const range = await withReceipts(venue, given);
  const { blocks, logs, unread } = range;
  const last = blocks.at(-1);
  if (!last) return { cursor, unlogged: null };
  const next = { startBlock: cursor.startBlock, number: last.number, hash: last.hash };
  if (logs.length === 0 && isPlainAdvance(cursor, next)) {
    const unlogged = await gateway.store.tracking.pass(venue.definition.slug, cursor, next, blocks, unansweredUpTo(venue, next));
    if (unlogged === null) throw new CursorMovedError();
    return { cursor: next, unlogged };
  }
  const units = sizeUnitsOf(venue);
  const mentioned = tradesMentioned(logs);
  const [found, inputs, after] = await Promise.all([
    foundBefore(gateway, venue, mentioned, blocks),
    readInputs(venue, range),
    tradesAfter(gateway, venue, unread),
  ]);
  await change(gateway, venue, cursor, async (unit) => {
    const before = found.length === 0 ? NO_CHANGES : await applyFresh(unit, found, { units });
    const known = await unit.positions(mentioned);
    const events = [...interpretRange(logs, known, precisionsOf(venue), hashesOf(unread)), ...after];
    const done = await applyFresh(unit, events, { inputs, units });
    noteContract(unit, range);
    unit.setCursor(next, blocks);
    return { block: next.number, changes: merge(before, done) };
  });
  await refreshIfNoted(gateway, venue, range);
  return { cursor: next, unlogged: null };
}

/** What is kept besides orders and positions. */
function noteContract(unit: TrackingUnit, { logs, unread }: Pick<ReadRange, 'logs' | 'unread'>): void {
  unit.recordReferrals(referralsIn(logs));
  unit.keepUnread(unread);
  unit.noteCuts(logs.flatMap(({ name, place }) => (name === 'DiamondCut' ? [place] : [])));
}

/** What was stored of the contract applies here at once; other replicas see it with their next look. */
async function refreshIfNoted(gateway: Gateway, venue: Venue, { logs, unread }: Pick<ReadRange, 'logs' | 'unread'>): Promise<void> {
  if (unread.length > 0 || logs.some(({ name }) => name === 'DiamondCut')) await refreshStanding(gateway, venue);
}

/** Only `setCursor` stores the first cursor and deletes old checkpoints, so the first range and, every so many blocks, an empty one take the full path. */
const TIDY_EVERY = 128n;
const isPlainAdvance = (from: ChainCursor, to: ChainCursor): boolean =>
  from.number >= from.startBlock && from.hash !== null && from.number / TIDY_EVERY === to.number / TIDY_EVERY;

interface Change {
  /** The cursor's block after the change. */
  readonly block: bigint;
  readonly changes: Changes;
}

/** Runs `work` in one transaction that requires the given cursor, and writes the journal entries of the accounts in the same transaction. */
export async function change(
  gateway: Gateway,
  venue: Venue,
  cursor: ChainCursor,
  work: (unit: TrackingUnit) => Promise<Change>,
): Promise<Changes> {
  const { block, changes } = await gateway.store.tracking.change(venue.definition.slug, async (unit) => {
    await requireCursor(unit, cursor);
    const done = await work(unit);
    if (done.changes.journalEntries.some(isExecution)) await countTrades(unit);
    unit.publish(venue.clock.now(), done.changes.journalEntries);
    return done;
  });
  if (changes.orders.length + changes.positions.length + changes.events.length > 0) gateway.bus.emit('tracked', { venue, block, changes });
  return changes;
}

/** Executions counted in one step: what a database from before the minutes has stored is counted in many short transactions. */
export const COUNTED_AT_ONCE = 500;

/** Adds executions to the minutes of their markets, and takes orphaned ones away. True while there may be more. */
async function countTrades(unit: TrackingUnit): Promise<boolean> {
  const trades = await unit.uncountedTrades(COUNTED_AT_ONCE);
  if (trades.length === 0) return false;
  unit.countTrades(
    trades.map(({ id }) => id),
    minutesOf(trades),
  );
  return trades.length === COUNTED_AT_ONCE;
}

/** Counts executions stored by a release that did not count them, or more than one step does. */
export const countStored = (gateway: Gateway, venue: Venue, cursor: ChainCursor): Promise<boolean> =>
  gateway.store.tracking.change(venue.definition.slug, async (unit) => {
    await requireCursor(unit, cursor);
    return countTrades(unit);
  });

/** Folds the net positions of fills stored by another release; null before the collaterals are loaded, otherwise true while there may be more. */
export async function foldStored(gateway: Gateway, venue: Venue, cursor: ChainCursor): Promise<boolean | null> {
  const units = sizeUnitsOf(venue);
  if (units === null) return null;
  return gateway.store.tracking.change(venue.definition.slug, async (unit) => {
    await requireCursor(unit, cursor);
    return foldStoredNets(unit, units);
  });
}

/** An execution, or its correction after a reorganisation. One that changes no size is counted too: what is not counted counts as a backlog. */
const isExecution = ({ fact }: NewJournalEntry): boolean => (fact.kind === 'correction' ? fact.of : fact).kind === 'fill';

/** Trades opened before the start block are looked up on chain once. */
async function foundBefore(
  gateway: Gateway,
  venue: Venue,
  mentioned: ReturnType<typeof tradesMentioned>,
  blocks: readonly BlockHead[],
): Promise<ChainEvent[]> {
  const first = blocks[0];
  if (mentioned.length === 0 || !first) return [];
  const known = await gateway.store.tracking.knownTrades(venue.definition.slug, mentioned);
  const unknown = mentioned.filter(({ trader, tradeIndex }) => !known.has(`${trader}/${tradeIndex}`));
  return unknown.length === 0 ? [] : findTrades(venue, unknown, first);
}

/**
 * Ingests logs of recent blocks that an earlier read missed: a node behind a balancer may serve a block before its logs. Returns false when
 * the cursor was moved back, because blocks have to be ingested again.
 */
export async function ingestLate(gateway: Gateway, venue: Venue, cursor: ChainCursor, given: LogRange): Promise<boolean> {
  if (given.blocks.at(-1)?.hash !== cursor.hash || given.logs.length === 0) return true;
  const known = await gateway.store.tracking.knownLogs(
    venue.definition.slug,
    given.logs.map(({ place }) => place),
  );
  const range = await withReceipts(venue, given, known);
  const { blocks, logs, unread } = range;
  const inputs = await readInputs(venue, range, known);
  let stands = true;
  const { events } = await change(gateway, venue, cursor, async (unit) => {
    const late = interpretRange(logs, await unit.positions(tradesMentioned(logs)), precisionsOf(venue), hashesOf(unread));
    const overlooked = least(await overlookedLevel(unit, late, inputs), await overlookedOutcome(unit, unread));
    const block = blocks.find(({ number }) => number === overlooked);
    stands = block === undefined;
    if (block) return readAgainFrom(unit, venue, cursor, block);
    noteContract(unit, range);
    return { block: cursor.number, changes: await applyLate(unit, late, { inputs, units: sizeUnitsOf(venue) }) };
  });
  await refreshIfNoted(gateway, venue, range);
  if (events.length > 0) venue.log.warn('chain.late-logs', { events: events.length });
  return stands;
}

/**
 * The first block with an unread transaction that is not kept. The trades that its traders had after it are read when it is ingested: compared
 * with what is stored now, trades of later blocks would count as gone.
 */
async function overlookedOutcome(unit: TrackingUnit, unread: readonly TransactionReceipt[]): Promise<bigint | null> {
  if (unread.length === 0) return null;
  const kept = await unit.keptAmong(unread.map(({ place }) => place));
  return unread.reduce<bigint | null>((first, { place }) => (kept.has(place.txHash) ? first : least(first, place.blockNumber)), null);
}

const least = (a: bigint | null, b: bigint | null): bigint | null => (a === null || (b !== null && b < a) ? b : a);

/** Reverts to before the block as in a reorganisation, so that the follower ingests it and all later blocks again, with the missed logs. */
export async function readAgainFrom(
  unit: TrackingUnit,
  venue: Venue,
  { startBlock, number: from }: ChainCursor,
  block: BlockHead,
): Promise<Change> {
  const next = { startBlock, number: block.number - 1n, hash: block.parentHash };
  const changes = await revertAbove(unit, next.number, sizeUnitsOf(venue));
  unit.setCursor(next);
  venue.log.warn('chain.read-again', { from, to: next.number });
  return { block: next.number, changes };
}

/** After a reorganisation: reverts everything above the last common block. */
export async function revertTo(gateway: Gateway, venue: Venue, cursor: ChainCursor, fork: Checkpoint | null): Promise<ChainCursor> {
  const { startBlock } = cursor;
  const next: ChainCursor = fork === null ? { startBlock, number: startBlock - 1n, hash: null } : { startBlock, ...fork };
  const { orders } = await change(gateway, venue, cursor, async (unit) => {
    const changes = await revertAbove(unit, next.number, sizeUnitsOf(venue));
    unit.setCursor(next);
    return { block: next.number, changes };
  });
  await refreshStanding(gateway, venue);
  venue.log.warn('chain.reorganised', { from: cursor.number, to: next.number, orders: orders.length });
  return next;
}

/** Times out requests that the oracle has not answered within `blocks`; the contract emits no log for this. */
export async function timeOut(gateway: Gateway, venue: Venue, cursor: ChainCursor, blocks: bigint): Promise<void> {
  const due = await gateway.store.tracking.unanswered(venue.definition.slug, cursor.number - blocks);
  if (due.length === 0) return;
  const moments = new Map(
    (await venue.chain.blocks(due.map(({ requestedBlock }) => requestedBlock + blocks))).map((block) => [block.number, block]),
  );
  const events = due.map(({ trader, orderKey, requestedBlock }): ChainEvent => {
    const blockNumber = requestedBlock + blocks;
    const at = Number(moments.get(blockNumber)?.timestamp ?? 0n) * 1000;
    return {
      kind: 'timedOut',
      trader,
      orderKey,
      tradeIndex: null,
      place: { blockNumber, blockHash: null, txHash: null, logIndex: null, at },
    };
  });
  await change(gateway, venue, cursor, async (unit) => ({ block: cursor.number, changes: await applyFresh(unit, events) }));
}

/** Requests up to this block have timed out, unless they were answered. */
export const unansweredUpTo = (venue: Venue, { number }: Checkpoint | ChainCursor): bigint => number - (timeoutBlocks(venue) ?? 0n);

/** How many blocks the oracle has to answer; null before the contract parameters are loaded. */
export function timeoutBlocks({ feed }: Venue): bigint | null {
  try {
    return BigInt(feed.config().marketOrdersTimeoutBlocks);
  } catch {
    return null; // no parameters yet; retried with the next block
  }
}
