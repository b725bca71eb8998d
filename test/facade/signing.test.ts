import { readFileSync } from 'node:fs';
import { TypedDataEncoder, Wallet } from 'ethers';
import { generatePrivateKey } from 'viem/accounts';
import fc from 'fast-check';
import { bytesToHex, hexToBytes } from 'viem/utils';
import { loadCrypto } from '../../core/adapters/crypto/load-crypto.js';
import type { Crypto, RecoverableSignature } from '../../core/access/signature.js';
import type { Address, Hex } from '../../core/types.js';
import { ACTIONS } from '../../facade/actions/index.js';
import { readEnvelope, readWireSignature, asSentOnly, decodeAction, isSame, type Decoded } from '../../facade/signing/read-body.js';
import { actionHash, packMessage, UnpackableError, createPhantomDigest, createRecoverSigners } from '../../facade/signing/l1-signature.js';
import { multiSigDigests, readUserSigned, userSigned, userSignedDigest, type UserSignedType } from '../../facade/signing/user-signed.js';
import { isObject, readOrderedJson, type Json, type JsonObject } from '../../facade/signing/ordered-json.js';
import { createRecordedLog } from '../harness/checks/recorded-log.js';
import { packByHand } from '../harness/hyperliquid/message-packer.js';

interface WireSignature {
  readonly r: string;
  readonly s: string;
  readonly v: number;
}

interface Vector {
  readonly id: string;
  readonly scheme: string;
  readonly action?: Record<string, unknown>;
  readonly rawBody?: string;
  readonly body?: Record<string, unknown>;
  readonly nonce?: number;
  readonly vaultAddress?: string | null;
  readonly expiresAfter?: number | null;
  readonly expected?: { hash?: string; mainnet?: WireSignature; testnet?: WireSignature; signature?: WireSignature; outer?: WireSignature };
  readonly computedHash?: string;
  readonly signer?: string;
  readonly primaryType?: string;
  readonly types?: readonly { name: string; type: string }[];
  readonly kind?: string;
  readonly source?: 'a' | 'b';
  readonly connectionId?: string;
  readonly recovered?: string | { a: string; b: string };
  readonly wrongSignerIfHashedAsSent?: string;
  readonly hyperliquidChain?: string;
}

const vectors = JSON.parse(readFileSync(new URL('signing-vectors.json', import.meta.url), 'utf8')) as readonly Vector[];
const of = (...schemes: string[]): readonly Vector[] => vectors.filter(({ scheme }) => schemes.includes(scheme));

let crypto: Crypto;
beforeAll(async () => void (crypto = await loadCrypto(createRecordedLog())));

const ordered = (value: unknown): Json => readOrderedJson(Buffer.from(JSON.stringify(value)));
const orderedObject = (value: unknown): JsonObject => {
  const json = ordered(value);
  if (!isObject(json)) throw new TypeError('no object');
  return json;
};
const signatureOf = (signature: WireSignature | undefined): RecoverableSignature => {
  const read = readWireSignature(ordered(signature));
  if (read === null) throw new TypeError('no signature');
  return read;
};
const typeOf = (action: JsonObject): string => {
  const type = action.get('type');
  return typeof type === 'string' ? type : '';
};
const lower = (text: string | undefined): string => (text ?? '').toLowerCase();
const extrasOf = ({ nonce, vaultAddress, expiresAfter }: Vector) => ({
  nonce: BigInt(nonce ?? 0),
  vault: (vaultAddress ?? null) as Address | null,
  expiresAfter: expiresAfter === null || expiresAfter === undefined ? null : BigInt(expiresAfter),
});

/** As the exchange handler reads an action: by the schema of its type, else as it was sent. */
function formsOf(action: JsonObject): Decoded<unknown>['forms'] {
  const row = ACTIONS.get(typeOf(action));
  return row?.scheme === 'l1' && row.schema !== 'any' ? decodeAction(row.schema, action).forms : asSentOnly(action);
}

const signersOf = (action: JsonObject, extras: ReturnType<typeof extrasOf>, signature: RecoverableSignature) =>
  createRecoverSigners(crypto)(formsOf(action), extras, signature);

function signedType(type: string): UserSignedType {
  const row = ACTIONS.get(type);
  if (row?.scheme !== 'user-signed') throw new TypeError(`${type} is not user-signed`);
  return row.signed;
}

const walletOf = (action: JsonObject, signature: RecoverableSignature): string | null => {
  const type = signedType(typeOf(action));
  return crypto.recover(userSignedDigest(crypto.keccak, type, readUserSigned(type, action)), signature);
};

describe('the published signing vectors', () => {
  it('are all here', () => expect(vectors).toHaveLength(64));

  it.each(of('l1'))('$id hashes to what its client hashes', ({ action, computedHash, expected, ...vector }) => {
    const hash = bytesToHex(actionHash(crypto.keccak, ordered(action), extrasOf(vector)));
    expect(hash).toBe(expected?.hash ?? computedHash);
    expect(hash).toBe(computedHash);
  });

  it.each(of('l1').filter(({ expected }) => expected?.mainnet ?? expected?.testnet))(
    '$id recovers its signer on each network',
    (vector) => {
      const action = orderedObject(vector.action);
      for (const [network, signature] of [
        ['a', vector.expected?.mainnet],
        ['b', vector.expected?.testnet],
      ] as const) {
        if (signature === undefined) continue;
        const found = signersOf(action, extrasOf(vector), signatureOf(signature)).find(({ signer }) => signer === lower(vector.signer));
        expect(found).toMatchObject({ network });
      }
    },
  );

  it.each(of('user-signed'))('$id recovers the wallet on the domain that it names', (vector) => {
    const action = orderedObject(vector.action);
    expect(walletOf(action, signatureOf(vector.expected?.signature))).toBe(lower(vector.signer));
    const { name, fields } = signedType(typeOf(action));
    expect(`HyperliquidTransaction:${name}`).toBe(vector.primaryType);
    expect(fields).toEqual(vector.types);
  });

  it.each(of('captured-body'))('$id is understood as its client sent it', (vector) => {
    const envelope = readEnvelope(readOrderedJson(Buffer.from(vector.rawBody ?? '')));
    if (vector.kind === 'user-signed') return expect(walletOf(envelope.action, envelope.signature)).toBe(lower(vector.signer));
    const found = createRecoverSigners(crypto)(formsOf(envelope.action), envelope, envelope.signature).find(
      ({ signer }) => signer === lower(vector.signer),
    );
    expect(found).toMatchObject({ network: vector.source });
    expect(bytesToHex(found?.actionHash ?? new Uint8Array())).toBe(vector.computedHash);
  });

  it.each(of('multisig-l1', 'multisig-user'))('$id recovers who sent it', (vector) => {
    const digests = multiSigDigests(crypto.keccak, orderedObject(vector.action), extrasOf(vector));
    const signers = digests.map((digest) => crypto.recover(digest, signatureOf(vector.expected?.outer)));
    expect(signers[vector.hyperliquidChain === 'Mainnet' ? 0 : 1]).toBe(lower(vector.signer));
  });

  it.each(of('l1-connectionId'))('$id recovers from a connection id alone', ({ connectionId, expected, signer }) => {
    const digest = createPhantomDigest(crypto.keccak);
    const hash = hexToBytes(connectionId as Hex);
    expect(crypto.recover(digest(hash, 'a'), signatureOf(expected?.mainnet))).toBe(lower(signer));
    expect(crypto.recover(digest(hash, 'b'), signatureOf(expected?.testnet))).toBe(lower(signer));
  });

  it.each(of('recover-l1'))('$id recovers from numbers without their zeros', ({ body, recovered }) => {
    const envelope = readEnvelope(ordered(body));
    const found = createRecoverSigners(crypto)(formsOf(envelope.action), envelope, envelope.signature);
    expect(Object.fromEntries(found.map(({ network, signer }) => [network, signer]))).toEqual(
      Object.fromEntries(Object.entries(recovered as { a: string; b: string }).map(([network, address]) => [network, lower(address)])),
    );
  });

  it.each(of('recover-user'))('$id recovers the wallet of a web page', ({ body, recovered }) => {
    const { action, signature } = readEnvelope(ordered(body));
    expect(walletOf(action, signature)).toBe(lower(recovered as string));
  });

  it.each(of('derived-reorder'))('$id passes in the order of the schema and fails as it was sent', (vector) => {
    const { action, signature, ...extras } = readEnvelope(readOrderedJson(Buffer.from(vector.rawBody ?? '')));
    const found = createRecoverSigners(crypto)(formsOf(action), extras, signature);
    expect(found.find(({ signer }) => signer === lower(vector.signer))).toMatchObject({ form: 'canonical' });
    expect(found.filter(({ form }) => form === 'as-sent').map(({ signer }) => signer)).toContain(lower(vector.wrongSignerIfHashedAsSent));
  });

  it.each(of('rust-binary-address'))('$id packs an address as raw bytes', ({ expected }) => {
    const action = new Map<string, string | bigint | Uint8Array>([
      ['type', 'approveBuilderFee'],
      ['signatureChainId', '0x66eee'],
      ['hyperliquidChain', 'Mainnet'],
      ['builder', hexToBytes('0x1234567890123456789012345678901234567890')],
      ['maxFeeRate', '0.001%'],
      ['nonce', 1583838n],
    ]);
    expect(bytesToHex(actionHash(crypto.keccak, action, { nonce: 1583838n, vault: null, expiresAfter: null }))).toBe(expected?.hash);
  });
});

describe('packing', () => {
  const smallest = -(2n ** 63n);
  const largest = 2n ** 64n - 1n;
  const byEdges = fc
    .tuple(fc.constantFrom(5n, 7n, 8n, 15n, 16n, 31n, 32n, 53n, 63n, 64n), fc.constantFrom(1n, -1n), fc.bigInt({ min: -2n, max: 2n }))
    .map(([bits, sign, off]) => sign * 2n ** bits + off)
    .filter((value) => value >= smallest && value <= largest);
  const integer = fc.oneof(fc.bigInt({ min: smallest, max: largest }), byEdges, fc.nat().map(BigInt));
  const text = fc.string({ unit: fc.constantFrom('a', '0', '.', 'é', '€', '𝄞'), maxLength: 12 });
  const key = fc.constantFrom('a', 'b', 'p', 's', 'r', 't', 'c', 'orders', 'grouping', 'é', '', '01', '-1', '1.5', 'x'.repeat(32));
  const { object } = fc.letrec<{ object: JsonObject; tree: Json }>((tie) => ({
    object: fc.uniqueArray(fc.tuple(key, tie('tree')), { maxLength: 6, selector: ([name]) => name }).map((pairs) => new Map(pairs)),
    tree: fc.oneof(
      { maxDepth: 3, depthSize: 'small' },
      fc.oneof(integer, text, fc.boolean(), fc.constant(null)),
      fc.array(tie('tree'), { maxLength: 4 }),
      tie('object'),
    ),
  }));
  const action = object.map((fields): JsonObject => new Map<string, Json>([['type', 'order'], ...fields]));
  const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
  const nested = (depth: number): Json => (depth === 1 ? 1n : [nested(depth - 1)]);

  it('writes the bytes of a second packer, for 10,000 random actions', () => {
    fc.assert(
      fc.property(action, (value) => hex(packMessage(value)) === hex(packByHand(value))),
      { numRuns: 10_000 },
    );
  });

  it('writes the bytes of a second packer, for every action of the published vectors', () => {
    const actions = vectors.flatMap(({ action: sent, body, rawBody }) => [
      ...(sent === undefined ? [] : [orderedObject(sent)]),
      ...(body === undefined ? [] : [orderedObject(body)]),
      ...(rawBody === undefined ? [] : [readOrderedJson(Buffer.from(rawBody))]),
    ]);
    expect(actions.length).toBeGreaterThan(55);
    expect(actions.map((value) => hex(packMessage(value)))).toEqual(actions.map((value) => hex(packByHand(value))));
  });

  it('writes texts, lists and maps of every length as the shortest there is', () => {
    for (const count of [0, 15, 16, 31, 32, 255, 256, 65_535, 65_536]) {
      const list = Array.from({ length: count }, () => null);
      const map = new Map(list.map((item, index) => [`k${index}`, item]));
      for (const letter of ['x', '€']) expect(Buffer.compare(packMessage(letter.repeat(count)), packByHand(letter.repeat(count)))).toBe(0);
      expect(Buffer.compare(packMessage(list), packByHand(list))).toBe(0);
      expect(Buffer.compare(packMessage(map), packByHand(map))).toBe(0);
    }
  });

  it('writes integers of every size as the shortest there is', () => {
    fc.assert(
      fc.property(integer, (value) => hex(packMessage(value)) === hex(packByHand(value))),
      { numRuns: 1_000 },
    );
    const written = [127n, 128n, 2n ** 32n - 1n, 2n ** 32n, largest, -32n, -33n, -(2n ** 31n), -(2n ** 31n) - 1n, smallest];
    expect(written.map((value) => hex(packMessage(value)))).toEqual([
      '7f',
      'cc80',
      'ceffffffff',
      'cf0000000100000000',
      'cfffffffffffffffff',
      'e0',
      'd0df',
      'd280000000',
      'd3ffffffff7fffffff',
      'd38000000000000000',
    ]);
    expect(() => packMessage(largest + 1n)).toThrow(UnpackableError);
    expect(() => packMessage(smallest - 1n)).toThrow(UnpackableError);
  });

  it('writes floats as clients do that pack a price as a number', () => {
    fc.assert(
      fc.property(
        fc.double({ noNaN: true, noDefaultInfinity: true }).filter((value) => !Number.isInteger(value)),
        (value) => hex(packMessage(value)) === hex(packByHand(value)),
      ),
    );
  });

  it('refuses keys that a plain object would put in another order', () => {
    for (const name of ['0', '1', '4294967294', '9'.repeat(30)])
      expect(() => packMessage(new Map([['a', new Map([[name, 1n]])]]))).toThrow(UnpackableError);
  });

  it.each(['__proto__', 'constructor', 'toString'])('packs the key %s like any other', (key) => {
    const message = new Map<string, Json>([
      ['type', 'order'],
      [key, 'value'],
    ]);
    expect(packMessage(message)).toEqual(packByHand(message));
  });

  it('packs 100 levels and refuses one more', () => {
    expect(hex(packMessage(nested(100)))).toBe(`${'91'.repeat(99)}01`);
    expect(() => packMessage(nested(101))).toThrow(UnpackableError);
  });
});

describe('the digest of user-signed actions', () => {
  const types = ['string', 'address', 'bool', 'uint32', 'uint64', 'bytes', 'bytes32'] as const;
  const hex = (bytes: number) => fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((value) => bytesToHex(value));
  const valueOf = {
    string: fc.string({ unit: 'grapheme', maxLength: 40 }),
    address: hex(20),
    bool: fc.boolean(),
    uint32: fc.nat(),
    uint64: fc.maxSafeInteger().map(Math.abs),
    bytes: fc.uint8Array({ maxLength: 70 }).map((value) => bytesToHex(value)),
    bytes32: hex(32),
  };
  const fields = fc.array(
    fc.constantFrom(...types).chain((type) => valueOf[type].map((value) => ({ type, value }))),
    { minLength: 1, maxLength: 6 },
  );

  it.each([
    ['uint32', 2n ** 32n - 1n],
    ['uint64', 2n ** 64n - 1n],
  ] as const)('is made of a %s from 0 to its highest value', (type, most) => {
    const read = (value: bigint) => {
      const action: JsonObject = new Map<string, Json>([
        ...orderedObject({ signatureChainId: '0x1', hyperliquidChain: 'Testnet' }),
        ['field', value],
      ]);
      return readUserSigned(userSigned('Probe', `${type} field`), action).values.get('field');
    };
    expect([read(0n), read(most)]).toEqual([0n, most]);
    for (const wrong of [-1n, most + 1n]) expect(() => read(wrong)).toThrow(/must be a uint/);
  });

  it('is made of hex in lower case, and of texts as they are', () => {
    const type = userSigned('Probe', 'address a', 'bytes b', 'bytes32 c', 'string d');
    const [a, b, c, d] = [`0x${'aB'.repeat(20)}`, '0xCD', `0x${'eF'.repeat(32)}`, '0xAb'];
    const action = { signatureChainId: '0x1', hyperliquidChain: 'Testnet', a, b, c, d };
    expect([...readUserSigned(type, orderedObject(action)).values.values()]).toEqual(
      [a, b, c].map((text) => text.toLowerCase()).concat('0xAb'),
    );
  });

  it('is the one that wallets compute, for any fields and any chain', () => {
    fc.assert(
      fc.property(fields, fc.integer({ min: 1, max: 2 ** 40 }), (given, chainId) => {
        const named = given.map((field, index) => ({ ...field, name: `field${index}` }));
        const type = userSigned('Probe', 'string hyperliquidChain', ...named.map(({ type: kind, name }) => `${kind} ${name}` as const));
        const action = {
          signatureChainId: `0x${chainId.toString(16)}`,
          hyperliquidChain: 'Testnet',
          ...Object.fromEntries(named.map(({ name, value }) => [name, value])),
        };
        const digest = userSignedDigest(crypto.keccak, type, readUserSigned(type, orderedObject(action)));
        const wanted = TypedDataEncoder.hash(
          { name: 'HyperliquidSignTransaction', version: '1', chainId, verifyingContract: `0x${'0'.repeat(40)}` },
          { 'HyperliquidTransaction:Probe': type.fields.map((field) => ({ ...field })) },
          action,
        );
        expect(bytesToHex(digest)).toBe(wanted);
      }),
    );
  });
});

describe('the canonical form', () => {
  const decimal = fc.tuple(fc.nat(10 ** 6), fc.nat(10 ** 6)).map(([whole, part]) => `${whole}.${part}`);
  const padded = decimal.chain((text) =>
    fc.tuple(fc.nat(3), fc.nat(3)).map(([front, back]) => ({ text, padded: '0'.repeat(front) + text + '0'.repeat(back) })),
  );
  const cloid = fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => bytesToHex(bytes));
  const item = fc.record({
    a: fc.nat(200),
    b: fc.boolean(),
    p: padded,
    s: padded,
    r: fc.boolean(),
    c: fc.option(cloid, { nil: undefined }),
    tif: fc.constantFrom('Gtc', 'Ioc', 'Alo'),
  });
  const shortest = (text: string): string => text.replace(/\.?0+$/, '');

  /** The same orders twice: in the words of the schema, and as a careless client may write them. */
  const pair = fc.array(item, { minLength: 1, maxLength: 4 }).chain((items) =>
    fc.infiniteStream(fc.boolean()).map((coin) => {
      const flip = (): boolean => coin.next().value === true;
      const shuffle = (value: Record<string, unknown>): Record<string, unknown> =>
        Object.fromEntries(flip() ? Object.entries(value).reverse() : Object.entries(value));
      const t = (tif: string) => ({ limit: { tif } });
      const canonical = {
        type: 'order',
        orders: items.map(({ a, b, p, s, r, c, tif }) => ({
          a,
          b,
          p: shortest(p.text),
          s: shortest(s.text),
          r,
          t: t(tif),
          ...(c === undefined ? {} : { c }),
        })),
        grouping: 'na',
      };
      const careless = shuffle({
        type: 'order',
        orders: items.map(({ a, b, p, s, r, c, tif }) =>
          shuffle({
            a,
            b,
            p: p.padded,
            s: s.padded,
            r,
            t: t(tif),
            ...(c === undefined ? (flip() ? { c: null } : {}) : { c: flip() ? `0x${c.slice(2).toUpperCase()}` : c }),
          }),
        ),
        grouping: 'na',
        ...(flip() ? { builder: null } : {}),
      });
      return { canonical, careless };
    }),
  );
  const orderRow = () => {
    const row = ACTIONS.get('order');
    if (row?.scheme !== 'l1' || row.schema === 'any') throw new TypeError('no schema');
    return row.schema;
  };

  it('means the same however it was written, and is hashed once when it was written well', () => {
    fc.assert(
      fc.property(pair, ({ canonical, careless }) => {
        const [well, badly] = [canonical, careless].map((action) => decodeAction(orderRow(), orderedObject(action)));
        expect(badly?.action).toEqual(well?.action);
        expect(well?.forms).toHaveLength(1);
        expect(isSame(well?.forms[0]?.json, ordered(canonical))).toBe(true);
      }),
    );
  });

  it('never needs more than four recoveries', () => {
    fc.assert(
      fc.property(pair, ({ careless }) => {
        expect(decodeAction(orderRow(), orderedObject(careless)).forms.length * 2).toBeLessThanOrEqual(4);
      }),
    );
  });

  it('finds the signer whether the client hashed the short spelling or what it sent', () => {
    const wallet = new Wallet(generatePrivateKey());
    const order = (p: string) => ({
      type: 'order',
      orders: [{ a: 1, b: true, p, s: '1', r: false, t: { limit: { tif: 'Gtc' } } }],
      grouping: 'na',
    });
    const extras = { nonce: 7n, vault: null, expiresAfter: null };
    for (const hashed of ['100.50', '100.5']) {
      const hash = actionHash(crypto.keccak, ordered(order(hashed)), extras);
      const digest = createPhantomDigest(crypto.keccak)(hash, 'b');
      const { r, s, v } = wallet.signingKey.sign(digest);
      const found = signersOf(orderedObject(order('100.50')), extras, signatureOf({ r, s, v }));
      expect(found.map(({ signer }) => signer)).toContain(lower(wallet.address));
      expect(found).toHaveLength(4);
    }
  });
});
