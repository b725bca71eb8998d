/** What a body has too much of. */
export type BodyFault = 'too-large' | 'too-many-pieces';

/**
 * A client decides in how many pieces a body arrives. Each costs a turn of the event loop, and kept by itself hundreds of bytes of memory,
 * so a body of single bytes would cost hundreds of times its length. Networks cut 256 KiB into a few hundred pieces.
 */
export const MOST_PIECES = 4_096;
export const PIECES_TEXT = `must not arrive in more than ${MOST_PIECES} pieces`;
const LEAST_ROOM = 4_096;
const NO_BYTES = Buffer.alloc(0);

/** The bytes of a body in one buffer; a body with a fault is not read on. Says nothing of a body that breaks off. */
export function collectBytes(
  request: Pick<NodeJS.ReadableStream, 'on' | 'off' | 'pause'>,
  limit: number,
  done: (fault: BodyFault | null, bytes: Buffer) => void,
): void {
  let kept: Buffer = NO_BYTES;
  let [length, pieces] = [0, 0];

  /** One piece is kept as it is; more of them are copied together, with room for as much again. */
  const keep = (piece: Buffer): void => {
    if (length === 0) kept = piece;
    else {
      if (length + piece.length > kept.length) {
        const larger = Buffer.allocUnsafe(Math.max(LEAST_ROOM, 2 * (length + piece.length)));
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
