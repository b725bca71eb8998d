import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { RequestAccess } from '../core/access/request-access.js';

/** Ids from clients are kept only if they are safe in a header and a log line. */
const HARMLESS_ID = /^[\w.:-]{1,64}$/;
const isHarmless = (id: unknown): id is string => typeof id === 'string' && HARMLESS_ID.test(id);

/** An address of the documentation range, which no client has: a peer that may forward it is a trusted proxy. */
const PROBE = '192.0.2.1';

export interface Client {
  /** The address whose rate limit the request counts against. */
  readonly address: string;
  readonly requestId: string;
  /** The request id set by a trusted proxy, otherwise ours. */
  readonly ray: string;
}

export type ReadClient = (request: IncomingMessage) => Client;

interface Peer {
  readonly address: string;
  readonly isTrusted: boolean;
}

/** Reads a request's client address and ids. Whatever is constant for a connection is computed once. */
export function createClientReader({ clientAddress }: Pick<RequestAccess, 'clientAddress'>): ReadClient {
  const peers = new WeakMap<Socket, Peer>();

  const peerOf = (socket: Socket): Peer => {
    const known = peers.get(socket);
    if (known) return known;
    const raw = socket.remoteAddress ?? '';
    const address = clientAddress(raw, undefined);
    const peer = { address, isTrusted: clientAddress(raw, PROBE) === PROBE };
    peers.set(socket, peer);
    return peer;
  };

  return ({ socket, headers }) => {
    const { address, isTrusted } = peerOf(socket);
    const given = headers['x-request-id'];
    const requestId = isHarmless(given) ? given : randomUUID();
    if (!isTrusted) return { address, requestId, ray: requestId };
    const ray = headers['cf-ray'];
    return {
      address: clientAddress(socket.remoteAddress ?? '', forwardedFor(headers)),
      requestId,
      ray: isHarmless(ray) ? ray : requestId,
    };
  };
}

const clients = new WeakMap<IncomingMessage, Client>();

/** Kept for the handlers after the one that counted the request. */
export const rememberClient = (request: IncomingMessage, client: Client): void => void clients.set(request, client);

/** The network address that a remembered request came from. */
export const addressOf = (request: IncomingMessage): string => clients.get(request)?.address ?? '';

/** Node joins repeated headers with commas, which keeps their meaning. */
const forwardedFor = ({ 'x-forwarded-for': given }: IncomingMessage['headers']): string | undefined =>
  Array.isArray(given) ? given.join(',') : given;

export function setClientHeaders(response: ServerResponse, { requestId, ray }: Client): void {
  response.setHeader('X-Request-Id', requestId);
  response.setHeader('cf-ray', ray);
}
