import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Request, RequestHandler } from 'express';
import type { RequestAccess } from '../core/access/request-access.js';
import { GatewayError } from '../core/errors.js';
import { randomId, type RandomBytes } from '../core/ports/clock.js';
import { announcesBody } from './respond.js';

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

interface ClientReaderParts {
  readonly access: Pick<RequestAccess, 'clientAddress'>;
  readonly randomBytes: RandomBytes;
}

/** Reads a request's client address and ids. Whatever is constant for a connection is computed once. */
export function createClientReader({ access: { clientAddress }, randomBytes }: ClientReaderParts): ReadClient {
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
    const requestId = isHarmless(given) ? given : randomId(randomBytes);
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

export const BODY_LIMIT_BYTES = 256 * 1024;
const NO_BYTES = Buffer.alloc(0);

/** Keeps the bytes exactly as they arrive, because they were signed. Without an announced body there are no bytes. */
export const readBody: RequestHandler = (request, _response, next) => {
  if (!announcesBody(request)) {
    request.body = NO_BYTES;
    return next();
  }
  if (request.headers['content-encoding'] !== undefined && request.headers['content-encoding'] !== 'identity')
    return next(refusal('must not be compressed: the signature covers the bytes that are sent'));
  if (Number(request.headers['content-length'] ?? 0) > BODY_LIMIT_BYTES) return next(tooLarge());
  // A client that disconnects during the body gets no reply.
  collectBytes(request, BODY_LIMIT_BYTES, (fault, bytes) => {
    request.body = bytes;
    next(fault === null ? undefined : fault === 'too-large' ? tooLarge() : refusal(PIECES_TEXT));
  });
};

export const bodyOf = ({ body }: Request): Buffer => (Buffer.isBuffer(body) ? body : NO_BYTES);

const refusal = (message: string): GatewayError => new GatewayError('VALIDATION_ERROR', { issues: [{ path: '', message }] });
const tooLarge = (): GatewayError => refusal('must not exceed 256 KiB');

/** Which limit a body exceeds. */
export type BodyFault = 'too-large' | 'too-many-pieces';

/**
 * A client decides in how many pieces a body arrives. Each piece costs a turn of the event loop and hundreds of bytes of memory,
 * so a body of single bytes would cost hundreds of times its length. Networks split 256 KiB into a few hundred pieces.
 */
export const MOST_PIECES = 4_096;
export const PIECES_TEXT = `must not arrive in more than ${MOST_PIECES} pieces`;
const MIN_CAPACITY = 4_096;

/** Reads a body into one buffer; a body that exceeds a limit is not read further. `done` is not called for an aborted body. */
export function collectBytes(
  request: Pick<NodeJS.ReadableStream, 'on' | 'off' | 'pause'>,
  limit: number,
  done: (fault: BodyFault | null, bytes: Buffer) => void,
): void {
  let kept: Buffer = NO_BYTES;
  let [length, pieces] = [0, 0];

  /** A single piece is kept as it is; further ones are copied into a buffer of twice the needed size. */
  const keep = (piece: Buffer): void => {
    if (length === 0) kept = piece;
    else {
      if (length + piece.length > kept.length) {
        const larger = Buffer.allocUnsafe(Math.max(MIN_CAPACITY, 2 * (length + piece.length)));
        kept.copy(larger, 0, 0, length);
        kept = larger;
      }
      piece.copy(kept, length);
    }
    length += piece.length;
  };
  const onData = (piece: Buffer): void => {
    pieces += 1;
    const fault = length + piece.length > limit ? 'too-large' : pieces > MOST_PIECES ? 'too-many-pieces' : null;
    if (fault === null) return keep(piece);
    request.off('data', onData).off('end', onEnd).pause();
    kept = NO_BYTES;
    done(fault, NO_BYTES);
  };
  const onEnd = (): void => done(null, kept.subarray(0, length));
  request.on('data', onData).on('end', onEnd);
  request.on('error', () => undefined);
}
