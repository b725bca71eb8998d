import type { IncomingMessage } from 'node:http';
import { gunzip } from 'node:zlib';
import { collectBytes, PIECES_TEXT } from '../http/collect-bytes.js';
import { GatewayError } from '../core/errors.js';

/** Two hundred orders with all optional fields are a quarter of this. */
export const BODY_LIMIT_BYTES = 256 * 1024;

type Done = (error: GatewayError | null, bytes: Buffer) => void;

const NO_BYTES = Buffer.alloc(0);
const refusal = (message: string): GatewayError => new GatewayError('VALIDATION_ERROR', { issues: [{ path: '', message }] });
const tooLarge = (): GatewayError => refusal(`must not exceed ${BODY_LIMIT_BYTES / 1024} KiB`);

/** Reads the whole body, whatever its Content-Type; a client that disconnects meanwhile gets no reply. */
export function readBody(request: IncomingMessage, done: Done): void {
  const encoding = request.headers['content-encoding']?.toLowerCase() ?? 'identity';
  if (encoding !== 'identity' && encoding !== 'gzip') return done(refusal('must be plain or gzip'), NO_BYTES);
  if (Number(request.headers['content-length'] ?? 0) > BODY_LIMIT_BYTES) return done(tooLarge(), NO_BYTES);
  const take = encoding === 'gzip' ? unpackedInto(done) : done;
  collectBytes(request, BODY_LIMIT_BYTES, (fault, bytes) =>
    take(fault === null ? null : fault === 'too-large' ? tooLarge() : refusal(PIECES_TEXT), bytes),
  );
}

/** A few compressed bytes may expand to gigabytes: decompression stops at the same limit. */
const unpackedInto =
  (done: Done): Done =>
  (error, packed) => {
    if (error !== null) return done(error, packed);
    gunzip(packed, { maxOutputLength: BODY_LIMIT_BYTES }, (fault, bytes) =>
      fault === null ? done(null, bytes) : done(isTooLong(fault) ? tooLarge() : refusal('is not gzip'), NO_BYTES),
    );
  };

const isTooLong = (fault: NodeJS.ErrnoException): boolean => fault.code === 'ERR_BUFFER_TOO_LARGE';
