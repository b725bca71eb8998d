import { CATALOGUE, GatewayError, type ErrorCode } from '../../core/errors.js';

/** Status by code, as the interface specifies it. */
const STATUS: Record<ErrorCode, number> = {
  VALIDATION_ERROR: 400,
  UNAUTHENTICATED: 401,
  INVALID_SIGNATURE: 401,
  TIMESTAMP_OUT_OF_WINDOW: 401,
  NONCE_REUSED: 401,
  AGENT_UNKNOWN: 401,
  API_KEY_UNKNOWN: 401,
  AGENT_NOT_DELEGATED: 403,
  AGENT_EXPIRED: 403,
  AGENT_REVOKED: 403,
  SCOPE_READ_ONLY: 403,
  SCOPE_MARKET_NOT_ALLOWED: 403,
  SCOPE_LEVERAGE_EXCEEDED: 403,
  SCOPE_SPEND_CAP_EXCEEDED: 403,
  TRADER_MISMATCH: 403,
  CHAIN_NOT_FOUND: 404,
  MARKET_NOT_FOUND: 404,
  ORDER_NOT_FOUND: 404,
  POSITION_NOT_FOUND: 404,
  AGENT_NOT_FOUND: 404,
  IDEMPOTENCY_CONFLICT: 409,
  ORDER_NOT_MODIFIABLE: 409,
  PRECISION_ERROR: 422,
  LEVERAGE_OUT_OF_RANGE: 422,
  SIZE_BELOW_MINIMUM: 422,
  MARKET_CLOSED: 422,
  COLLATERAL_NOT_SUPPORTED: 422,
  SIMULATION_REVERTED: 422,
  SUBMISSION_MISMATCH: 422,
  UNSUPPORTED: 422,
  RATE_LIMITED: 429,
  INTERNAL: 500,
  UPSTREAM_UNAVAILABLE: 502,
  NOT_READY: 503,
  CHAIN_READ_ONLY: 503,
};

describe('the error catalogue', () => {
  it('has exactly the codes of the interface, each with its status', () => {
    expect(Object.fromEntries(Object.entries(CATALOGUE).map(([code, { status }]) => [code, status]))).toEqual(STATUS);
  });

  it('quotes the numbers of its details', () => {
    const error = new GatewayError('PRECISION_ERROR', { field: 'price', value: '1.23', maxDecimals: 1, nearest: '1.2' });
    expect(error.message).toBe('price 1.23 has more than 1 decimals; the nearest legal value is 1.2.');
    expect(error.status).toBe(422);
  });
});
