import { concat, keccak256, stringToHex } from 'viem/utils';
import { chainVariable, type ChainSlug } from '../chains/chains.js';
import { hasUserInfo, readSecret, type Source } from './source.js';
import type { Address } from '../types.js';

/** Sources of a chain's keys. */
interface KeyParts {
  readonly slug: ChainSlug;
  readonly source: Source;
  readonly warnings: string[];
}

/** An encrypted key. Functions, so that printing the configuration does not reveal them. */
export interface Keystore {
  /** Its name in error messages. */
  readonly name: string;
  readonly json: () => string;
  readonly password: () => string;
}

type Key = `0x${string}`;

const PRIVATE_KEY = /^0x[0-9a-f]{64}$/;
/** Of secp256k1. */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

const isKey = (text: string): text is Key => PRIVATE_KEY.test(text) && BigInt(text) > 0n && BigInt(text) < ORDER;

/** Plain keys, from a variable or from a file. */
export function readKeys(parts: KeyParts): readonly Key[] {
  const { problems } = parts.source;
  const found = secretOf(parts, 'RELAYER_KEY');
  if (found === null) return [];
  const keys = listed(found.text);
  const problem = problemOf(keys);
  if (problem !== null) problems.push(`${found.name} ${problem}`);
  return problem === null ? keys.filter(isKey) : [];
}

function problemOf(keys: readonly string[]): string | null {
  if (keys.length === 0 || !keys.every(isKey)) return 'must be private keys of 32 bytes in hex, separated by commas or line ends';
  if (new Set(keys).size < keys.length) return 'has a key twice';
  return keys.some(isDemoKey) ? 'has a key of the sandbox, which is published' : null;
}

const listed = (text: string): string[] =>
  text
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((part) => part !== '');

/** Keystore files, all with the chain's one password. They are decrypted when the relayer starts, because that is slow. */
export function readKeystores(parts: KeyParts): readonly Keystore[] {
  const { variables, problems, readText } = parts.source;
  const name = chainVariable('RELAYER_KEYSTORE', parts.slug);
  const password = secretOf(parts, 'RELAYER_KEYSTORE_PASSWORD');
  const paths = (variables[name] ?? '').split(',').flatMap((path) => path.trim() || []);
  if (paths.length === 0) {
    if (password !== null) problems.push(`${password.name} is set, but ${name} names no file`);
    return [];
  }
  const texts = paths.map((path) => readSecret(readText, path));
  const areFiles = texts.every((text) => text !== null && isKeystore(text));
  if (!areFiles) problems.push(`${name} must name files of the JSON keystore format, separated by commas`);
  if (!parts.source.isGiven(chainVariable('RELAYER_KEYSTORE_PASSWORD', parts.slug)))
    problems.push(`${name} needs ${chainVariable('RELAYER_KEYSTORE_PASSWORD', parts.slug)} or its file`);
  if (!areFiles || password === null) return [];
  return texts.map((text, at) => ({
    name: paths.length === 1 ? name : `${name}, file ${at + 1},`,
    json: () => text ?? '',
    password: () => password.text,
  }));
}

function isKeystore(text: string): boolean {
  try {
    const read = JSON.parse(text) as { crypto?: unknown; Crypto?: unknown; version?: unknown } | null;
    return read !== null && Number(read.version) === 3 && typeof (read.crypto ?? read.Crypto) === 'object';
  } catch {
    return false;
  }
}

/** Null where there is none, or its file is invalid. */
function secretOf({ slug, source }: Omit<KeyParts, 'warnings'>, name: string): { name: string; text: string } | null {
  const setting = chainVariable(name, slug);
  const text = source.variables[setting];
  return text === undefined ? null : { name: source.nameOf(setting), text };
}

type Hex = `0x${string}`;

/** The first eight bytes of every sandbox key, whatever its seed: production recognises and refuses them. */
const MARK = keccak256(stringToHex('diamond-gateway sandbox account')).slice(0, 18);

/** Derived from the seed alone, and therefore public. */
export const demoKey = (seed: string, name: string): Hex =>
  `${MARK}${keccak256(concat([keccak256(stringToHex(seed)), stringToHex(name)])).slice(MARK.length)}` as Hex;

export const isDemoKey = (key: string): boolean => key.toLowerCase().startsWith(MARK);

/** A remote signer over HTTP. */
export interface SignerConfig {
  /** A function, because the path may be a secret. */
  readonly url: () => string;
  /** Null: none is required. */
  readonly token: (() => string) | null;
  /** Configured and not requested, so that an attacker who controls the signer cannot add wallets. */
  readonly wallets: readonly Address[];
}

const ADDRESS = /^0x[0-9a-f]{40}$/;
const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

export function readSigner(parts: KeyParts): SignerConfig | null {
  const { slug, source, warnings } = parts;
  const { variables, problems } = source;
  const [urlName, walletsName] = [chainVariable('RELAYER_SIGNER_URL', slug), chainVariable('RELAYER_SIGNER_WALLETS', slug)];
  const [text, listed] = [variables[urlName], variables[walletsName]];
  const token = secretOf(parts, 'RELAYER_SIGNER_TOKEN');
  if (text === undefined) {
    if (source.isGiven(urlName)) return null;
    for (const name of [...(listed === undefined ? [] : [walletsName]), ...(token === null ? [] : [token.name])])
      problems.push(`${name} is set, but ${urlName} is not`);
    return null;
  }
  const url = httpUrl(text);
  if (url === null)
    problems.push(`${source.nameOf(urlName)} must be an http or https URL without user info, query and fragment: its token goes elsewhere`);
  else if (url.protocol === 'http:' && !LOOPBACK.has(url.hostname))
    warnings.push(`${urlName} is not https: its token can be read on the network`);
  const wallets = (listed ?? '')
    .toLowerCase()
    .split(/[\s,]+/)
    .filter(isAddress);
  const isClean = wallets.length > 0 && wallets.join(',') === [...new Set(wallets)].join(',') && wallets.length === countOf(listed ?? '');
  if (!isClean) problems.push(`${walletsName} must be addresses separated by commas, none of them twice`);
  if (token !== null && !/^[\x21-\x7e]+$/.test(token.text)) problems.push(`${token.name} must be printable characters without a space`);
  return { url: () => text.replace(/\/+$/, ''), token: token && (() => token.text), wallets };
}

const isAddress = (text: string): text is Address => ADDRESS.test(text);
const countOf = (text: string): number => text.split(/[\s,]+/).filter((part) => part !== '').length;

function httpUrl(text: string): URL | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || hasUserInfo(url) || /[?#]/.test(text)) return null;
  return url.protocol === 'http:' || url.protocol === 'https:' ? url : null;
}
