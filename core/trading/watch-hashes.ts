import type { Reverted } from '../domain/chain-event.js';
import { foldOrder } from '../domain/order-machine.js';
import type { OrderReason } from '../domain/order.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Hex } from '../types.js';
import { change } from '../indexer/chain-steps.js';
import { NO_CHANGES, type ChainCursor } from '../ports/stores/tracking.js';
import { carries } from './find-order.js';
import type { KnownOrder } from '../ports/stores/orders.js';
import type { SeenTransaction } from '../ports/simulation.js';
import { tagsIn } from './encode-intent.js';

const AT_ONCE = 512;
/** Clients may report hashes that do not exist, so each round checks at most this many; the next round continues from there. */
const HASHES_AT_ONCE = 512;
/** Usually the next block's logs show the outcome, so hashes are checked only this often. */
const CHECK_EVERY_MS = 2_000;

type Mined = NonNullable<SeenTransaction['mined']>;
interface Failed {
  readonly hash: Hex;
  readonly transaction: SeenTransaction;
  readonly mined: Mined;
}

/**
 * Checks prepared orders with a reported hash, because a failed transaction leaves no log: at once if a block since the last call contained it
 * without logs (`silent`, null if the blocks were not read completely), otherwise in turn. Only outcomes at or below the cursor count, so that
 * a reorganisation reverts them with everything else.
 */
export async function watchHashes(gateway: Gateway, venue: Venue, cursor: ChainCursor, silent: Inputs | null = null): Promise<void> {
  const { slug } = venue.definition;
  const orders = await ordersToCheck(gateway, venue, silent);
  const seen = await Promise.all(orders.map((order) => checkHashes(venue, cursor, order, silent)));
  const now = venue.clock.now();
  const due = orders.filter(({ order }, at) => seen[at] === 'nothing' && order.expiresAt !== null && order.expiresAt <= now);
  if (due.length > 0)
    await gateway.store.orders.expire(
      slug,
      now,
      due.map(({ id }) => id),
    );
  for (const [at, order] of orders.entries()) {
    const outcome = seen[at];
    if (typeof outcome === 'object') await reject(gateway, venue, cursor, { order, failed: outcome });
  }
}

/** By the hash of the transaction. */
type Inputs = ReadonlyMap<Hex, Hex>;

interface Round {
  readonly at: number;
  /** Id of the last order checked; 0 = the next round starts with the oldest. */
  readonly upTo: bigint;
}

const lastRounds = new WeakMap<Venue, Round>();

async function ordersToCheck(gateway: Gateway, venue: Venue, silent: Inputs | null): Promise<KnownOrder[]> {
  const last = lastRounds.get(venue);
  const isDue = silent === null || !last || venue.clock.now() - last.at >= CHECK_EVERY_MS;
  const [withoutLogs, inTurn] = await Promise.all([
    silent === null ? [] : carriedBy(gateway, venue, silent),
    isDue ? nextInTurn(gateway, venue, last?.upTo ?? 0n) : [],
  ]);
  return [...new Map([...withoutLogs, ...inTurn].map((order) => [order.id, order])).values()];
}

/** A client may report an unrelated hash, so only transactions that contain the order's calldata are checked out of turn. */
async function carriedBy({ store }: Gateway, { definition }: Venue, silent: Inputs): Promise<KnownOrder[]> {
  const tags = [...silent.values()].flatMap(tagsIn);
  const sent = tags.length === 0 ? [] : await store.orders.sentWith(definition.slug, tags);
  return sent.filter((order) => order.hashes.some((hash) => carries(order, silent.get(hash) ?? '0x')));
}

/** Round-robin over all orders, so that many reported hashes of one client do not starve others. */
async function nextInTurn({ store }: Gateway, venue: Venue, after: bigint): Promise<KnownOrder[]> {
  const found = await store.orders.sent(venue.definition.slug, AT_ONCE, after);
  let hashes = 0;
  const end = found.findIndex((order) => (hashes += order.hashes.length) >= HASHES_AT_ONCE);
  const taken = end === -1 ? found : found.slice(0, end + 1);
  const isLast = taken.length === found.length && found.length < AT_ONCE;
  lastRounds.set(venue, { at: venue.clock.now(), upTo: isLast ? 0n : (taken.at(-1)?.id ?? 0n) });
  return taken;
}

/** `wait` = its block is not ingested yet; `nothing` = no failed transaction of the order is known. */
async function checkHashes(
  { chain }: Venue,
  cursor: ChainCursor,
  known: KnownOrder,
  silent: Inputs | null,
): Promise<Failed | 'wait' | 'nothing'> {
  const asked = await Promise.all(known.hashes.map((hash) => chain.outcome(hash)));
  // The transaction is in a block that was read, but this node does not have it yet.
  if (known.hashes.some((hash, at) => asked[at] === null && silent?.has(hash))) return 'wait';
  const outcomes = asked.filter((outcome) => outcome !== null);
  if (outcomes.some(({ blockNumber }) => blockNumber > cursor.number)) return 'wait';
  if (outcomes.every(({ succeeded }) => succeeded)) return 'nothing';
  const found = await Promise.all(known.hashes.map(async (hash) => ({ hash, transaction: await chain.transaction(hash) })));
  const mined = found.flatMap(({ hash, transaction: seen }) => (seen?.mined ? [{ hash, transaction: seen, mined: seen.mined }] : []));
  if (mined.some((one) => one.mined.blockNumber > cursor.number)) return 'wait';
  if (found.some(({ transaction: seen }) => seen?.mined === null)) return 'nothing';
  const failed = mined.filter((one) => !one.mined.succeeded && carries(known, one.transaction.input));
  return failed.at(-1) ?? 'nothing';
}

interface Rejection {
  readonly order: KnownOrder;
  readonly failed: Failed;
}

async function reject(gateway: Gateway, venue: Venue, cursor: ChainCursor, { order: { id, order }, failed }: Rejection): Promise<void> {
  const { hash, mined } = failed;
  const [block] = await venue.chain.blocks([mined.blockNumber]);
  if (block?.hash !== mined.blockHash) return; // reorganised meanwhile; the next round checks again
  const at = Number(block.timestamp) * 1000;
  const place = { blockNumber: mined.blockNumber, blockHash: mined.blockHash, txHash: hash, logIndex: null, at };
  const reason = await reasonOf(venue, failed);
  const event: Reverted = { kind: 'reverted', trader: order.trader, orderKey: null, tradeIndex: null, place, reason };
  await change(gateway, venue, cursor, async (unit) => {
    const [row] = await unit.orders({ refs: [], ids: [id] });
    const after = row?.order ? foldOrder(row.order, event) : null;
    if (!row || after === null || after === row.order) return { block: cursor.number, changes: NO_CHANGES };
    const moved = { ...row, order: after };
    await unit.append([{ event, orderId: id }]);
    unit.saveOrders([moved]);
    const entries = [{ trader: row.trader, fact: { kind: 'order', id, order: after } }] as const;
    return { block: cursor.number, changes: { ...NO_CHANGES, events: [event], orders: [moved], journalEntries: entries } };
  });
}

/** Of all reverts only `Paused` has a reason of its own in the API. */
async function reasonOf({ chain }: Venue, { transaction, mined }: Failed): Promise<OrderReason> {
  const revert = await chain.replay(transaction, mined.blockNumber).catch(() => null);
  return revert?.name === 'Paused' ? 'PAUSED' : 'OTHER';
}
