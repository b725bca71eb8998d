import type { AssetStore } from './assets.js';
import type { FundingStore } from './funding.js';
import type { HistoryStore } from './history.js';
import type { LeverageStore } from './leverage.js';
import type { ProtectionStore } from './protections.js';

/** Stores used only by the facade. */
export interface FacadeStore {
  readonly assets: AssetStore;
  readonly leverage: LeverageStore;
  readonly protections: ProtectionStore;
  readonly history: HistoryStore;
  readonly funding: FundingStore;
}
