import { parseEther } from 'viem/utils';
import { chainBySlug, chainVariable, type ChainSlug } from '../chains/chains.js';
import { NATIVE_AMOUNT, type Source } from './source.js';
import { LANE_VARIABLES, readLaneConfig, type LaneConfig } from './lane.js';
import { readKeys, readKeystores, type Keystore } from './relayer-keys.js';
import { readSigner, type SignerConfig } from './relayer-signer.js';

/** Wei per wallet and day, or half of the wallet's highest balance of the day. */
export type DailyBudgetSetting = bigint | 'half' | 'unlimited';

export interface RelayerConfig {
  /** A function, so that printing the configuration does not reveal them. */
  readonly keys: () => readonly `0x${string}`[];
  readonly keystores?: readonly Keystore[];
  /** A remote signer, whose keys never enter this process. */
  readonly signer?: SignerConfig | null;
  /** Limit in wei per gas. */
  readonly maxFeePerGas: bigint;
  /** A wallet's spending limit per UTC day; absent: unlimited. */
  readonly dailyBudget?: DailyBudgetSetting;
  readonly lane?: LaneConfig;
  /** A drill costs gas and blocks the lane for a moment, so real chains must allow it explicitly. */
  readonly areDrillsAllowed?: boolean;
  /** Warnings logged when the relayer starts. */
  readonly warnings?: readonly string[];
}

/** Not inherited by child processes. */
const SECRETS = ['RELAYER_KEY', 'RELAYER_KEYSTORE_PASSWORD', 'RELAYER_SIGNER_URL', 'RELAYER_SIGNER_TOKEN'] as const;

export const RELAYER_VARIABLES = [
  ...SECRETS,
  'RELAYER_KEYSTORE',
  'RELAYER_SIGNER_WALLETS',
  'RELAYER_MAX_FEE_GWEI',
  'RELAYER_DAILY_BUDGET',
  ...LANE_VARIABLES,
  'RELAYER_DRILLS',
] as const;

/** Matches every name that starts like one of them. */
export const RELAYER_PREFIX = /^RELAYER_(?:KEY|KEYSTORE|SIGNER|MAX_FEE_GWEI|DAILY_BUDGET|STUCK_SECONDS|RECLAIM|DRILLS)_/;

const GWEI = 1_000_000_000n;

/** The chain's relayer; null without one. Problems never quote a value, because it may be a secret. */
export function readRelayer(slug: ChainSlug, source: Source): RelayerConfig | null {
  const maxFeePerGas = readMaxFee(slug, source);
  const dailyBudget = readBudget(slug, source);
  const areDrillsAllowed = readDrills(slug, source);
  const lane = readLaneConfig(slug, source);
  const warnings = SECRETS.flatMap((name) => source.warningsOf(chainVariable(name, slug)));
  const parts = { slug, source, warnings };
  const [keys, keystores, signer] = [readKeys(parts), readKeystores(parts), readSigner(parts)];
  if (keys.length === 0 && keystores.length === 0 && signer === null) return null;
  return { keys: () => keys, keystores, signer, maxFeePerGas, dailyBudget, lane, areDrillsAllowed, warnings };
}

/** Each wallet has a lane, and each lane its own connection. */
export const walletCount = ({ keys, keystores = [], signer = null }: RelayerConfig): number =>
  keys().length + keystores.length + (signer?.wallets.length ?? 0);

function readMaxFee(slug: ChainSlug, { variables, problems }: Source): bigint {
  const name = chainVariable('RELAYER_MAX_FEE_GWEI', slug);
  const fee = variables[name] ?? String(chainBySlug(slug).maxFeeGwei);
  if (/^[1-9]\d{0,8}$/.test(fee)) return BigInt(fee) * GWEI;
  problems.push(`${name} must be a whole number of gwei`);
  return 0n;
}

function readBudget(slug: ChainSlug, { variables, problems }: Source): DailyBudgetSetting {
  const name = chainVariable('RELAYER_DAILY_BUDGET', slug);
  const text = variables[name];
  if (text === undefined) return 'half';
  if (text === 'unlimited') return text;
  if (NATIVE_AMOUNT.test(text)) return parseEther(text);
  problems.push(`${name} must be an amount of the chain's coin such as 0.05, or unlimited`);
  return 'half';
}

function readDrills(slug: ChainSlug, { variables, problems }: Source): boolean {
  const name = chainVariable('RELAYER_DRILLS', slug);
  const said = variables[name] ?? 'refuse';
  if (said !== 'allow' && said !== 'refuse') problems.push(`${name} must be allow or refuse`);
  return said === 'allow';
}
