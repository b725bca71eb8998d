import type { Knex } from 'knex';
import type { FacadeStore } from '../../ports/stores/facade.js';
import { createAssetStore } from './asset-store.js';
import { withFaults } from './faults.js';
import { createFundingStore } from './funding-store.js';
import { createHistoryStore } from './history-store.js';
import { createLeverageStore } from './leverage-store.js';
import { createProtectionStore } from './protection-store.js';

export const createFacadeStore = (db: Knex): FacadeStore => ({
  assets: withFaults({ ...createAssetStore(db) }),
  leverage: withFaults({ ...createLeverageStore(db) }),
  protections: withFaults({ ...createProtectionStore(db) }),
  history: withFaults({ ...createHistoryStore(db) }),
  funding: withFaults({ ...createFundingStore(db) }),
});
