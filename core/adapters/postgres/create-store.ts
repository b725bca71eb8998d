import type { Knex } from 'knex';
import { randomId, type Clock, type RandomBytes } from '../../ports/clock.js';
import type { Store } from '../../ports/store.js';
import { systemClock, systemRandom } from '../system/clock.js';
import { createAccessStore } from './access-store.js';
import { createAdmissionStore } from './admission-store.js';
import { createCandleStore } from './candle-store.js';
import { createContinuity, type ContinuityParts } from './continuity/create-continuity.js';
import { guardWrites } from './continuity/guard-writes.js';
import { createReplicaMemory } from './continuity/replica-memory.js';
import { createContractStore } from './contract-store.js';
import { expectWrites, reachDatabase, type DatabaseOptions } from './connect-database.js';
import { withFaults } from './faults.js';
import { inTransaction } from './statement.js';
import { createAccountStore } from './account-store.js';
import { dueWork } from './due-work.js';
import { createClosingSlippageStore, createFacadeStore } from './facade-store.js';
import { createJournalStore } from './journal-store.js';
import { createLeaseKeeper } from './lease-keeper.js';
import { createNotificationStore } from './notification-store.js';
import { createOrdersStore } from './orders-store.js';
import { createSignerStore } from './signer-store.js';
import { createExchangeStore } from './exchange-store.js';
import { createAlertStore } from './alert-store.js';
import { createMetricsStore } from './metrics-store.js';
import { createGasLedger } from './gas-ledger-store.js';
import { createLaneRecoveryStore } from './lane-recovery-store.js';
import { createRelayStore } from './relay-store.js';
import { createRulesStore } from './rules-store.js';
import { createSwitchStore } from './switch-store.js';
import { createStatementBatcher } from './statement-batcher.js';
import { createSpendStore } from './spend-store.js';
import { createTrackingStore } from './tracking-store.js';

export interface KnexStore extends Store {
  /** For the modules of this folder and for tests; core uses the port only. */
  readonly db: Knex;
  /** Random id created with the database; distinguishes databases with equal contents. */
  readonly instanceId: () => Promise<string>;
  /**
   * Atomic. Retries the work after a serialisation conflict, so the work must have no side effects outside the database. A connection that
   * breaks during the commit leaves the outcome unknown: writes need a unique key, so that the caller can repeat them.
   */
  readonly transaction: <Result>(work: (trx: Knex.Transaction) => Promise<Result>) => Promise<Result>;
}

/** Lease queries are instant; a slow answer means the lease cannot be relied on. */
const LEASE_LIMITS = { statementMs: 1_000, lockMs: 1_000, idleTransactionMs: 5_000 };

export interface StoreOptions extends DatabaseOptions {
  readonly clock?: Clock;
  readonly randomBytes?: RandomBytes;
  /** Replaces what the server says of itself, as a simulation does. */
  readonly serverIdentity?: ContinuityParts['identity'];
}

export function createStore({ clock = systemClock, randomBytes = systemRandom, serverIdentity, ...options }: StoreOptions): KnexStore {
  const memory = createReplicaMemory();
  const continuity = createContinuity({ replica: randomId(randomBytes), memory, clock, log: options.log, identity: serverIdentity });
  const { watch: position } = continuity;
  const { db, createClient } = reachDatabase({ ...options, position });
  const batcher = createStatementBatcher(db, clock, position.suspicions);
  const journal = createJournalStore({
    db,
    createClient: () => createClient({ applicationName: 'diamond-gateway journal' }),
    clock,
    log: options.log,
  });
  const leases = createLeaseKeeper({
    createClient: () => createClient({ applicationName: 'diamond-gateway leases', limits: LEASE_LIMITS }),
    clock,
    log: options.log,
    position,
  });
  continuity.start(db);
  const queries = withFaults({
    ping: () => expectWrites(db),
    due: (...asked: Parameters<Store['due']>) => dueWork(db, ...asked),
    async instanceId(): Promise<string> {
      const row = await db<{ instance_id: string }>('deployment').first('instance_id');
      if (row === undefined) throw new Error('The table deployment is empty.');
      return row.instance_id;
    },
  });
  const { transaction } = withFaults({ transaction: (work: (trx: Knex.Transaction) => Promise<unknown>) => inTransaction(db, work) });
  const stores = {
    candles: withFaults(createCandleStore(db)),
    contract: withFaults({ ...createContractStore(db) }),
    access: withFaults(createAccessStore(db)),
    spend: withFaults(createSpendStore(db)),
    relay: withFaults({ ...createRelayStore({ db, batcher, leases }) }),
    recovery: withFaults({ ...createLaneRecoveryStore(db) }),
    gas: withFaults({ ...createGasLedger(db) }),
    alerts: withFaults({ ...createAlertStore(db, randomBytes) }),
    metrics: withFaults({ ...createMetricsStore(db, clock) }),
    rules: withFaults({ ...createRulesStore({ db, batcher }) }),
    switches: withFaults({ ...createSwitchStore(db) }),
    exchange: withFaults({ ...createExchangeStore(db) }),
    closingSlippages: withFaults({ ...createClosingSlippageStore(db) }),
    admission: withFaults(createAdmissionStore(db)),
    signers: withFaults(createSignerStore({ db, batcher })),
    tracking: withFaults({ ...createTrackingStore({ db, leases }) }),
    account: withFaults({ ...createAccountStore(db) }),
    orders: withFaults({ ...createOrdersStore({ db, batcher }) }),
    facade: createFacadeStore(db),
    notifications: withFaults({ ...createNotificationStore(db) }),
    journal: withFaults({ ...journal.store }),
  };
  return {
    ...queries,
    ...guardWrites(stores, { continuity, memory, clock }),
    continuity,
    db,
    transaction: transaction as KnexStore['transaction'],
    async close() {
      await continuity.stop();
      await Promise.all([leases.close(), journal.close()]);
      await db.destroy();
    },
  };
}
