import type { AdmissionStore, AccessStore } from './stores/access.js';
import type { SignerStore } from './stores/signers.js';
import type { OrdersStore, SpendStore } from './stores/orders.js';
import type { AccountStore } from './stores/account.js';
import type { ClosingSlippageStore, FacadeStore } from './stores/facade.js';
import type { TrackingStore } from './stores/tracking.js';
import type { CandleStore } from './stores/candles.js';
import type { ContinuityStore } from './stores/continuity.js';
import type { ContractStore } from './stores/contract.js';
import type { ContractStanding } from '../domain/contract-doubt.js';
import type { NotificationStore } from './stores/notifications.js';
import type { JournalStore } from './stores/journal.js';
import type { AlertStore, MetricsStore } from './stores/alerts.js';
import type { GasLedger } from './stores/gas.js';
import type { ExchangeStore } from './stores/exchange.js';
import type { RelaySwitch, SwitchStore } from './stores/switches.js';
import type { LaneRecoveryStore } from './stores/lane-recovery.js';
import type { LaneProblem, RelayStore } from './stores/relay.js';
import type { RulesStore } from './stores/rules.js';
import type { ChainSlug } from '../chains/chains.js';
import type { Address } from '../types.js';

/** What waits on a chain for a time or for another replica, as of one moment. */
export interface DueWork {
  readonly switches: readonly RelaySwitch[];
  /** Wallets with open jobs. */
  readonly busyWallets: readonly Address[];
  /** Why wallets cannot send, as the owners of their lanes stored it. Of the wallets asked for only; those that are not named can. */
  readonly laneProblems: readonly (LaneProblem & { readonly wallet: Address })[];
  /** The last indexed block; null before the first. */
  readonly indexedBlock: bigint | null;
  /** What the contract logged and changed. */
  readonly contract: ContractStanding;
  /** Prepared orders whose time is over. */
  readonly orders: boolean;
  /** Prepared orders with a known hash. */
  readonly sentOrders: boolean;
  /** Spending reserved by changes that were not sent in time. */
  readonly reservations: boolean;
  /** Scheduled cancels. */
  readonly schedules: boolean;
  /** Collateral of requests without an answer. */
  readonly reclaims: boolean;
  readonly closingSlippages: boolean;
}

/** All persistent state, one interface per aggregate. */
export interface Store {
  readonly tracking: TrackingStore;
  readonly account: AccountStore;
  readonly orders: OrdersStore;
  readonly access: AccessStore;
  readonly switches: SwitchStore;
  readonly spend: SpendStore;
  readonly candles: CandleStore;
  readonly contract: ContractStore;
  readonly continuity: ContinuityStore;
  readonly admission: AdmissionStore;
  readonly signers: SignerStore;
  readonly journal: JournalStore;
  readonly relay: RelayStore;
  readonly recovery: LaneRecoveryStore;
  readonly gas: GasLedger;
  readonly alerts: AlertStore;
  readonly metrics: MetricsStore;
  readonly rules: RulesStore;
  readonly exchange: ExchangeStore;
  readonly closingSlippages: ClosingSlippageStore;
  readonly facade: FacadeStore;
  /** What is due on a chain, and how these wallets fare; one round trip. */
  due(chain: ChainSlug, wallets: readonly Address[], now: number): Promise<DueWork>;
  /** One round trip; throws when the database cannot answer. */
  ping(): Promise<void>;
  close(): Promise<void>;
  readonly notifications: NotificationStore;
}
