import { TypedDataEncoder, getBytes, keccak256 } from 'ethers';
import fc from 'fast-check';
import { loadKeccak } from '../../../core/adapters/crypto/load-crypto.js';
import {
  createRequestDigest,
  EMPTY_BODY_HASH,
  REQUEST_FIELDS,
  signingDomain,
  type Keccak,
  type RequestDigest,
  type SignedRequest,
} from '../../../core/access/signature.js';
import { CHAINS, chainBySlug, type ChainDefinition } from '../../../core/chains/chains.js';

const SERVICE = 'Diamond Gateway';

const byEthers = (chain: ChainDefinition, { operationId, body, ...message }: SignedRequest, serviceName = SERVICE): string =>
  TypedDataEncoder.hash(
    signingDomain({ serviceName }, chain),
    { [operationId]: [...REQUEST_FIELDS] },
    { ...message, bodyHash: keccak256(body) },
  );

const toHex = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString('hex')}`;

describe('the digest of a signed request', () => {
  let keccak: Keccak;
  let digest: RequestDigest;
  beforeAll(async () => {
    keccak = await loadKeccak();
    digest = createRequestDigest(keccak, SERVICE);
  });

  it('is what an independent EIP-712 encoder makes of any request on any chain', () => {
    const requests = fc.record({
      operationId: fc.constantFrom('createOrder', 'listPositions', 'wsAuth'),
      method: fc.constantFrom('GET', 'POST', 'PATCH', 'DELETE', 'WS'),
      path: fc.oneof(fc.webPath(), fc.string({ unit: 'grapheme', maxLength: 300 })),
      body: fc.uint8Array({ maxLength: 700 }),
      timestamp: fc.maxSafeNat(),
      nonce: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }).map(String),
    });
    fc.assert(
      fc.property(fc.constantFrom(...CHAINS), requests, (chain, request) => {
        expect(toHex(digest(chain, request))).toBe(byEthers(chain, request));
      }),
      { numRuns: 300 },
    );
  });

  it.each(['0', '1', '9007199254740993', (2n ** 64n).toString(), (2n ** 256n - 1n).toString()])(
    'takes the nonce %s to the last digit',
    (nonce) => {
      const request = { operationId: 'getOrder', method: 'GET', path: '/v1/base/orders/1', body: new Uint8Array(), timestamp: 1, nonce };
      expect(toHex(digest(chainBySlug('base'), request))).toBe(byEthers(chainBySlug('base'), request));
    },
  );

  it('differs between deployments that carry different names', () => {
    const request = { operationId: 'getOrder', method: 'GET', path: '/', body: new Uint8Array(), timestamp: 1, nonce: '1' };
    const branded = createRequestDigest(keccak, 'Ünï Exchange')(chainBySlug('base'), request);
    expect(toHex(branded)).toBe(byEthers(chainBySlug('base'), request, 'Ünï Exchange'));
    expect(toHex(branded)).not.toBe(toHex(digest(chainBySlug('base'), request)));
  });

  it('hashes a body of any length, views into larger buffers included', () => {
    expect(toHex(keccak(new Uint8Array()))).toBe(EMPTY_BODY_HASH);
    for (const length of [1, 135, 136, 137, 16_383, 16_384, 16_385, 262_144]) {
      const whole = Buffer.alloc(length + 20, length % 251);
      const body = whole.subarray(7, 7 + length);
      expect(toHex(keccak(body))).toBe(keccak256(getBytes(body)));
    }
  });
});
