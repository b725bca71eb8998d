import fc from 'fast-check';
import {
  decodeBandOffsets,
  decodeDepthBands,
  decodeDepthSide,
  encodeBandOffsets,
  encodeDepthBands,
  encodeDepthSide,
} from '../../../../core/domain/pricing/volume-impact.js';
import { bandOffsets, depthSide, SEED } from './arbitraries.js';
import { goldenSide } from './fixture.js';

const runs = { seed: SEED, numRuns: 500 };
const word = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n });

describe('packed depth bands', () => {
  it('put the total in the low 32 bits, bands 0 to 13 above it and the rest in the second word', () => {
    const { slot1, slot2 } = encodeDepthSide(goldenSide);
    expect(slot1 & 0xffff_ffffn).toBe(10_000_000n);
    expect((slot1 >> 32n) & 0xffffn).toBe(500n);
    expect(slot1 >> 240n).toBe(7000n);
    expect(slot2 & 0xffffn).toBe(7500n);
    expect(slot2 >> 240n).toBe(10_000n);
  });

  it('survive packing and unpacking', () => {
    fc.assert(
      fc.property(depthSide, depthSide, bandOffsets, (above, below, offsets) => {
        expect(decodeDepthBands(encodeDepthBands({ above, below }))).toEqual({ above, below });
        expect(decodeBandOffsets(encodeBandOffsets(offsets))).toEqual(offsets);
        expect(encodeBandOffsets(offsets).slot1 & 0xffff_ffffn).toBe(0n);
      }),
      runs,
    );
  });

  it('use every bit of both words', () => {
    fc.assert(
      fc.property(word, word, (slot1, slot2) => {
        expect(encodeDepthSide(decodeDepthSide({ slot1, slot2 }))).toEqual({ slot1, slot2 });
      }),
      runs,
    );
  });

  it.each([
    ['a total beyond 32 bits', { ...goldenSide, totalUsd: 2n ** 32n }],
    ['a negative total', { ...goldenSide, totalUsd: -1n }],
    ['a share beyond 16 bits', { ...goldenSide, shares: goldenSide.shares.map(() => 65_536n) }],
    ['too few bands', { ...goldenSide, shares: goldenSide.shares.slice(1) }],
  ])('refuse %s', (_, side) => {
    expect(() => encodeDepthSide(side)).toThrow(RangeError);
  });

  it('refuse words that are not words', () => {
    const full = 2n ** 256n - 1n;
    expect(decodeDepthSide({ slot1: full, slot2: full })).toEqual({
      totalUsd: 2n ** 32n - 1n,
      shares: goldenSide.shares.map(() => 65_535n),
    });
    expect(() => decodeDepthSide({ slot1: 2n ** 256n, slot2: 0n })).toThrow(RangeError);
    expect(() => decodeDepthSide({ slot1: 0n, slot2: -1n })).toThrow(RangeError);
  });
});
