import type { AgentCaller } from '../access/caller.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Hex } from '../types.js';
import { carries, findOrder, notModifiable } from './find-order.js';
import type { KnownOrder } from '../ports/stores/orders.js';
import type { SeenTransaction } from '../ports/simulation.js';

/** Per order; fee bumps need only a few. */
const MAX_HASHES = 16;
/** How long to wait for the indexer, which is usually a block or two behind the node; then the stored state is returned. */
const FOLLOWED_WITHIN_MS = 5_000;
const LOOK_EVERY_MS = 50;

/**
 * Reports a transaction for an order. This does not change the order's status, which follows from chain events. It makes transactions known
 * that have no events because they are pending or failed.
 */
export async function submitOrder(gateway: Gateway, venue: Venue, caller: AgentCaller, id: string, txHash: Hex): Promise<KnownOrder> {
  const hash = txHash.toLowerCase() as Hex;
  const known = await findOrder(gateway, venue, caller, id);
  const seen = await lookUp(venue, hash);
  const report = { known, hash };
  if (!seen?.mined) return record(gateway, venue, report);
  return seen.mined.succeeded
    ? afterSuccess(gateway, venue, caller, { ...report, seen, block: seen.mined.blockNumber })
    : afterFailure(gateway, venue, caller, { ...report, seen });
}

interface Report {
  readonly known: KnownOrder;
  readonly hash: Hex;
}

async function lookUp({ chain }: Venue, hash: Hex): Promise<SeenTransaction | null> {
  try {
    return await chain.transaction(hash);
  } catch (error) {
    throw new GatewayError('UPSTREAM_UNAVAILABLE', { upstream: 'node' }, { cause: error });
  }
}

/** Not needed for an order that is already on chain. */
async function record({ store }: Gateway, venue: Venue, { known, hash }: Report): Promise<KnownOrder> {
  if (!isWaiting(known) || known.hashes.includes(hash)) return known;
  if (known.hashes.length >= MAX_HASHES) throw notModifiable(venue, known, `${MAX_HASHES} hashes were reported for it already`);
  return store.orders.recordHash(venue.definition.slug, known.id, hash, venue.clock.now());
}

async function afterSuccess(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  { known, hash, seen, block }: Report & { readonly seen: SeenTransaction; readonly block: bigint },
): Promise<KnownOrder> {
  const isIn = await isFollowed(gateway, venue, block);
  const after = await findOrder(gateway, venue, caller, known.id.toString());
  if (!isIn) return record(gateway, venue, { known: after, hash });
  if (!isWaiting(after) && (after.order.txHash === hash || after.hashes.includes(hash) || carries(after, seen.input))) return after;
  throw new GatewayError('SUBMISSION_MISMATCH', { txHash: hash });
}

/**
 * A failed transaction counts only if it contains calldata prepared for the order. A change in place of an order that rests is no part of the
 * order: what failed makes way for the next change.
 */
async function afterFailure(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  { known, hash, seen }: Report & { readonly seen: SeenTransaction },
): Promise<KnownOrder> {
  const isReleased = await gateway.store.orders.releaseChange(venue.definition.slug, known.id, seen.input);
  if (isReleased && known.order.status === 'open') return known;
  if (!carries(known, seen.input)) throw new GatewayError('SUBMISSION_MISMATCH', { txHash: hash });
  await record(gateway, venue, { known, hash });
  return moved(gateway, venue, caller, known.id.toString());
}

const isWaiting = ({ order }: KnownOrder): boolean => order.status === 'prepared' || order.status === 'expired';

/** False when the indexer did not reach the block in time. */
const isFollowed = (gateway: Gateway, venue: Venue, block: bigint): Promise<boolean> =>
  poll(venue, async () => ((await gateway.store.tracking.cursor(venue.definition.slug))?.number ?? -1n) >= block);

async function moved(gateway: Gateway, venue: Venue, caller: AgentCaller, id: string): Promise<KnownOrder> {
  let latest = await findOrder(gateway, venue, caller, id);
  await poll(venue, async () => {
    latest = await findOrder(gateway, venue, caller, id);
    return latest.order.status !== 'prepared';
  });
  return latest;
}

async function poll({ clock }: Venue, holds: () => Promise<boolean>): Promise<boolean> {
  const deadline = clock.now() + FOLLOWED_WITHIN_MS;
  for (;;) {
    if (await holds()) return true;
    if (clock.now() >= deadline) return false;
    await clock.sleep(LOOK_EVERY_MS);
  }
}
