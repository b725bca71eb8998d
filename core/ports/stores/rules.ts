import type { ChainSlug } from '../../chains/chains.js';
import type { OrderKey } from '../../domain/chain-event.js';
import type { AskedOpening, GuardFacts, RelayRules, GivenRules } from '../../domain/relay/guardrails.js';
import type { CollateralUnits } from '../../domain/pricing/market-view.js';
import type { Address } from '../../types.js';
import type { StoredRules } from '../../config/rules.js';

/** Inputs of the rule queries besides the trader. */
export interface GuardQuestion {
  readonly given: GivenRules;
  /** By index: sums are kept in tokens. */
  readonly collaterals: ReadonlyMap<number, CollateralUnits>;
  /** A resting order that is about to be replaced: its notional is left out. */
  readonly instead: OrderKey | null;
  readonly now: number;
}

/** An opening through the facade, checked in the transaction that stores it, so that concurrent openings cannot pass together. */
export interface OpeningGuard extends GuardQuestion, Omit<AskedOpening, 'insteadUsd'> {}

export interface RulesWithFacts {
  readonly rules: RelayRules;
  readonly facts: GuardFacts;
  readonly insteadUsd: bigint;
}

/** Rules are read with every query, so a change applies to all replicas once it is stored. */
export interface RulesStore {
  list(): Promise<StoredRules[]>;
  /** Replaces the stored row. */
  put(row: StoredRules): Promise<void>;
  /** False when there was none. */
  remove(chain: StoredRules['chain'], trader: StoredRules['trader']): Promise<boolean>;
  /** Computes only the figures that a rule needs, or all. */
  rulesWithFacts(chain: ChainSlug, trader: Address, question: GuardQuestion, wanted: 'needed' | 'all'): Promise<RulesWithFacts>;
  /** Whether the rule `access` lets a trader trade; otherwise it may still exit what the relayer opened for it. */
  accessOf(chain: ChainSlug, trader: Address, given: GivenRules): Promise<'may-trade' | 'may-exit' | 'may-not'>;
  /**
   * The trader's rules, and how many transactions of the day precede this job; counted only with a quota. For a trader that may not trade,
   * openings are not counted; `holds` is whether it has anything that the relayer opened.
   */
  before(job: {
    readonly chain: ChainSlug;
    readonly trader: Address;
    readonly id: bigint;
    readonly given: GivenRules;
    readonly since: number;
  }): Promise<{ readonly rules: RelayRules; readonly transactions: number; readonly holds: boolean }>;
}
