import type { AssetStore } from './asset-store.js';
import type { FundingStore } from './funding-store.js';
import type { HistoryStore } from './history-store.js';
import type { LeverageStore } from './leverage-store.js';
import type { ProtectionStore } from './protection-store.js';

/** What the database keeps for the facade alone. */
export interface FacadeStore {
  readonly assets: AssetStore;
  readonly leverage: LeverageStore;
  readonly protections: ProtectionStore;
  readonly history: HistoryStore;
  readonly funding: FundingStore;
}
