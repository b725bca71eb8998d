import type { ChainDefinition } from '../../../chains/chains.js';
import type { MarketConfig } from '../../../domain/market.js';
import type { Chain } from '../../../ports/chain.js';
import type { Logger } from '../../../ports/log.js';
import type { Clock } from '../../../ports/clock.js';
import type { Cancel } from '../../../types.js';
import { redactText } from '../../../observability/redact.js';
import { composeOnchain } from './compose-onchain.js';
import { createDiamondViews } from './diamond-views.js';
import { readRules, type Rules } from './read-rules.js';
import { readState } from './read-state.js';

export interface OnchainConfig {
  /** The last configuration read; null while it is not needed, and before the first read. */
  config(): MarketConfig | null;
  /** Reads the contract periodically while it is needed, because each read takes hundreds of calls. */
  need(isNeeded: boolean): void;
  stop(): void;
}

export interface OnchainConfigOptions {
  readonly definition: Pick<ChainDefinition, 'diamond' | 'slug'>;
  readonly chain: Pick<Chain, 'views' | 'head'>;
  readonly clock: Clock;
  readonly log: Logger;
}

const REFRESH_MS = 15_000;
/** Governance parameters change rarely. */
const RULES_MS = 600_000;

/** The protocol's parameters and open interest from the contract, while its backend is silent. There are no prices on chain. */
export function createOnchainConfig(options: OnchainConfigOptions & { readonly onChange?: () => void }): OnchainConfig {
  const { definition, chain, clock, log } = options;
  let config: MarketConfig | null = null;
  let rules: { readonly read: Rules; readonly at: number } | null = null;
  let cancel: Cancel | null = null;
  let isReading = false;

  const read = async (): Promise<MarketConfig> => {
    const head = await chain.head();
    const at = clock.now();
    const views = () => createDiamondViews(chain.views, definition.diamond, head.number);
    if (rules === null || at - rules.at > RULES_MS) rules = { read: await readRules(views()), at };
    return composeOnchain(rules.read, await readState(views, rules.read, head.timestamp), at);
  };

  const refresh = async (): Promise<void> => {
    if (isReading) return;
    isReading = true;
    try {
      const next = await read();
      if (cancel === null) return;
      config = next;
      options.onChange?.();
    } catch (error) {
      const reason = error instanceof Error ? redactText(error.message.split('\n', 1).join('')) : 'unknown';
      if (cancel !== null) log.warn('feed.chain-not-read', { reason });
    } finally {
      isReading = false;
    }
  };

  const halt = (): void => {
    cancel?.();
    cancel = null;
    config = null;
  };

  return {
    config: () => config,
    need(isNeeded) {
      if (!isNeeded) return halt();
      if (cancel !== null) return;
      cancel = clock.every(REFRESH_MS, () => void refresh());
      void refresh();
    },
    stop: halt,
  };
}
