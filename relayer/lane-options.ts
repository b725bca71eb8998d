import type { DailyBudgetSetting, LaneWaits } from '../core/config/relayer.js';
import type { ChainDefinition, ChainSlug } from '../core/chains/chains.js';
import type { Clock } from '../core/ports/clock.js';
import type { Logger } from '../core/ports/log.js';
import type { Refusal, RelayJob, RelayStore } from '../core/ports/stores/relay.js';
import type { LaneRecoveryStore } from '../core/ports/stores/lane-recovery.js';
import type { TrackingStore } from '../core/ports/stores/tracking.js';
import type { RelayNode, SentHistory, Standing } from '../core/ports/relayer.js';
import type { Address, Hex } from '../core/types.js';
import type { ContinuityStore } from '../core/ports/stores/continuity.js';
import type { BudgetEvents, DailyBudget } from './daily-budget.js';
import type { FeeSettings } from './fees.js';
import type { LaneProblems } from './lane-problems.js';
import type { PolicySettings } from './policy.js';
import type { Signer } from './signer.js';
import type { Wallet } from './wallet.js';

export interface SignedJob {
  readonly job: RelayJob;
  readonly hash: Hex;
}

export type DeliverySettings = FeeSettings & Pick<LaneWaits, 'stuckMs' | 'tooLateMs'> & Pick<PolicySettings, 'isUncertain'>;

export interface DeliveryOptions {
  readonly definition: ChainDefinition & { readonly slug: ChainSlug };
  readonly signer: Signer;
  readonly node: RelayNode;
  readonly store: RelayStore;
  readonly settings: DeliverySettings;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called before transactions of orders are sent: their hashes must be stored before they can be mined. */
  readonly onSigned: (signed: readonly SignedJob[]) => Promise<void>;
  /** Called with every step of a job, after it is stored. */
  readonly onStep: (job: RelayJob) => void;
  /** Records why nothing can be sent, and when sending works again. */
  readonly problems: Pick<LaneProblems, 'report' | 'clear'>;
  /** What a replacement may cost. */
  readonly budget: Pick<DailyBudget, 'raise'>;
  /** A nonce is already used: the receipts should be checked soon. */
  readonly onNonceTooLow: () => void;
  /** Why nothing may be signed or sent while it is not known whether commits were lost; null if it may. Absent: it always may. */
  readonly held?: () => string | null;
  /** Called for a job that will never be sent. */
  readonly onRefused: (job: RelayJob) => Promise<void>;
}

export interface LaneRecovery {
  readonly store: LaneRecoveryStore;
  readonly history: SentHistory;
  readonly index: Pick<TrackingStore, 'cursor'>;
}

export interface LaneOptions extends Omit<DeliveryOptions, 'problems' | 'budget' | 'onNonceTooLow' | 'signer' | 'held'> {
  readonly wallet: Wallet;
  readonly settings: DeliverySettings & PolicySettings & LaneWaits;
  /** Whether the database still has what it acknowledged; absent: it has. */
  readonly continuity?: Pick<ContinuityStore, 'doubt' | 'lastLoss' | 'prove'>;
  /** With what a lane is compared with the chain after commits were lost; absent: it is not. */
  readonly recovery?: LaneRecovery;
  /** What the wallet may spend per day; absent: no limit. */
  readonly dailyBudget?: DailyBudgetSetting;
  readonly budgetEvents?: BudgetEvents;
  /** Whether the chain still has what these jobs close, cancel or change; absent: it has all. */
  readonly standing?: (jobs: readonly RelayJob[]) => Promise<ReadonlyMap<bigint, Standing>>;
  /** Called when the wallet sent so many transactions that are not stored. */
  readonly onForeign?: (wallet: Address, transactions: number) => Promise<void>;
  /** Called when these nonces are used after lost commits and nothing says by what. */
  readonly onUnexplained?: (wallet: Address, nonces: readonly number[]) => Promise<void>;
  /** Called for a job that its signed action does not explain: a row was written by something else than the gateway. */
  readonly onForged?: (job: RelayJob, refusal: Refusal) => Promise<void>;
}
