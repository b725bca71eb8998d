import { isFillAction, type ChainEvent } from '../../domain/chain-event.js';
import { isLive, type Order } from '../../domain/order.js';
import type { PositionState } from '../../domain/position.js';
import type { OrderRef, TradeRef } from '../../tracking/tracking-store.js';
import { decodeExact, encodeExact } from './exact-json.js';

/** Rows travel to the database as one JSON document, so that a batch is one statement whatever its size. */

/** A log is known by its block, transaction and number; what no log tells by whom it is about, its kind and its block. */
export function eventKey({ place, kind, trader, orderKey, tradeIndex }: ChainEvent): string {
  const { blockHash, txHash, logIndex, blockNumber } = place;
  return logIndex === null
    ? `${trader}/${orderKey ?? tradeIndex ?? ''}/${kind}/${blockNumber}`
    : `${blockHash ?? ''}/${txHash ?? ''}/${logIndex}`;
}

export const eventRows = (events: readonly ChainEvent[]): string =>
  JSON.stringify(
    events.map((event, ord) => ({
      ord,
      event_key: eventKey(event),
      trader: event.trader,
      kind: event.kind,
      order_key: event.orderKey,
      trade_index: event.tradeIndex,
      block_number: event.place.blockNumber.toString(),
      log_index: event.place.logIndex ?? -1,
      is_fill: event.kind === 'executed' && isFillAction(event.action),
      event: encodeExact(event),
    })),
  );

export const orderRows = (changes: readonly (OrderRef & { readonly order: Order | null })[]): string =>
  JSON.stringify(
    changes.map(({ trader, orderKey, order }, ord) => ({
      ord,
      trader,
      order_key: orderKey,
      status: order?.status ?? null,
      is_live: order !== null && isLive(order),
      requested_block: order?.requestedBlock?.toString() ?? null,
      state: order === null ? null : encodeExact(order),
    })),
  );

export const positionRows = (changes: readonly (TradeRef & { readonly position: PositionState | null })[]): string =>
  JSON.stringify(
    changes.map(({ trader, tradeIndex, position }, ord) => ({
      ord,
      trader,
      trade_index: tradeIndex,
      is_open: position?.isOpen ?? false,
      state: position === null ? null : encodeExact(position),
    })),
  );

export const orderRefs = (refs: readonly OrderRef[]): string =>
  JSON.stringify(refs.map(({ trader, orderKey }) => ({ trader, order_key: orderKey })));

export const tradeRefs = (refs: readonly TradeRef[]): string =>
  JSON.stringify(refs.map(({ trader, tradeIndex }) => ({ trader, trade_index: tradeIndex })));

/** Only what these functions wrote is ever read back. */
export const readEvent = (text: string): ChainEvent => decodeExact(text) as ChainEvent;
export const readOrder = (text: string | null): Order | null => (text === null ? null : (decodeExact(text) as Order));
export const readPosition = (text: string | null): PositionState | null => (text === null ? null : (decodeExact(text) as PositionState));
