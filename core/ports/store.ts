import type { AdmissionStore } from '../access/admission.js';
import type { AccessStore } from '../access/access-store.js';
import type { SignerStore } from '../access/signer-store.js';
import type { SpendStore } from '../access/spend-store.js';
import type { AccountStore } from '../account/account-store.js';
import type { FacadeStore } from '../facade/facade-store.js';
import type { TrackingStore } from '../tracking/tracking-store.js';
import type { CandleStore } from '../markets/candle-store.js';
import type { NotificationStore } from '../notifications/notification-store.js';
import type { JournalStore } from '../journal/journal-store.js';
import type { MetricsStore } from '../metrics-store.js';
import type { AlertStore } from '../relay/alert-store.js';
import type { GasLedger } from '../relay/gas-ledger.js';
import type { ExchangeStore } from '../relay/exchange-store.js';
import type { RoomStore } from '../relay/room-store.js';
import type { SwitchStore } from '../relay/switches.js';
import type { RelayStore } from '../relay/relay-store.js';
import type { RulesStore } from '../relay/rules-store.js';
import type { OrdersStore } from '../orders/orders-store.js';

/** Everything that survives a restart, one interface per aggregate. */
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
  readonly rooms: RoomStore;
  readonly facade: FacadeStore;
  /** One round trip; throws when the database cannot answer. */
  ping(): Promise<void>;
  close(): Promise<void>;
  readonly notifications: NotificationStore;
}
