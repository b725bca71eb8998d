import type { ChainEvent, Executed, Replaced, Requested, Rested, Guarded } from './chain-event.js';
import { TYPE_OF_LEVEL } from './level.js';
import { step, type OrderEvent } from './order-machine.js';
import type { Order, OrderFill, OrderReason } from './order.js';

/** An order is the fold of its events. null = no event has created it, or a reorganisation reverted it. */
export function foldOrder(order: Order | null, event: ChainEvent): Order | null {
  const known = order ?? initialOrder(event);
  const happened = orderEventOf(event);
  return known === null || happened === null ? known : step(known, happened);
}

/** An order not prepared here begins with its first event; one whose beginning was not read is derived from its execution. */
function initialOrder(event: ChainEvent): Order | null {
  switch (event.kind) {
    case 'prepared':
      return event.order;
    case 'requested':
      return draft(event, { type: 'market', action: event.action });
    case 'rested':
      return draft(event, { type: event.type, action: 'open' });
    case 'guarded':
      return draft(event, { type: TYPE_OF_LEVEL[event.level], action: 'close' });
    case 'executed':
      return orderFromExecution(event);
    default:
      return null;
  }
}

function orderFromExecution(event: Executed): Order | null {
  if (event.orderKey === null) return null;
  const isResting = event.orderKey.startsWith('resting:');
  const action = ORDER_ACTION[event.action];
  const order = draft(
    { ...event, slippageP: 0n, terms: { ...event.terms, collateralAmount: event.collateral } },
    { type: isResting ? 'limit' : 'market', action },
  );
  const { at, blockNumber } = event.place;
  const { leverage, collateralAmount, sizeCollateral, sizeToken, price, tp, sl, slippageP } = order;
  const asked = { leverage, collateralAmount, sizeCollateral, sizeToken, price, tp, sl, slippageP };
  return step(order, { kind: isResting ? 'rested' : 'requested', at, txHash: null, block: blockNumber, asked });
}

const ORDER_ACTION = {
  open: 'open',
  close: 'close',
  increase: 'increase',
  decrease: 'decrease',
  leverage: 'leverage',
  withdraw: 'withdraw',
  tp: 'close',
  sl: 'close',
  liquidation: 'close',
} as const satisfies Record<Executed['action'], Order['action']>;

type Beginning = Pick<
  Requested | Rested | Guarded,
  'trader' | 'tradeIndex' | 'terms' | 'sizeCollateral' | 'sizeToken' | 'slippageP' | 'place'
>;

function draft(event: Beginning, kind: Pick<Order, 'type' | 'action'>): Order {
  const { terms } = event;
  const reduceOnly = kind.action === 'close' || kind.action === 'decrease' || kind.action === 'withdraw';
  return {
    ...kind,
    trader: event.trader,
    pairIndex: terms.pairIndex,
    collateralIndex: terms.collateralIndex,
    long: reduceOnly ? !terms.long : terms.long,
    reduceOnly,
    leverage: terms.leverage,
    collateralAmount: terms.collateralAmount,
    sizeCollateral: event.sizeCollateral,
    sizeToken: event.sizeToken,
    price: terms.openPrice,
    tp: terms.tp,
    sl: terms.sl,
    slippageP: event.slippageP,
    tradeIndex: kind.action === 'open' ? null : event.tradeIndex,
    clientId: null,
    status: 'prepared',
    txHash: null,
    expiresAt: null,
    fill: null,
    reason: null,
    createdAt: event.place.at,
    updatedAt: event.place.at,
    requestedBlock: null,
  };
}

function orderEventOf(event: ChainEvent): OrderEvent | null {
  const { at, txHash, blockNumber } = event.place;
  switch (event.kind) {
    case 'requested':
      return { kind: 'requested', at, txHash, block: event.createdBlock ?? blockNumber, asked: sizeOf(event) };
    case 'rested':
    case 'replaced':
      return { kind: event.kind, at, txHash, block: blockNumber, asked: { ...sizeOf(event), ...termsOf(event) } };
    case 'guarded':
      return { kind: 'rested', at, txHash, block: blockNumber, asked: { ...sizeOf(event), ...termsOf(event) } };
    case 'guardMoved':
      return { kind: 'moved', at, asked: { ...sizeOf(event), ...termsOf(event) } };
    case 'guardHit':
      return { kind: 'filled', at, fill: event.fill };
    case 'guardGone':
      return { kind: 'withdrawn', at };
    case 'amended':
      return { kind: 'amended', at, price: event.openPrice, tp: event.tp, sl: event.sl, slippageP: event.slippageP };
    case 'executed':
      return event.orderKey === null ? null : { kind: 'filled', at, fill: fillOf(event) };
    case 'refused':
      return { kind: 'refused', at, reason: reasonOf(event.reason) };
    case 'withdrawn':
    case 'timedOut':
    case 'lapsed':
      return { kind: event.kind, at };
    case 'reverted':
      return { kind: 'reverted', at, reason: event.reason, txHash };
    case 'sent':
      return { kind: 'sent', at, txHash: event.hash };
    case 'renewed':
      return { kind: 'renewed', at, order: event.order };
    default:
      return null;
  }
}

const sizeOf = ({ terms, sizeCollateral, sizeToken }: Requested | Rested | Replaced | Guarded) => ({
  leverage: terms.leverage,
  collateralAmount: terms.collateralAmount,
  sizeCollateral,
  sizeToken,
});

const termsOf = ({ terms, slippageP }: Rested | Replaced | Guarded) => ({ price: terms.openPrice, tp: terms.tp, sl: terms.sl, slippageP });

/** Reasons without an API name, including future ones, are OTHER. */
const reasonOf = (reason: Extract<ChainEvent, { kind: 'refused' }>['reason']): OrderReason =>
  reason === 'COUNTER_TRADE_CANCELED' ? 'OTHER' : reason;

export const fillOf = (event: Executed): OrderFill => ({
  price: event.price,
  sizeToken: event.sizeToken ?? 0n,
  collateralPriceUsd: event.collateralPriceUsd,
  collateral: event.collateral,
  fee: event.fee,
  txHash: event.place.txHash,
  at: event.place.at,
  tradeIndex: event.tradeIndex,
});
