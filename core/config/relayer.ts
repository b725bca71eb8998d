import { parseEther } from 'viem/utils';
import { chainBySlug, chainVariable, type ChainSlug } from '../chains/chains.js';
import { NATIVE_AMOUNT, type Source } from './source.js';
import { readKeys, readKeystores, readSigner, type Keystore, type SignerConfig } from './relayer-keys.js';

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

const LANE_VARIABLES = ['RELAYER_STUCK_SECONDS', 'RELAYER_RECLAIM'] as const;

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

export const GWEI = 1_000_000_000n;

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

/** Waiting times of a lane, in ms. */
export interface LaneWaits {
  /** Unmined for this long: sent again, or replaced with a higher fee. */
  readonly stuckMs: number;
  /** A job not mined this long after its deadline is given up. */
  readonly tooLateMs: number;
  /** How long a nonce used by a foreign transaction is checked before it counts as used: receipts may lag behind nonces. */
  readonly doubtMs: number;
  /** How long a failing node is retried before the lane is blocked. */
  readonly patienceMs: number;
  /** How long the next transaction may wait for its block before the lane is blocked. */
  readonly jammedMs: number;
}

export const LANE_WAITS: LaneWaits = { stuckMs: 12_000, tooLateMs: 30_000, doubtMs: 30_000, patienceMs: 5_000, jammedMs: 30_000 };

/** How long after its deadline a job may still be sent. An order must not be published as over before that. Clocks of replicas differ. */
export const MAY_BE_SENT_MS = 2 * LANE_WAITS.tooLateMs;

/** Settings of a relayer's lanes. */
export interface LaneConfig {
  readonly waits: LaneWaits;
  /** Whether collateral of timed-out requests is reclaimed automatically for the trader. */
  readonly isReclaiming: boolean;
}

export const LANE_DEFAULTS: LaneConfig = { waits: LANE_WAITS, isReclaiming: true };

interface LaneSource {
  readonly variables: Readonly<Record<string, string>>;
  readonly problems: string[];
}

export function readLaneConfig(slug: ChainSlug, source: LaneSource): LaneConfig {
  return { waits: { ...LANE_WAITS, stuckMs: readStuck(slug, source) }, isReclaiming: readReclaim(slug, source) };
}

/** Slow chains need a longer wait; one that would stop a lane for minutes is a mistake. */
function readStuck(slug: ChainSlug, { variables, problems }: LaneSource): number {
  const name = chainVariable('RELAYER_STUCK_SECONDS', slug);
  const text = variables[name];
  if (text === undefined) return LANE_WAITS.stuckMs;
  if (/^\d{1,2}$/.test(text) && Number(text) >= 1 && Number(text) <= 60) return Number(text) * 1000;
  problems.push(`${name} must be 1 to 60 seconds`);
  return LANE_WAITS.stuckMs;
}

function readReclaim(slug: ChainSlug, { variables, problems }: LaneSource): boolean {
  const name = chainVariable('RELAYER_RECLAIM', slug);
  const text = variables[name] ?? 'on';
  if (text !== 'on' && text !== 'off') problems.push(`${name} must be on or off`);
  return text !== 'off';
}
