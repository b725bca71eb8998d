import type { ChainSlug } from '../../chains/chains.js';
import type { Address } from '../../types.js';

/**
 * running: as always · draining: what is queued is still sent, nothing new is taken · paused: nothing gets a nonce any more, what waits
 * for one is refused. What has a nonce is finished in every mode: a nonce left open would hold up whatever comes after it.
 */
export const SWITCH_MODES = ['running', 'draining', 'paused'] as const;
export type SwitchMode = (typeof SWITCH_MODES)[number];

/** What the operator has set for a wallet, or for all of a chain. */
export interface RelaySwitch {
  /** Null: every wallet of the chain. */
  readonly wallet: Address | null;
  readonly mode: SwitchMode;
  /** It takes no new traders. */
  readonly isRetiring: boolean;
  /** The operator's own words. */
  readonly reason: string | null;
  readonly changedAt: number;
}

/** How much a wallet has to do. */
export interface WalletWork {
  readonly wallet: Address;
  /** Waiting for a nonce. */
  readonly queued: number;
  /** With a nonce, and not settled. */
  readonly sent: number;
  /** Assigned to it. */
  readonly traders: number;
}

/** A gap that was made on purpose. */
export interface DrilledGap {
  /** The nonce that was left out. */
  readonly gap: number;
  /** The job behind it, which cannot be mined until somebody fills it. */
  readonly job: bigint;
}

export interface SwitchStore {
  all(chain: ChainSlug): Promise<RelaySwitch[]>;
  set(chain: ChainSlug, wallet: Address | null, change: Pick<RelaySwitch, 'mode' | 'reason'>, at: number): Promise<void>;
  retire(chain: ChainSlug, wallet: Address, isRetiring: boolean, at: number): Promise<void>;
  work(chain: ChainSlug, wallets: readonly Address[]): Promise<WalletWork[]>;
  /** By their addresses, from behind `after` on. */
  tradersOf(chain: ChainSlug, wallet: Address, page: { readonly after: Address | null; readonly atMost: number }): Promise<Address[]>;
  /** Only if it is still assigned to `from`; what it is assigned to afterwards. */
  moveTrader(chain: ChainSlug, trader: Address, from: Address, to: Address): Promise<Address>;
  /** Leaves out a nonce and gives the next one to a no-op; null where a job of the lane is open, and a gap would hold it up. */
  drillGap(chain: ChainSlug, wallet: Address, chainNonce: number, gas: bigint, at: number): Promise<DrilledGap | null>;
}

export interface WalletStanding {
  readonly mode: SwitchMode;
  readonly reason: string | null;
  readonly isRetiring: boolean;
}

const RUNNING: WalletStanding = { mode: 'running', reason: null, isRetiring: false };

/** Of its own switch and its chain's, the stricter one counts. */
export function standingOf(switches: readonly RelaySwitch[], wallet: Address): WalletStanding {
  const own = switches.find((each) => each.wallet === wallet) ?? RUNNING;
  const chains = switches.find((each) => each.wallet === null) ?? RUNNING;
  const { mode, reason } = SWITCH_MODES.indexOf(chains.mode) >= SWITCH_MODES.indexOf(own.mode) ? chains : own;
  return { mode, reason, isRetiring: own.isRetiring };
}

const DOES: Readonly<Record<Exclude<SwitchMode, 'running'>, string>> = {
  paused: 'is paused by its operator',
  draining: 'finishes what it has and takes nothing new',
};

/** For whoever asks for something new; null while it is taken. */
export function closedText({ mode, reason }: WalletStanding): string | null {
  if (mode === 'running') return null;
  const why = reason === null ? '' : `: ${reason}`;
  return `The relayer ${DOES[mode]}${why}. Nothing was sent; orders and positions can be managed from the trader's own wallet meanwhile.`;
}
