import type { ChainDefinition, ChainSlug } from '../core/chains/chains.js';
import type { Logger } from '../core/ports/log.js';
import type { Clock } from '../core/ports/clock.js';
import type { SandboxAccounts } from './accounts.js';
import type { Progress } from './banner.js';

/** What one chain of the venue is started with. */
export interface VenueChainOptions {
  readonly definition: ChainDefinition & { readonly slug: ChainSlug };
  readonly accounts: SandboxAccounts;
  readonly clock: Clock;
  readonly log: Logger;
  readonly blockMs: number;
  readonly idleBlockMs: number;
  readonly oracleMs: number;
  /** null: the chain lives as long as the process. */
  readonly dataDir: string | null;
  /** Somebody else's node instead of the built-in engine. */
  readonly externalUrl: string | null;
  readonly priceOf: (pairIndex: number) => bigint;
  readonly isOpen: (pairIndex: number) => boolean;
  readonly progress: Progress;
}
