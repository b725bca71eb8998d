import { createRequire } from 'node:module';
import { SigningKey, Wallet, computeAddress, getBytes, hexlify, toBeHex } from 'ethers';
import fc from 'fast-check';
import { parseSignature, type Keccak, type Recover } from '../../../../core/access/signature.js';
import { loadCrypto, loadKeccak, loadNativeRecover, loadWasmRecover } from '../../../../core/adapters/crypto/load-crypto.js';
import { createRecordedLog } from '../../../harness/checks/recorded-log.js';

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const KEY = new SigningKey(`0x${'42'.repeat(32)}`);
const DIGEST = new Uint8Array(32).fill(7);

const word = (value: bigint): string => toBeHex(value, 32).slice(2);
const mirrored = (hex: string): string => {
  const { r, s, yParity } = KEY.sign(hex);
  return `0x${r.slice(2)}${word(ORDER - BigInt(s))}${yParity === 0 ? '1c' : '1b'}`;
};

const hasAddon = ((): boolean => {
  try {
    createRequire(import.meta.url)('secp256k1/bindings.js');
    return true;
  } catch {
    return false;
  }
})();

const keccak: Keccak = await loadKeccak();
const wasm = await loadWasmRecover(keccak);
const native = loadNativeRecover(keccak);
const engines: (readonly [string, Recover])[] = [['WebAssembly', wasm], ...(native === null ? [] : [['addon', native] as const])];

describe('the curve', () => {
  it('is the addon exactly where its native binding loads', () => expect(native !== null).toBe(hasAddon));

  it('says at start which one is in use', async () => {
    const log = createRecordedLog();
    await loadCrypto(log);
    const recovery = hasAddon ? 'libsecp256k1 addon' : 'libsecp256k1 WebAssembly';
    expect(log.entries).toEqual([{ level: 'info', event: 'crypto.ready', fields: { recovery } }]);
  });
});

describe.each(engines)('the curve as %s', (_name, recover) => {
  it('names the signer of whatever ethers signs', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: ORDER - 1n }), fc.uint8Array({ minLength: 32, maxLength: 32 }), (secret, digest) => {
        const key = new SigningKey(toBeHex(secret, 32));
        const signature = parseSignature(key.sign(digest).serialized);
        expect(signature && recover(digest, signature)).toBe(computeAddress(key.publicKey).toLowerCase());
      }),
      { numRuns: 40 },
    );
  });

  it('never throws and answers like the other one, whatever the numbers', () => {
    const edges = [0n, 1n, ORDER - 1n, ORDER, ORDER + 1n, ORDER / 2n, 2n ** 256n - 1n];
    const numbers = fc.oneof(fc.constantFrom(...edges), fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }));
    fc.assert(
      fc.property(numbers, numbers, fc.constantFrom(0 as const, 1 as const), numbers, (r, s, yParity, message) => {
        const signature = { compact: getBytes(`0x${word(r)}${word(s)}`), yParity };
        const digest = getBytes(toBeHex(message, 32));
        const answer = recover(digest, signature);
        expect(answer === null || /^0x[0-9a-f]{40}$/.test(answer)).toBe(true);
        for (const [, other] of engines) expect(other(digest, signature)).toBe(answer);
      }),
      { numRuns: 150 },
    );
  });

  it.each([
    ['a short digest', new Uint8Array(31), new Uint8Array(64).fill(1)],
    ['no digest', new Uint8Array(), new Uint8Array(64).fill(1)],
    ['a short signature', DIGEST, new Uint8Array(63).fill(1)],
    ['a long signature', DIGEST, new Uint8Array(65).fill(1)],
    ['zeros', DIGEST, new Uint8Array(64)],
  ])('finds no signer in %s', (_what, digest, compact) => {
    expect(recover(digest, { compact, yParity: 0 })).toBeNull();
  });
});

describe('a signature as text', () => {
  const { r, s, yParity, serialized } = KEY.sign(hexlify(DIGEST));
  const withV = (v: number): string => `${r}${s.slice(2)}${v.toString(16).padStart(2, '0')}`;

  it.each([yParity, yParity + 27])('may end in v = %d', (v) => {
    const read = parseSignature(withV(v));
    expect(read && wasm(DIGEST, read)).toBe(computeAddress(KEY.publicKey).toLowerCase());
  });

  it('may be written in capitals', () => {
    expect(parseSignature(`0x${serialized.slice(2).toUpperCase()}`)).toEqual(parseSignature(serialized));
  });

  it('is refused with s in the upper half, although the curve would accept it', () => {
    expect(parseSignature(mirrored(hexlify(DIGEST)))).toBeNull();
  });

  it('is accepted with s exactly at the half of the order and refused one above', () => {
    expect(parseSignature(`${r}${word(ORDER / 2n)}1b`)).not.toBeNull();
    expect(parseSignature(`${r}${word(ORDER / 2n + 1n)}1b`)).toBeNull();
  });

  it.each([2, 3, 26, 29, 30, 35, 36, 37, 38, 255])('is refused with v = %d', (v) => expect(parseSignature(withV(v))).toBeNull());

  it.each([
    ['nothing', ''],
    ['0x alone', '0x'],
    ['64 bytes', serialized.slice(0, -2)],
    ['66 bytes', `${serialized}00`],
    ['no prefix', serialized.slice(2)],
    ['a capital prefix', `0X${serialized.slice(2)}`],
    ['half a byte', serialized.slice(0, -1)],
    ['letters that are no digits', `${serialized.slice(0, -1)}g`],
    ['a line break at the end', `${serialized}\n`],
    ['wide digits', `${serialized.slice(0, -1)}１`],
    ['two headers joined', `${serialized}, ${serialized}`],
  ])('is refused as %s', (_what, text) => expect(parseSignature(text)).toBeNull());

  it('of any text never throws', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => void parseSignature(text)));
  });

  it('of an ethers wallet over typed data is read', async () => {
    const signed = await new Wallet(KEY.privateKey).signTypedData({ name: 'x' }, { T: [{ name: 'a', type: 'string' }] }, { a: 'b' });
    expect(parseSignature(signed)).not.toBeNull();
  });
});
