import { JSON_TYPE, type Endpoint } from './endpoint.js';
import { answerError } from './exchange-handler.js';

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
