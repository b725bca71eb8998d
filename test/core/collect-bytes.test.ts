import { PassThrough } from 'node:stream';
import { collectBytes, MOST_PIECES, type BodyFault } from '../../http/request.js';

/** Written as single pieces, which the stream does not join. */
async function collected(pieces: readonly Buffer[], limit = 1_000_000): Promise<{ fault: BodyFault | null; bytes: Buffer }> {
  const stream = new PassThrough();
  const answer = new Promise<{ fault: BodyFault | null; bytes: Buffer }>((resolve) =>
    collectBytes(stream, limit, (fault, bytes) => resolve({ fault, bytes })),
  );
  for (const piece of pieces) stream.emit('data', piece);
  stream.emit('end');
  return answer;
}

const numbered = (count: number): Buffer[] => Array.from({ length: count }, (_, at) => Buffer.from(`${at},`));

describe('a body in pieces', () => {
  it.each([0, 1, 2, 3, 100, MOST_PIECES])('is whole after %i of them', async (count) => {
    const pieces = numbered(count);
    expect(await collected(pieces)).toEqual({ fault: null, bytes: Buffer.concat(pieces) });
  });

  it('does not change the pieces it was given', async () => {
    const pieces = [Buffer.from('first'), Buffer.from('second')];
    await collected(pieces);
    expect(pieces.map(String)).toEqual(['first', 'second']);
  });

  it('may have as many bytes as the limit says, and no more', async () => {
    const pieces = [Buffer.alloc(6), Buffer.alloc(4)];
    expect((await collected(pieces, 10)).fault).toBeNull();
    expect(await collected(pieces, 9)).toEqual({ fault: 'too-large', bytes: Buffer.alloc(0) });
  });

  it('may not have more pieces than any network makes of it', async () => {
    expect(await collected(numbered(MOST_PIECES + 1))).toEqual({ fault: 'too-many-pieces', bytes: Buffer.alloc(0) });
  });
});
