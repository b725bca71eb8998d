import { amendOrder } from '../../core/trading/amend-order.js';
import { closePosition } from '../../core/trading/close-position.js';
import { forDelegate } from '../../core/trading/prepare-transaction.js';
import { submitOrder } from '../../core/trading/submit-order.js';
import { updatePosition } from '../../core/trading/update-position.js';
import { waitForOrder } from '../../core/trading/wait-for-order.js';
import { withdrawOrder } from '../../core/trading/withdraw-order.js';
import { getOrder } from '../../core/account/list-orders.js';
import type { ErrorCode } from '../../core/errors.js';
import { venueOperation, type Operation } from '../operation.js';
import { Order, OrderPath } from '../wire/account.js';
import {
  changeOf,
  ClosePositionRequest,
  PreparedPosition,
  SubmitOrderBody,
  UpdateOrderRequest,
  UpdatePositionRequest,
} from '../wire/order-writes.js';
import { PreparedOrder } from '../wire/orders.js';

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
      'Set or remove stop loss and take profit, in the place of an order that set them, change the leverage, or add and remove collateral.',
    params: OrderPath,
    body: UpdatePositionRequest,
    reply: PreparedPosition,
    errors: [
      ...OF_CHANGES,
      'POSITION_NOT_FOUND',
      'SCOPE_LEVERAGE_EXCEEDED',
      'PRECISION_ERROR',
      'LEVERAGE_OUT_OF_RANGE',
      'SIZE_BELOW_MINIMUM',
      'MARKET_CLOSED',
    ],
    handle: ({ gateway, venue, caller, params, body }) =>
      forDelegate(venue, caller, updatePosition(gateway, venue, caller, params.id, changeOf(body))),
  }),
];
