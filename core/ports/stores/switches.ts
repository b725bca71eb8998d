import type { ChainSlug } from '../../chains/chains.js';
import type { Address } from '../../types.js';

/**
 * running: normal · draining: queued jobs are sent, new ones are rejected · paused: no nonces are assigned, queued jobs are refused.
 * Jobs with a nonce are finished in every mode: a missing nonce would block all later ones.
 */
export const SWITCH_MODES = ['running', 'draining', 'paused'] as const;
export type SwitchMode = (typeof SWITCH_MODES)[number];

/** The operator's setting for a wallet, or for a whole chain. */
export interface RelaySwitch {
  /** Null: every wallet of the chain. */
  readonly wallet: Address | null;
  readonly mode: SwitchMode;
  /** It takes no new traders. */
  readonly isRetiring: boolean;
  /** The operator's text. */
  readonly reason: string | null;
  readonly changedAt: number;
}

/** The workload of a wallet. */
export interface WalletWork {
  readonly wallet: Address;
  /** Waiting for a nonce. */
  readonly queued: number;
  /** With a nonce, not confirmed. */
  readonly sent: number;
  /** Traders assigned to it. */
  readonly traders: number;
}

/** A nonce gap created by a drill. */
export interface DrilledGap {
  /** The skipped nonce. */
  readonly gap: number;
  /** The job after it, which cannot be mined until the gap is filled. */
  readonly job: bigint;
}

export interface SwitchStore {
  all(chain: ChainSlug): Promise<RelaySwitch[]>;
  set(chain: ChainSlug, wallet: Address | null, change: Pick<RelaySwitch, 'mode' | 'reason'>, at: number): Promise<void>;
  retire(chain: ChainSlug, wallet: Address, isRetiring: boolean, at: number): Promise<void>;
  work(chain: ChainSlug, wallets: readonly Address[]): Promise<WalletWork[]>;
  /** By address, after `after`. */
  tradersOf(chain: ChainSlug, wallet: Address, page: { readonly after: Address | null; readonly atMost: number }): Promise<Address[]>;
  /** Only if it is still assigned to `from`; returns the resulting assignment. */
  moveTrader(chain: ChainSlug, trader: Address, from: Address, to: Address): Promise<Address>;
  /** Skips a nonce and assigns the next one to a no-op; null while the lane has an open job, which the gap would block. */
  drillGap(chain: ChainSlug, wallet: Address, chainNonce: number, gas: bigint, at: number): Promise<DrilledGap | null>;
}

export interface WalletMode {
  readonly mode: SwitchMode;
  readonly reason: string | null;
  readonly isRetiring: boolean;
  /** Epoch ms of the last change of the switch that applies; null where it was never touched. */
  readonly changedAt: number | null;
}
