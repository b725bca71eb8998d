import type { ChainSlug } from '../../chains/chains.js';
import type { OrderKey } from '../../domain/chain-event.js';
import type { AskedOpening, GuardFacts, RelayRules } from '../../domain/relay/guardrails.js';
import type { CollateralUnits } from '../../domain/pricing/market-view.js';
import type { Address } from '../../types.js';
import type { GivenRules, StoredRules } from '../../config/rules.js';

/** What the books need to know beside the trader. */
export interface GuardQuestion {
  readonly given: GivenRules;
  /** By index: sums are kept in tokens. */
  readonly collaterals: ReadonlyMap<number, CollateralUnits>;
  /** A resting order that is about to give way: its notional is left out. */
  readonly instead: OrderKey | null;
  readonly now: number;
}

/** An opening that comes through the facade: judged in the very step that stores it, so that no two slip through side by side. */
export interface OpeningGuard extends GuardQuestion, Omit<AskedOpening, 'insteadUsd'> {}

export interface Standing {
  readonly rules: RelayRules;
  readonly facts: GuardFacts;
  readonly insteadUsd: bigint;
}

/** Rules are read anew with every question, so a change holds on all replicas from the moment it is stored. */
export interface RulesStore {
  list(): Promise<StoredRules[]>;
  /** In place of what was there. */
  put(row: StoredRules): Promise<void>;
  /** False when there was nothing. */
  remove(chain: StoredRules['chain'], trader: StoredRules['trader']): Promise<boolean>;
  /** Only what a rule asks for is counted, unless all of it is wanted. */
  standing(chain: ChainSlug, trader: Address, question: GuardQuestion, wanted: 'needed' | 'all'): Promise<Standing>;
  /** Whether the rule `access` lets a trader trade; one that it does not may still get out of what the relayer opened for it. */
  standingOf(chain: ChainSlug, trader: Address, given: GivenRules): Promise<'may-trade' | 'may-exit' | 'may-not'>;
  /**
   * What binds a trader, and how many transactions of the day came before this job; counted only where there is a quota. Of a trader that
   * may not trade, openings are not counted; `holds` says whether it has anything that the relayer opened.
   */
  before(job: {
    readonly chain: ChainSlug;
    readonly trader: Address;
    readonly id: bigint;
    readonly given: GivenRules;
    readonly since: number;
  }): Promise<{ readonly rules: RelayRules; readonly transactions: number; readonly holds: boolean }>;
}
