/** Seeded randomness with random access: the n-th number of a stream is always the same, in whatever order it is read. */
export interface Noise {
  /** Standard normal. */
  gaussian(stream: number, n: number): number;
  /** 0 ≤ x < 1. */
  uniform(stream: number, n: number): number;
}

const TWO_32 = 2 ** 32;

function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text, 'utf8')) hash = Math.imul(hash ^ byte, 0x01000193);
  return avalanche(hash);
}

/** The finaliser of MurmurHash3: every input bit reaches every output bit. */
function avalanche(value: number): number {
  let mixed = value;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

export function createNoise(seed: string): Noise {
  const root = hashText(seed);
  const at = (stream: number, n: number, salt: number): number =>
    avalanche(avalanche(avalanche(root ^ Math.imul(stream + 1, 0x9e3779b1)) ^ n) ^ salt);
  return {
    uniform: (stream, n) => at(stream, n, 0) / TWO_32,
    gaussian(stream, n) {
      const radius = Math.sqrt(-2 * Math.log((at(stream, n, 1) + 1) / TWO_32));
      return radius * Math.cos((2 * Math.PI * at(stream, n, 2)) / TWO_32);
    },
  };
}
