import { isFillAction, type ChainEvent } from '../../domain/chain-event.js';
import { isLive, type Order } from '../../domain/order.js';
import type { PositionState } from '../../domain/position.js';
import type { Referral } from '../../domain/referral.js';
import { logKey, type Checkpoint, type LinkedEvent, type OrderRef, type StoredOrder, type TradeRef } from '../../ports/stores/tracking.js';
import { decodeExact, encodeExact } from './statement.js';

/** Rows are sent as one JSON document, so that a batch of any size is one statement. */

/** Events from logs are keyed by block, transaction and log index; others by subject, kind and block. */
export function eventKey({ place, kind, trader, orderKey, tradeIndex }: ChainEvent): string {
  const { blockHash, txHash, logIndex, blockNumber } = place;
  return logIndex === null || blockHash === null || txHash === null
    ? `${trader}/${orderKey ?? tradeIndex ?? ''}/${kind}/${blockNumber}`
    : logKey({ blockHash, txHash, logIndex });
}

/** Off-chain events of our orders are keyed by order, kind and a number or hash. */
export const ownEventKey = (orderId: bigint, kind: ChainEvent['kind'], number: number | string): string =>
  `order:${orderId}/${kind}/${number}`;

export interface KeyedEvent extends LinkedEvent {
  readonly key: string;
}

export const eventRows = (events: readonly KeyedEvent[]): string =>
  JSON.stringify(
    events.map(({ event, orderId, key }, ord) => ({
      ord,
      event_key: key,
      trader: event.trader,
      kind: event.kind,
      order_key: event.orderKey,
      order_id: orderId?.toString() ?? null,
      trade_index: event.tradeIndex,
      block_number: event.place.blockNumber.toString(),
      log_index: event.place.logIndex ?? -1,
      is_fill: event.kind === 'executed' && isFillAction(event.action),
      event: encodeExact(event),
    })),
  );

export const orderRows = (orders: readonly StoredOrder[]): string =>
  JSON.stringify(
    orders.map(({ id, trader, orderKey, firstKey, agent, repeatOf, order }) => ({
      id: id.toString(),
      trader,
      order_key: orderKey,
      first_key: firstKey,
      agent,
      repeat_of: repeatOf?.toString() ?? null,
      client_id: order?.clientId ?? null,
      status: order?.status ?? null,
      is_live: order !== null && isLive(order),
      requested_block: order?.requestedBlock?.toString() ?? null,
      expires_at: order?.expiresAt ?? null,
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

export const referralRows = (referrals: readonly Referral[]): string =>
  JSON.stringify(
    referrals.map(({ kind, beneficiary, trader, volumeUsd, amountGns, amountUsd, place }) => ({
      event_key: logKey(place),
      block_number: place.blockNumber.toString(),
      kind,
      beneficiary,
      trader,
      volume_usd: volumeUsd.toString(),
      amount_gns: amountGns.toString(),
      amount_usd: amountUsd.toString(),
      at: place.at,
    })),
  );

export const orderRefs = (refs: readonly OrderRef[]): string =>
  JSON.stringify(refs.map(({ trader, orderKey }) => ({ trader, order_key: orderKey })));

export const tradeRefs = (refs: readonly TradeRef[]): string =>
  JSON.stringify(refs.map(({ trader, tradeIndex }) => ({ trader, trade_index: tradeIndex })));

/** Reads only documents that these functions wrote. */
export const readEvent = (text: string): ChainEvent => decodeExact(text) as ChainEvent;
export const readOrder = (text: string | null): Order | null => (text === null ? null : (decodeExact(text) as Order));
export const readPosition = (text: string | null): PositionState | null => (text === null ? null : (decodeExact(text) as PositionState));

export const checkpointRows = (passed: readonly Checkpoint[]): string =>
  JSON.stringify(passed.map(({ number, hash }) => ({ block_number: number.toString(), block_hash: hash })));
