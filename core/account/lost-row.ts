import type { Order } from '../domain/order.js';
import type { CommitLoss } from '../ports/stores/continuity.js';

/** Times of blocks are whole seconds, and their clocks differ from ours. */
const CLOCKS_MS = 15_000;
/** How far back a loss of unknown length is taken to reach here. */
const UNKNOWN_MS = 86_400_000;

const NOTE =
  'Read from the chain after the database lost what it had stored at that time. If it was placed through this service, its former id, its client id and its agent are not known any more.';

/** For an order of the time that the database has lost, which came back from the chain; null for any other. */
export function lostRowNote(
  { createdAt, clientId, asked }: Pick<Order, 'createdAt' | 'clientId' | 'asked'>,
  loss: Pick<CommitLoss, 'lostFrom' | 'detectedAt'> | null,
): string | null {
  // It was prepared here, so its row was not lost.
  if (loss === null || clientId !== null || asked !== undefined) return null;
  const from = (loss.lostFrom ?? loss.detectedAt - UNKNOWN_MS) - CLOCKS_MS;
  return createdAt >= from && createdAt <= loss.detectedAt + CLOCKS_MS ? NOTE : null;
}
