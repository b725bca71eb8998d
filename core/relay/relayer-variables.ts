import { chainVariable, type ChainSlug } from '../chains.js';
import { isDemoKey } from '../demo-key.js';

export interface RelayerConfig {
  /** A function, so that nothing that prints a configuration prints them. */
  readonly keys: () => readonly `0x${string}`[];
  /** Wei per gas that is never passed. */
  readonly maxFeePerGas: bigint;
}

/** The text of a file, or a throw. */
export type ReadText = (path: string) => string;

/** Where the settings of a chain come from, and where what is wrong with them goes. */
export interface ChainSource {
  readonly variables: Readonly<Record<string, string>>;
  readonly readText: ReadText;
  readonly problems: string[];
}

export const RELAYER_VARIABLES = ['RELAYER_KEY', 'RELAYER_KEY_FILE', 'RELAYER_MAX_FEE_GWEI'] as const;

const DEFAULT_MAX_FEE_GWEI = '100';
const GWEI = 1_000_000_000n;

/** Who sends on this chain; null where nobody is named. No problem quotes a value: it is a secret, or was meant to be one. */
export function readRelayer(slug: ChainSlug, { variables, readText, problems }: ChainSource): RelayerConfig | null {
  const maxFeePerGas = readMaxFee(slug, { variables, problems });
  const [inline, file] = [chainVariable('RELAYER_KEY', slug), chainVariable('RELAYER_KEY_FILE', slug)];
  const [text, path] = [variables[inline], variables[file]];
  if (text === undefined && path === undefined) return null;
  if (text !== undefined && path !== undefined) {
    problems.push(`${inline} and ${file} are both set; keep one of them`);
    return null;
  }
  const name = text === undefined ? file : inline;
  const read = readKeys(text ?? readSecret(readText, path ?? ''));
  if (typeof read === 'string') {
    problems.push(`${name} ${read}`);
    return null;
  }
  return { keys: () => read, maxFeePerGas };
}

function readMaxFee(slug: ChainSlug, { variables, problems }: Pick<ChainSource, 'variables' | 'problems'>): bigint {
  const name = chainVariable('RELAYER_MAX_FEE_GWEI', slug);
  const fee = variables[name] ?? DEFAULT_MAX_FEE_GWEI;
  if (/^[1-9]\d{0,8}$/.test(fee)) return BigInt(fee) * GWEI;
  problems.push(`${name} must be a whole number of gwei`);
  return 0n;
}

/** Null where the file cannot be read; why not may quote its path, which may be the key of somebody who mixed the two up. */
export function readSecret(readText: ReadText, path: string): string | null {
  try {
    return readText(path);
  } catch {
    return null;
  }
}

const PRIVATE_KEY = /^0x[0-9a-f]{64}$/;
/** Of secp256k1. */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

const isKey = (text: string): text is `0x${string}` => PRIVATE_KEY.test(text) && BigInt(text) > 0n && BigInt(text) < ORDER;

/** The keys, or what is wrong with them. */
function readKeys(text: string | null): readonly `0x${string}`[] | string {
  if (text === null) return 'must name a file that can be read';
  const keys = text
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((part) => part !== '');
  if (keys.length === 0 || !keys.every(isKey)) return 'must be private keys of 32 bytes in hex, separated by commas or line ends';
  if (new Set(keys).size < keys.length) return 'has a key twice';
  if (keys.some(isDemoKey)) return 'has a key of the sandbox, which everybody knows';
  return keys;
}
