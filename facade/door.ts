import type { IncomingMessage } from 'node:http';
import type { GatewayError } from '../core/errors.js';
import type { Venue } from '../core/gateway.js';
import type { Window } from '../core/access/limits.js';

/** Who sent a request, and what it is called. */
export interface Client {
  /** Whose per-IP limit the request counts against. */
  readonly address: string;
  readonly requestId: string;
  readonly ray: string;
}

export type ReadClient = (request: IncomingMessage) => Client;

export interface Asked {
  readonly venue: Venue;
  /** The body, unpacked if it came packed, otherwise exactly as it arrived. */
  readonly bytes: Buffer;
  readonly client: Client;
}

export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: Buffer | string;
  readonly headers?: Readonly<Record<string, string>>;
  /** What was asked for, from our own tables; the door's word where that is not known. */
  readonly operation?: string;
  /** Buckets it counted against besides that of the address. */
  readonly windows?: readonly Window[];
}

/** One word below `/hl/{chain}`: what it answers, and how it words what is refused before it is asked. */
export interface Door {
  /** POST, unless it says otherwise. */
  readonly method?: 'GET';
  readonly answer: (asked: Asked) => Answer | Promise<Answer>;
  readonly refuse: (error: GatewayError) => Answer;
}

/** Clients reject a good answer of any other type. */
export const JSON_TYPE = 'application/json';
export const TEXT_TYPE = 'text/plain; charset=utf-8';
