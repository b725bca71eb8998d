import type { ChainDefinition, ChainSlug } from '../core/chains/chains.js';
import type { Logger } from '../core/ports/log.js';
import type { Clock } from '../core/ports/clock.js';
import type { SandboxAccounts } from './accounts.js';
import type { Progress } from './banner.js';

/** The options of one chain of the venue. */
export interface VenueChainOptions {
  readonly definition: ChainDefinition & { readonly slug: ChainSlug };
  readonly accounts: SandboxAccounts;
  readonly clock: Clock;
  readonly log: Logger;
  readonly blockMs: number;
  readonly idleBlockMs: number;
  readonly oracleMs: number;
  /** null: the chain ends with the process. */
  readonly dataDir: string | null;
  /** An external node instead of the built-in engine. */
  readonly externalUrl: string | null;
  readonly priceOf: (pairIndex: number) => bigint;
  readonly isOpen: (pairIndex: number) => boolean;
  readonly progress: Progress;
}
