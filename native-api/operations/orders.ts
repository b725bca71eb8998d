import { forDelegate } from '../../core/trading/for-delegate.js';
import { placeOrder } from '../../core/trading/place-order.js';
import { quoteOrder } from '../../core/trading/quote-order.js';
import { venueOperation, type Operation } from '../operation.js';
import { CreateOrderRequest, PreparedOrder, ProofPath, Quote, RelayProof } from '../wire/orders.js';
import { getRelayProof } from '../../core/trading/get-proof.js';

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
