import { GatewayError, retryAfterSeconds } from '../core/errors.js';
import type { Gateway } from '../core/gateway.js';
import type { Window } from '../core/access/limits.js';
import { ACTIONS } from './actions/index.js';
import type { TradeHandlers } from './actions/trade.js';
import { JSON_TYPE, type Answer, type Endpoint } from './endpoint.js';
import { createExchange } from './exchange.js';
import { weighAction } from './info/info-weights.js';
import { readOrderedJson, type Json, type JsonObject } from './signing/ordered-json.js';

/** The status for JSON that fits no schema, as opposed to input that is not JSON. */
const FITS_NO_SCHEMA = 422;

/** `POST /hl/{chain}/exchange`. */
export function createExchangeHandler(gateway: Gateway, trade: TradeHandlers | null): Endpoint {
  const exchange = createExchange(gateway, trade);
  return {
    refuse: (error) => answerError(error),
    async answer({ venue, bytes, client: { address } }) {
      const windows: Window[] = [weighAction(gateway, address, bytes.length)];
      const json = readOrderedJson(bytes);
      const operation = actionIn(json);
      try {
        const reply = await exchange(venue, { json, from: address, onCounted: (window) => windows.push(window) });
        gateway.metrics.action(operation, reply.status);
        return { status: 200, type: JSON_TYPE, body: JSON.stringify(reply), operation, windows };
      } catch (error) {
        if (!isGatewayError(error)) throw error;
        return { ...answerError(error, error.code === 'VALIDATION_ERROR' ? FITS_NO_SCHEMA : error.status), operation, windows };
      }
    },
  };
}

/** The action's name from our own table: names made up by clients get no metric of their own. */
export function actionIn(json: Json): string {
  const action = json instanceof Map ? (json as JsonObject).get('action') : undefined;
  const type = action instanceof Map ? (action as JsonObject).get('type') : undefined;
  return typeof type === 'string' && ACTIONS.has(type) ? type : 'exchange';
}

const isGatewayError = (error: unknown): error is GatewayError => error instanceof GatewayError;

/** The service's own error, with the fields that Hyperliquid clients look for. */
function answerError(error: GatewayError, status: number = error.status): Answer {
  const { code, message, details } = error;
  const shown = Object.keys(details).length > 0 ? { details } : {};
  const wait = retryAfterSeconds(error);
  const headers = wait === null ? {} : { 'Retry-After': String(wait) };
  return { status, type: JSON_TYPE, body: JSON.stringify({ code, message, ...shown, msg: message, data: null }), headers };
}

/** One client and its flows, each with whether its test passed when the report was written. */
export interface ClientReport {
  readonly client: string;
  readonly version: string;
  readonly flows: readonly { readonly flow: string; readonly isPassed: boolean }[];
}

/** `GET /hl/{chain}/compat`: the clients tested against this version, and their results. */
export function createCompatEndpoint(report: readonly ClientReport[]): Endpoint {
  const body = Buffer.from(JSON.stringify({ clients: report }));
  return { method: 'GET', answer: () => ({ status: 200, type: JSON_TYPE, body }), refuse: (error) => answerError(error) };
}
