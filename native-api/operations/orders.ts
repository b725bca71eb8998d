import { forDelegate } from '../../core/trading/prepare-transaction.js';
import { placeOrder } from '../../core/trading/place-order.js';
import { quoteOrder } from '../../core/trading/quote-order.js';
import { venueOperation, type Operation } from '../operation.js';
import { CreateOrderRequest, PreparedOrder, Quote } from '../wire/orders.js';

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
    handle: ({ gateway, venue, caller, body }) => forDelegate(venue, caller, placeOrder(gateway, venue, caller, body)),
  }),

  venueOperation({
    id: 'quoteOrder',
    method: 'POST',
    path: '/quote',
    auth: 'optional',
    summary:
      'What an order would get now: price, impact, fees, liquidation, remaining exposure, and why it would be refused. Signed, also for this trader.',
    body: CreateOrderRequest,
    reply: Quote,
    errors: [
      'MARKET_NOT_FOUND',
      'COLLATERAL_NOT_SUPPORTED',
      'PRECISION_ERROR',
      'LEVERAGE_OUT_OF_RANGE',
      'SIZE_BELOW_MINIMUM',
      'SIMULATION_REVERTED',
      'UNSUPPORTED',
    ],
    handle: ({ gateway, venue, caller, body }) => quoteOrder(gateway, venue, caller, body),
  }),
];
