import type { AssetStore } from './assets.js';
import type { FundingStore } from './funding.js';
import type { HistoryStore } from './history.js';
import type { LeverageStore } from './leverage.js';
import type { ProtectionStore } from './protections.js';

/** What the database keeps for the facade alone. */
export interface FacadeStore {
  readonly assets: AssetStore;
  readonly leverage: LeverageStore;
  readonly protections: ProtectionStore;
  readonly history: HistoryStore;
  readonly funding: FundingStore;
}
