import type { Order } from '../domain/order.js';
import type { Venue } from '../gateway.js';

/** Fewer blocks than this do not give a reliable block time, because timestamps are whole seconds. */
const MEASURED_BLOCKS = 40n;

export interface WaitingRequest {
  readonly requestedBlock: bigint;
  /** Epoch ms of that block. */
  readonly requestedAt: number;
  readonly timeoutBlocks: bigint;
}

interface Pace {
  readonly head: { readonly number: bigint; readonly timestamp: bigint };
  /** Usual block time of the chain. */
  readonly expectedBlockMs: number;
  readonly now: number;
}

/** Epoch ms at which an unanswered request becomes reclaimable, estimated with the block time since the request. */
export function expectedReclaim(
  { requestedBlock, requestedAt, timeoutBlocks }: WaitingRequest,
  { head, expectedBlockMs, now }: Pace,
): number {
  const left = requestedBlock + timeoutBlocks - head.number;
  if (left <= 0n) return now;
  const passed = head.number - requestedBlock;
  const passedMs = Number(head.timestamp) * 1000 - requestedAt;
  const blockMs = passed >= MEASURED_BLOCKS && passedMs > 0 ? passedMs / Number(passed) : expectedBlockMs;
  return now + Math.ceil(Number(left) * blockMs);
}

/** Whether the contract would already accept a reclaim, independent of the indexer's cursor. */
export function isOverdue(venue: Venue, { requestedBlock, unexplained }: Pick<Order, 'requestedBlock' | 'unexplained'>): boolean {
  const head = venue.state.head?.block.number;
  // The request is closed, and whatever it held was used or paid back.
  return unexplained === undefined && requestedBlock !== null && head !== undefined && head >= requestedBlock + timeoutBlocks(venue);
}

/** The earliest moment to reclaim an order; undefined for one that is not waiting for the oracle. */
export function reclaimableAt(venue: Venue, order: Order): number | undefined {
  if (order.status === 'timed_out') return order.updatedAt;
  const head = venue.state.head?.block;
  if (order.status !== 'pending' || order.requestedBlock === null || order.unexplained !== undefined || !head) return undefined;
  const request = { requestedBlock: order.requestedBlock, requestedAt: order.updatedAt, timeoutBlocks: timeoutBlocks(venue) };
  return expectedReclaim(request, { head, expectedBlockMs: venue.definition.expectedBlockMs, now: venue.clock.now() });
}

const timeoutBlocks = ({ feed }: Venue): bigint => BigInt(feed.config().marketOrdersTimeoutBlocks);
