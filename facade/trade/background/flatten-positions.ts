import type { AgentCaller } from '../../../core/access/caller.js';
import type { ListedPosition } from '../../../core/ports/stores/account.js';
import { GatewayError } from '../../../core/errors.js';
import type { Gateway, Venue } from '../../../core/gateway.js';
import { closingMark, prepareClose } from '../../../core/trading/close-position.js';
import { placeUnnamed, requireLane } from '../../../core/trading/place-order.js';
import { watchOrders } from '../send/await-orders.js';
import type { ScheduledCancel } from '../../../core/ports/stores/exchange.js';
import type { SignedAction } from '../../../core/ports/stores/relay.js';

/** Lets the relayer re-encode the job before signing: a close of a whole position, at the price of that moment. */
export interface FlattenJobContext {
  readonly kind: 'flatten';
  readonly tradeIndex: number;
  readonly expectedPrice: bigint;
}

interface Flattening {
  readonly caller: AgentCaller;
  readonly signed: SignedAction;
  readonly cancel: ScheduledCancel;
  readonly holdMs: number;
}

/**
 * Closes at the market what the trader of a schedule holds. A position with a pending order is left to that order, so that no replica
 * closes it twice. True when no position is left.
 */
export async function flattenPositions(gateway: Gateway, venue: Venue, flattening: Flattening): Promise<boolean> {
  const { caller, cancel, holdMs } = flattening;
  const watch = watchOrders(gateway, venue, caller.trader);
  try {
    const held = await positionsMeant(gateway, cancel);
    const live = await gateway.store.account.liveOrders(cancel.chain, caller.trader);
    const busy = new Set(live.flatMap(({ order: { status, tradeIndex } }) => (status === 'open' ? [] : [tradeIndex])));
    const free = held.filter(({ tradeIndex }) => !busy.has(tradeIndex));
    if (held.length > 0) venue.log.info('relay.schedule-flattens', { trader: caller.trader, positions: held.length, asked: free.length });
    const asked = await Promise.all(free.map((position) => closeOne(gateway, venue, flattening, position)));
    await watch.over(
      asked.flatMap((id) => id ?? []),
      holdMs,
    );
    return free.length === held.length && asked.every((id) => id !== null && watch.state(id)?.status === 'filled');
  } finally {
    watch.stop();
  }
}

/** Positions opened after the schedule fired are excluded, unless they were ordered before. */
export async function positionsMeant(
  { store }: Pick<Gateway, 'store'>,
  { chain, trader, dueAt }: Pick<ScheduledCancel, 'chain' | 'trader' | 'dueAt'>,
): Promise<readonly ListedPosition[]> {
  const held = await store.account.openPositions(chain, trader);
  const late = held.filter(({ position }) => position.openedAt > dueAt).map(({ tradeIndex }) => tradeIndex);
  if (late.length === 0) return held;
  const meant = new Set(await store.exchange.orderedBefore(chain, trader, late, dueAt));
  return held.filter(({ tradeIndex }) => !late.includes(tradeIndex) || meant.has(tradeIndex));
}

/** Null if it cannot be closed now: the next round retries. */
async function closeOne(
  gateway: Gateway,
  venue: Venue,
  { caller, signed }: Flattening,
  { id, tradeIndex, position }: ListedPosition,
): Promise<bigint | null> {
  try {
    requireLane(venue, caller);
    const expectedPrice = closingMark(venue, position);
    const checked = await prepareClose(gateway, venue, caller, id.toString(), { expectedPrice });
    const context: FlattenJobContext = { kind: 'flatten', tradeIndex, expectedPrice };
    const { oid } = await placeUnnamed(gateway, venue, caller, {
      legs: [{ ...checked, context }],
      relayed: { action: signed, purpose: 'scheduled-cancel', record: null },
    });
    return oid;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    venue.log.warn('relay.schedule-not-flattened', { trader: caller.trader, position: id, error });
    return null;
  }
}
