import type { IncomingMessage } from 'node:http';
import type { GatewayError } from '../core/errors.js';
import type { Venue } from '../core/gateway.js';
import type { Window } from '../core/access/limits.js';

/** The client of a request, and the request's ids. */
export interface Client {
  /** The address whose rate limit the request counts against. */
  readonly address: string;
  readonly requestId: string;
  readonly ray: string;
}

export type ReadClient = (request: IncomingMessage) => Client;

export interface Asked {
  readonly venue: Venue;
  /** The body, decompressed if it was compressed, otherwise exactly as it arrived. */
  readonly bytes: Buffer;
  readonly client: Client;
}

export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: Buffer | string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The operation for metrics, from our own tables; the endpoint's name if it is unknown. */
  readonly operation?: string;
  /** Buckets it counted against, besides that of the address. */
  readonly windows?: readonly Window[];
}

/** One endpoint below `/hl/{chain}`: its handler, and how it formats errors raised before the handler runs. */
export interface Endpoint {
  /** Default POST. */
  readonly method?: 'GET';
  readonly answer: (asked: Asked) => Answer | Promise<Answer>;
  readonly refuse: (error: GatewayError) => Answer;
}

/** Clients reject a reply of any other type. */
export const JSON_TYPE = 'application/json';
export const TEXT_TYPE = 'text/plain; charset=utf-8';
