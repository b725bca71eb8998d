import type { AdmissionStore, AccessStore } from './stores/access.js';
import type { SignerStore } from './stores/signers.js';
import type { OrdersStore, SpendStore } from './stores/orders.js';
import type { AccountStore } from './stores/account.js';
import type { ClosingSlippageStore, FacadeStore } from './stores/facade.js';
import type { TrackingStore } from './stores/tracking.js';
import type { CandleStore } from './stores/candles.js';
import type { NotificationStore } from './stores/notifications.js';
import type { JournalStore } from './stores/journal.js';
import type { AlertStore, MetricsStore } from './stores/alerts.js';
import type { GasLedger } from './stores/gas.js';
import type { ExchangeStore } from './stores/exchange.js';
import type { SwitchStore } from './stores/switches.js';
import type { RelayStore } from './stores/relay.js';
import type { RulesStore } from './stores/rules.js';

/** All persistent state, one interface per aggregate. */
export interface Store {
  readonly tracking: TrackingStore;
  readonly account: AccountStore;
  readonly orders: OrdersStore;
  readonly access: AccessStore;
  readonly switches: SwitchStore;
  readonly spend: SpendStore;
  readonly candles: CandleStore;
  readonly admission: AdmissionStore;
  readonly signers: SignerStore;
  readonly journal: JournalStore;
  readonly relay: RelayStore;
  readonly gas: GasLedger;
  readonly alerts: AlertStore;
  readonly metrics: MetricsStore;
  readonly rules: RulesStore;
  readonly exchange: ExchangeStore;
  readonly closingSlippages: ClosingSlippageStore;
  readonly facade: FacadeStore;
  /** One round trip; throws when the database cannot answer. */
  ping(): Promise<void>;
  close(): Promise<void>;
  readonly notifications: NotificationStore;
}
