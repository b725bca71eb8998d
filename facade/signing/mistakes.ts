import type { Keccak } from '../../core/access/signature.js';
import {
  actionHash,
  hashedBytes,
  join,
  uint64,
  vaultBytes,
  packMessage,
  type Packable,
  createPhantomDigest,
  L1_DOMAIN,
  NETWORK_WORDS,
} from './l1-signature.js';
import type { HashExtras } from './read-body.js';
import { isArray, isObject, writeOrderedJson, type Json } from './ordered-json.js';

/** An action with an unknown signer, as it should have been signed. */
export interface Misfit {
  readonly keccak: Keccak;
  readonly canonical: Json;
  readonly extras: HashExtras;
  /** The requested chain's id, which some clients mistake for the signing chain's. */
  readonly chainId: number;
}

/** A common signing mistake, and the digests that result from it. */
export interface Mistake {
  readonly says: string;
  readonly digests: (misfit: Misfit) => readonly Uint8Array[];
}

const encoder = new TextEncoder();
const ZERO = '0x0000000000000000000000000000000000000000';

/** Both networks, as each mistake may occur on either. */
const phantoms = ({ keccak }: Misfit, hashes: readonly Uint8Array[]): Uint8Array[] => {
  const digest = createPhantomDigest(keccak);
  return hashes.flatMap((hash) => NETWORK_WORDS.map((network) => digest(hash, network)));
};

const otherAction =
  (change: (json: Json) => Packable) =>
  (misfit: Misfit): Uint8Array[] =>
    phantoms(misfit, [actionHash(misfit.keccak, change(misfit.canonical), misfit.extras)]);

const otherExtras =
  (change: (extras: HashExtras) => HashExtras | null) =>
  (misfit: Misfit): Uint8Array[] => {
    const extras = change(misfit.extras);
    return extras === null ? [] : phantoms(misfit, [actionHash(misfit.keccak, misfit.canonical, extras)]);
  };

const otherBytes =
  (bytes: (misfit: Misfit) => readonly Uint8Array[]) =>
  (misfit: Misfit): Uint8Array[] =>
    phantoms(misfit, [misfit.keccak(join(bytes(misfit)))]);

/** Maps every text and number of an action by its key. */
const walk = (json: Json, change: (key: string, value: Json) => Packable): Packable => {
  if (isObject(json))
    return new Map([...json].map(([key, value]) => [key, isObject(value) || isArray(value) ? walk(value, change) : change(key, value)]));
  return isArray(json) ? json.map((item) => walk(item, change)) : json;
};

const FIGURES = new Set(['p', 's', 'triggerPx']);
const onFigures = (change: (text: string) => Packable) => (json: Json) =>
  walk(json, (key, value) => (FIGURES.has(key) && typeof value === 'string' ? change(value) : value));
const onCloids = (change: (text: string) => Packable) => (json: Json) =>
  walk(json, (key, value) => ((key === 'c' || key === 'cloid') && typeof value === 'string' ? change(value) : value));
const sorted = (json: Json): Json => {
  if (isArray(json)) return json.map(sorted);
  return isObject(json) ? new Map([...json].sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, value]) => [key, sorted(value)])) : json;
};
const without =
  (...keys: readonly string[]) =>
  (json: Json): Json => {
    if (isArray(json)) return json.map(without(...keys));
    return isObject(json)
      ? new Map([...json].filter(([key]) => !keys.includes(key)).map(([key, value]) => [key, without(...keys)(value)]))
      : json;
  };
const onDomain =
  (domain: (misfit: Misfit) => { name?: string; chainId?: bigint }) =>
  (misfit: Misfit): Uint8Array[] => {
    const digest = createPhantomDigest(misfit.keccak, { ...L1_DOMAIN, ...domain(misfit) });
    const hash = actionHash(misfit.keccak, misfit.canonical, misfit.extras);
    return NETWORK_WORDS.map((network) => digest(hash, network));
  };
const asSource =
  (...words: readonly string[]) =>
  (misfit: Misfit): Uint8Array[] => {
    const hash = actionHash(misfit.keccak, misfit.canonical, misfit.extras);
    return words.map((source) => createPhantomDigest(misfit.keccak)(hash, source));
  };

const littleEndian = (value: bigint): Uint8Array => uint64(value).reverse();

/** Likeliest first. Each is tried on both networks, with a text that says what to change. */
export const MISTAKES: readonly Mistake[] = [
  {
    says: 'the keys of the action were sorted by name before it was hashed; their order has to be that of the API',
    digests: otherAction(sorted),
  },
  {
    says: 'prices and sizes were hashed with a trailing ".0"; trailing zeros have to be removed before hashing',
    digests: otherAction(onFigures((text) => (text.includes('.') ? `${text}0` : `${text}.0`))),
  },
  {
    says: 'prices and sizes were hashed as numbers; they are texts',
    digests: otherAction(onFigures((text) => (/^\d{1,15}$/.test(text) ? BigInt(text) : Number(text)))),
  },
  { says: 'the cloid was hashed in capital letters', digests: otherAction(onCloids((text) => `0x${text.slice(2).toUpperCase()}`)) },
  { says: 'the cloid was hashed without its 0x', digests: otherAction(onCloids((text) => text.slice(2))) },
  { says: 'the cloid was sent but not hashed', digests: otherAction(without('c')) },
  { says: 'the builder was sent but not hashed', digests: otherAction(without('builder')) },
  { says: 'the grouping was not hashed', digests: otherAction(without('grouping')) },
  { says: 'the type of the action was not hashed', digests: otherAction(without('type')) },
  {
    says: 'the vault address was sent but not hashed',
    digests: otherExtras((extras) => (extras.vault === null ? null : { ...extras, vault: null })),
  },
  {
    says: 'a vault address of zeros was hashed; without a vault a single zero byte stands there',
    digests: otherExtras((extras) => (extras.vault === null ? { ...extras, vault: ZERO } : null)),
  },
  {
    says: 'expiresAfter was sent but not hashed',
    digests: otherExtras((extras) => (extras.expiresAfter === null ? null : { ...extras, expiresAfter: null })),
  },
  {
    says: 'the byte before expiresAfter was hashed as 01; it is 00',
    digests: (misfit) => {
      const { extras, canonical } = misfit;
      if (extras.expiresAfter === null) return [];
      const { expiresAfter } = extras;
      return otherBytes(() => [hashedBytes(canonical, { ...extras, expiresAfter: null }), Uint8Array.of(1), uint64(expiresAfter)])(misfit);
    },
  },
  {
    says: 'the nonce was not hashed',
    digests: otherBytes(({ canonical, extras: { vault } }) => [packMessage(canonical), vaultBytes(vault)]),
  },
  {
    says: 'the nonce was hashed with its bytes in reverse; they are big-endian',
    digests: otherBytes(({ canonical, extras: { nonce, vault } }) => [packMessage(canonical), littleEndian(nonce), vaultBytes(vault)]),
  },
  {
    says: 'the byte that says whether there is a vault was not hashed',
    digests: otherBytes(({ canonical, extras: { nonce } }) => [packMessage(canonical), uint64(nonce)]),
  },
  { says: 'only the action was hashed, without nonce and vault', digests: otherBytes(({ canonical }) => [packMessage(canonical)]) },
  {
    says: 'the action was hashed as JSON; it is packed with MessagePack first',
    digests: otherBytes(({ canonical, extras: { nonce, vault } }) => [
      encoder.encode(writeOrderedJson(canonical)),
      uint64(nonce),
      vaultBytes(vault),
    ]),
  },
  {
    says: 'the source was neither "a" nor "b": sign with "a" as on mainnet, or with "b" as on testnet',
    digests: asSource('Mainnet', 'Testnet', 'mainnet', 'testnet', 'A', 'B', ''),
  },
  {
    says: 'it was signed on the domain of this chain; the domain of actions has the chain id 1337',
    digests: onDomain(({ chainId }) => ({ chainId: BigInt(chainId) })),
  },
  {
    says: 'it was signed on the domain of another chain; the domain of actions has the chain id 1337',
    digests: (misfit) => [1n, 42161n, 421614n, 998n, 999n].flatMap((chainId) => onDomain(() => ({ chainId }))(misfit)),
  },
  {
    says: 'it was signed on the domain HyperliquidSignTransaction; that of actions is called Exchange',
    digests: onDomain(() => ({ name: 'HyperliquidSignTransaction' })),
  },
  {
    says: 'the hash was signed as a personal message; it has to be signed as typed data',
    digests: ({ keccak, canonical, extras }) => {
      const hash = actionHash(keccak, canonical, extras);
      return [hash, keccak(join([encoder.encode('\u0019Ethereum Signed Message:\n32'), hash]))];
    },
  },
];
