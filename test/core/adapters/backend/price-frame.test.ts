import { readPriceFrame } from '../../../../core/adapters/backend/price-book.js';

const tick = (pairIndex: number, price: bigint) => ({ pairIndex, price });

describe('a frame of the price stream', () => {
  it('with mark and index apart is read with its stamp', () => {
    expect(readPriceFrame({ m: [0, 60000.5, 7, 0.12], i: [0, 60000], t: 1700000000123 })).toEqual({
      kind: 'v4',
      marks: [tick(0, 600005000000000n), tick(7, 1200000000n)],
      indexes: [tick(0, 600000000000000n)],
      sentAt: 1700000000123,
      dropped: 0,
    });
  });

  it('that is a flat array gives marks only', () => {
    expect(readPriceFrame([8, 8.45e-6, 0, 60000])).toMatchObject({
      kind: 'v3',
      marks: [tick(8, 84500n), tick(0, 600000000000000n)],
      indexes: [],
    });
  });

  it('that is a lone stamp is a heartbeat and no price', () => {
    expect(readPriceFrame([1700000000123])).toMatchObject({ kind: 'heartbeat', marks: [], sentAt: 1700000000123 });
  });

  it.each([[0], [-1], [null], ['x'], [1e300], [1e-12]])('drops the price %p and keeps its neighbours', (bad) => {
    const read = readPriceFrame({ m: [0, bad, 1, 2], t: 1 });
    expect(read.marks).toEqual([tick(1, 20000000000n)]);
    expect(read.dropped).toBe(1);
  });

  it.each([[-1], [1.5], ['0'], [65536], [null]])('drops the pair %p', (pairIndex) => {
    expect(readPriceFrame([pairIndex, 1, 3, 2]).marks).toEqual([tick(3, 20000000000n)]);
  });

  it('with a pair that lost its price drops only that one', () => {
    expect(readPriceFrame([1, 2, 3])).toMatchObject({ marks: [tick(1, 20000000000n)], dropped: 1 });
  });

  it.each([[null], ['x'], [5], [{}], [{ t: 5 }], [true]])('%p is not a frame', (frame) => {
    expect(readPriceFrame(frame).kind).toBe('unknown');
  });
});
