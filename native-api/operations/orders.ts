import type { z } from 'zod';
import { forDelegate } from '../../core/trading/prepare-transaction.js';
import { createOrder } from '../../core/trading/create-order.js';
import { quoteIncrease } from '../../core/trading/quote-increase.js';
import { quoteOrder } from '../../core/trading/quote-order.js';
import { venueOperation, type Operation } from '../operation.js';
import {
  ClosePositionRequest,
  CreateOrderRequest,
  PreparedOrder,
  PreparedPosition,
  ProofPath,
  Quote,
  QuoteRequest,
  quotedOf,
  RelayProof,
  SubmitOrderBody,
  UpdateOrderRequest,
  UpdatePositionRequest,
} from '../wire/orders.js';
import { getRelayProof } from '../../core/trading/get-proof.js';
import { amendOrder, withdrawOrder } from '../../core/trading/amend-order.js';
import { closePosition } from '../../core/trading/close-position.js';
import { submitOrder } from '../../core/trading/submit-order.js';
import { updatePosition, type PositionChange } from '../../core/trading/update-position.js';
import { waitForOrder } from '../../core/trading/wait-for-order.js';
import { getOrder } from '../../core/account/list-orders.js';
import type { ErrorCode } from '../../core/errors.js';
import { Order, OrderPath } from '../wire/account.js';

/** The schema has ensured that there is exactly one. */
export function changeOf({ sl, tp, leverage, collateral, increase, withdrawPnl }: z.output<typeof UpdatePositionRequest>): PositionChange {
  if (increase !== undefined) return { increase };
  if (withdrawPnl !== undefined) return { withdrawPnl };
  if (leverage !== undefined) return { leverage };
  return collateral === undefined ? { sl, tp } : { collateral };
}

export const orderOperations: readonly Operation[] = [
  venueOperation({
    id: 'createOrder',
    method: 'POST',
    path: '/orders',
    auth: 'agent',
    simulates: true,
    summary: 'Prepares an order: checked, tried on the chain, stored, and answered with the transaction to sign and broadcast.',
    body: CreateOrderRequest,
    reply: PreparedOrder,
    status: () => 201,
    statuses: [201],
    errors: [
      'MARKET_NOT_FOUND',
      'COLLATERAL_NOT_SUPPORTED',
      'PRECISION_ERROR',
      'LEVERAGE_OUT_OF_RANGE',
      'SIZE_BELOW_MINIMUM',
      'MARKET_CLOSED',
      'POSITION_NOT_FOUND',
      'SCOPE_MARKET_NOT_ALLOWED',
      'SCOPE_LEVERAGE_EXCEEDED',
      'SCOPE_SPEND_CAP_EXCEEDED',
      'IDEMPOTENCY_CONFLICT',
      'ORDER_NOT_MODIFIABLE',
      'SIMULATION_REVERTED',
      'UNSUPPORTED',
    ],
    handle: ({ gateway, venue, caller, body }) => forDelegate(venue, caller, createOrder(gateway, venue, caller, body)),
  }),

  venueOperation({
    id: 'quoteOrder',
    method: 'POST',
    path: '/quote',
    auth: 'optional',
    summary:
      'What an order would get now: price, impact, fees, liquidation, remaining exposure, and why it would be refused. Signed, also for this trader. With `position`, which has to be signed, what an addition to it would get.',
    body: QuoteRequest,
    reply: Quote,
    errors: [
      'MARKET_NOT_FOUND',
      'COLLATERAL_NOT_SUPPORTED',
      'PRECISION_ERROR',
      'LEVERAGE_OUT_OF_RANGE',
      'SIZE_BELOW_MINIMUM',
      'POSITION_NOT_FOUND',
      'SIMULATION_REVERTED',
      'UNSUPPORTED',
    ],
    handle({ gateway, venue, caller, body }) {
      const quoted = quotedOf(body);
      return 'order' in quoted ? quoteOrder(gateway, venue, caller, quoted.order) : quoteIncrease(gateway, venue, caller, quoted.increase);
    },
  }),
];

export const proofOperations: readonly Operation[] = [
  venueOperation({
    id: 'getRelayProof',
    method: 'GET',
    path: '/account/:address/proofs/:txHash',
    auth: 'reader',
    summary:
      'Why the relayer signed a transaction: the envelope its owner signed, what it was taken to mean, and the call data. `scripts/verify-proof.mjs` checks it offline.',
    params: ProofPath,
    reply: RelayProof,
    errors: ['ORDER_NOT_FOUND'],
    handle: ({ gateway, venue, caller, params }) => getRelayProof(gateway, venue, caller, params.txHash),
  }),
];

const OF_CHANGES: readonly ErrorCode[] = ['SCOPE_MARKET_NOT_ALLOWED', 'ORDER_NOT_MODIFIABLE', 'SIMULATION_REVERTED', 'UNSUPPORTED'];

export const orderWriteOperations: readonly Operation[] = [
  venueOperation({
    id: 'updateOrder',
    method: 'PATCH',
    path: '/orders/:id',
    auth: 'agent',
    simulates: true,
    summary:
      'Change a resting limit or stop order, or move one that only reduces; the answer shows it as it will read once the transaction is mined.',
    params: OrderPath,
    body: UpdateOrderRequest,
    reply: PreparedOrder,
    errors: [
      ...OF_CHANGES,
      'ORDER_NOT_FOUND',
      'SCOPE_LEVERAGE_EXCEEDED',
      'SCOPE_SPEND_CAP_EXCEEDED',
      'PRECISION_ERROR',
      'SIZE_BELOW_MINIMUM',
      'MARKET_CLOSED',
    ],
    handle: ({ gateway, venue, caller, params, body }) => forDelegate(venue, caller, amendOrder(gateway, venue, caller, params.id, body)),
  }),

  venueOperation({
    id: 'cancelOrder',
    method: 'DELETE',
    path: '/orders/:id',
    auth: 'agent',
    simulates: true,
    summary:
      'Cancel a resting order or the take profit or stop loss it set, reclaim a market request that the oracle did not answer in time, or give up an order that was not sent.',
    params: OrderPath,
    reply: PreparedOrder,
    errors: [...OF_CHANGES, 'ORDER_NOT_FOUND', 'MARKET_CLOSED'],
    handle: ({ gateway, venue, caller, params }) => forDelegate(venue, caller, withdrawOrder(gateway, venue, caller, params.id)),
  }),

  venueOperation({
    id: 'submitOrder',
    method: 'POST',
    path: '/orders/:id/submit',
    auth: 'agent',
    waits: true,
    summary: 'Report the transaction of an order. The chain is watched anyway; this reports one that is not mined yet, or that failed.',
    params: OrderPath,
    body: SubmitOrderBody,
    reply: Order,
    errors: ['ORDER_NOT_FOUND', 'ORDER_NOT_MODIFIABLE', 'SUBMISSION_MISMATCH', 'UNSUPPORTED'],
    async handle({ gateway, venue, caller, params, body, wait }) {
      await submitOrder(gateway, venue, caller, params.id, body.txHash);
      return wait === null ? getOrder(gateway, venue, caller, params.id) : waitForOrder(gateway, venue, caller, params.id, wait);
    },
  }),

  venueOperation({
    id: 'closePosition',
    method: 'POST',
    path: '/positions/:id/close',
    auth: 'agent',
    simulates: true,
    summary: 'Close a position at the market, all of it or a part.',
    params: OrderPath,
    body: ClosePositionRequest,
    reply: PreparedOrder,
    errors: [...OF_CHANGES, 'POSITION_NOT_FOUND', 'PRECISION_ERROR', 'SIZE_BELOW_MINIMUM', 'MARKET_CLOSED'],
    handle: ({ gateway, venue, caller, params, body }) =>
      forDelegate(venue, caller, closePosition(gateway, venue, caller, params.id, body)),
  }),

  venueOperation({
    id: 'updatePosition',
    method: 'PATCH',
    path: '/positions/:id',
    auth: 'agent',
    simulates: true,
    summary:
      'Set or remove stop loss and take profit, in the place of an order that set them, change the leverage, add and remove collateral, add to the size, or withdraw profit.',
    params: OrderPath,
    body: UpdatePositionRequest,
    reply: PreparedPosition,
    errors: [
      ...OF_CHANGES,
      'POSITION_NOT_FOUND',
      'SCOPE_LEVERAGE_EXCEEDED',
      'SCOPE_SPEND_CAP_EXCEEDED',
      'PRECISION_ERROR',
      'LEVERAGE_OUT_OF_RANGE',
      'SIZE_BELOW_MINIMUM',
      'MARKET_CLOSED',
    ],
    handle: ({ gateway, venue, caller, params, body }) =>
      forDelegate(venue, caller, updatePosition(gateway, venue, caller, params.id, changeOf(body))),
  }),
];
