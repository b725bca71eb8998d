import type { IncomingMessage } from 'node:http';
import { gunzip } from 'node:zlib';
import { GatewayError } from '../core/errors.js';

/** Two hundred orders with everything a client may put into them are a quarter of this. */
export const BODY_LIMIT_BYTES = 256 * 1024;

type Done = (error: GatewayError | null, bytes: Buffer) => void;

const NO_BYTES = Buffer.alloc(0);
const refusal = (message: string): GatewayError => new GatewayError('VALIDATION_ERROR', { issues: [{ path: '', message }] });
const tooLarge = (): GatewayError => refusal(`must not exceed ${BODY_LIMIT_BYTES / 1024} KiB`);

/** Whole or not at all, whatever its Content-Type says; a client that goes away in the middle gets no answer. */
export function readBody(request: IncomingMessage, done: Done): void {
  const encoding = request.headers['content-encoding']?.toLowerCase() ?? 'identity';
  if (encoding !== 'identity' && encoding !== 'gzip') return done(refusal('must be plain or gzip'), NO_BYTES);
  if (Number(request.headers['content-length'] ?? 0) > BODY_LIMIT_BYTES) return done(tooLarge(), NO_BYTES);
  collect(request, encoding === 'gzip' ? unpackedInto(done) : done);
}

function collect(request: IncomingMessage, done: Done): void {
  const chunks: Buffer[] = [];
  let length = 0;
  const onData = (chunk: Buffer): void => {
    length += chunk.length;
    if (length <= BODY_LIMIT_BYTES) return void chunks.push(chunk);
    request.off('data', onData).off('end', onEnd).pause();
    done(tooLarge(), NO_BYTES);
  };
  const onEnd = (): void => done(null, chunks.length === 1 ? (chunks[0] ?? NO_BYTES) : Buffer.concat(chunks, length));
  request.on('data', onData).on('end', onEnd);
  request.on('error', () => undefined);
}

/** A few packed bytes may claim to be gigabytes: unpacking stops at the same limit. */
const unpackedInto =
  (done: Done): Done =>
  (error, packed) => {
    if (error !== null) return done(error, packed);
    gunzip(packed, { maxOutputLength: BODY_LIMIT_BYTES }, (fault, bytes) =>
      fault === null ? done(null, bytes) : done(isTooLong(fault) ? tooLarge() : refusal('is not gzip'), NO_BYTES),
    );
  };

const isTooLong = (fault: NodeJS.ErrnoException): boolean => fault.code === 'ERR_BUFFER_TOO_LARGE';
