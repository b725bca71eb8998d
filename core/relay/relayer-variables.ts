import { chainVariable, type ChainSlug } from '../chains.js';
import { LANE_VARIABLES, readLaneConfig, type LaneConfig } from './lane-variables.js';
import { readKeys, readKeystores, type Keystore } from './relayer-variables-keys.js';
import { readSigner, type SignerConfig } from './relayer-variables-signer.js';

export interface RelayerConfig {
  /** A function, so that nothing that prints a configuration prints them. */
  readonly keys: () => readonly `0x${string}`[];
  readonly keystores?: readonly Keystore[];
  /** Holds keys that never come here. */
  readonly signer?: SignerConfig | null;
  /** Wei per gas that is never passed. */
  readonly maxFeePerGas: bigint;
  readonly lane?: LaneConfig;
  /** A drill costs gas and holds the lane up for a moment: real chains have to allow it. */
  readonly areDrillsAllowed?: boolean;
  /** What is not wrong, but should be better; said when the relayer starts. */
  readonly warnings?: readonly string[];
}

/** The text of a file, or a throw. */
export type ReadText = (path: string) => string;

/** Where the settings of a chain come from, and where what is wrong with them goes. */
export interface ChainSource {
  readonly variables: Readonly<Record<string, string>>;
  readonly readText: ReadText;
  /** Whether others than its owner may read the file. */
  readonly isShared?: (path: string) => boolean;
  readonly problems: string[];
}

/** Read by this process and nobody it starts. */
const SECRET_VARIABLES = ['RELAYER_KEY', 'RELAYER_KEYSTORE_PASSWORD', 'RELAYER_SIGNER_TOKEN'] as const;

const OTHER_SECRETS: ReadonlySet<string> = new Set(['OPERATOR_TOKEN', 'ALERT_WEBHOOK_SECRET', 'ALERT_WEBHOOK_URL']);

export const RELAYER_VARIABLES = [
  ...SECRET_VARIABLES,
  'RELAYER_KEY_FILE',
  'RELAYER_KEYSTORE',
  'RELAYER_KEYSTORE_PASSWORD_FILE',
  'RELAYER_SIGNER_URL',
  'RELAYER_SIGNER_WALLETS',
  'RELAYER_SIGNER_TOKEN_FILE',
  'RELAYER_MAX_FEE_GWEI',
  ...LANE_VARIABLES,
  'RELAYER_DRILLS',
] as const;

/** Of every name that begins like one of them. */
export const RELAYER_PREFIX = /^RELAYER_(?:KEY|KEYSTORE|SIGNER|MAX_FEE_GWEI|STUCK_SECONDS|RECLAIM|DRILLS)_/;

const DEFAULT_MAX_FEE_GWEI = '100';
const GWEI = 1_000_000_000n;

/** Who sends on this chain; null where nobody is named. No problem quotes a value: it is a secret, or was meant to be one. */
export function readRelayer(slug: ChainSlug, source: ChainSource): RelayerConfig | null {
  const maxFeePerGas = readMaxFee(slug, source);
  const areDrillsAllowed = readDrills(slug, source);
  const lane = readLaneConfig(slug, source);
  const warnings: string[] = [];
  const parts = { slug, source, warnings };
  const [keys, keystores, signer] = [readKeys(parts), readKeystores(parts), readSigner(parts)];
  if (keys.length === 0 && keystores.length === 0 && signer === null) return null;
  return { keys: () => keys, keystores, signer, maxFeePerGas, lane, areDrillsAllowed, warnings };
}

/** Each has a lane, and each lane a connection of its own. */
export const walletCount = ({ keys, keystores = [], signer = null }: RelayerConfig): number =>
  keys().length + keystores.length + (signer?.wallets.length ?? 0);

/** What this process starts inherits what is left, and needs none of these. Its own beginning stays in sight of its user: files are better. */
export function forgetSecrets(environment: Record<string, string | undefined>): void {
  for (const name of Object.keys(environment))
    if (OTHER_SECRETS.has(name) || SECRET_VARIABLES.some((secret) => name.startsWith(`${secret}_`) && !name.startsWith(`${secret}_FILE_`)))
      Reflect.deleteProperty(environment, name);
}

function readMaxFee(slug: ChainSlug, { variables, problems }: ChainSource): bigint {
  const name = chainVariable('RELAYER_MAX_FEE_GWEI', slug);
  const fee = variables[name] ?? DEFAULT_MAX_FEE_GWEI;
  if (/^[1-9]\d{0,8}$/.test(fee)) return BigInt(fee) * GWEI;
  problems.push(`${name} must be a whole number of gwei`);
  return 0n;
}

function readDrills(slug: ChainSlug, { variables, problems }: ChainSource): boolean {
  const name = chainVariable('RELAYER_DRILLS', slug);
  const said = variables[name] ?? 'refuse';
  if (said !== 'allow' && said !== 'refuse') problems.push(`${name} must be allow or refuse`);
  return said === 'allow';
}

/** Null where the file cannot be read; why not may quote its path, which may be the key of somebody who mixed the two up. */
export function readSecret(readText: ReadText, path: string): string | null {
  try {
    return readText(path);
  } catch {
    return null;
  }
}

/** `fetch` takes no address with a name and a password in it: every call would fail, and its error quotes them. */
export function hasUserInfo(url: URL): boolean {
  return url.username !== '' || url.password !== '';
}
