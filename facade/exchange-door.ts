import { GatewayError } from '../core/errors.js';
import type { Gateway } from '../core/gateway.js';
import type { Window } from '../core/limits.js';
import type { TradeHandlers } from './actions/trade-handlers.js';
import { JSON_TYPE, type Answer, type Door } from './door.js';
import { createExchange } from './exchange.js';
import { readOrderedJson } from './signing/ordered-json.js';

/** JSON that fits no schema is told apart from what is no JSON. */
const FITS_NO_SCHEMA = 422;

/** `POST /hl/{chain}/exchange`. */
export function createExchangeDoor(gateway: Gateway, trade: TradeHandlers | null): Door {
  const exchange = createExchange(gateway, trade);
  return {
    refuse: (error) => answerError(error),
    async answer({ venue, bytes }) {
      const json = readOrderedJson(bytes);
      const windows: Window[] = [];
      try {
        const reply = await exchange(venue, { json, text: bytes.toString('utf8'), onCounted: (window) => windows.push(window) });
        return { status: 200, type: JSON_TYPE, body: JSON.stringify(reply), windows };
      } catch (error) {
        if (!isTold(error)) throw error;
        return { ...answerError(error, error.code === 'VALIDATION_ERROR' ? FITS_NO_SCHEMA : error.status), windows };
      }
    },
  };
}

const isTold = (error: unknown): error is GatewayError => error instanceof GatewayError;

/** The service's own error, with what clients of Hyperliquid look for beside it. */
export function answerError(error: GatewayError, status: number = error.status): Answer {
  const { code, message, details } = error;
  const shown = Object.keys(details).length > 0 ? { details } : {};
  const headers =
    error.code === 'RATE_LIMITED' ? { 'Retry-After': String((error as GatewayError<'RATE_LIMITED'>).details.retryAfterSeconds) } : {};
  return { status, type: JSON_TYPE, body: JSON.stringify({ code, message, ...shown, msg: message, data: null }), headers };
}
