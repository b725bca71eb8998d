import { z } from 'zod';
import type { ChainSlug } from '../chains/chains.js';
import { parseDecimal, toUnits } from '../domain/decimal.js';
import { NO_RULES, type GuardRefusal, type RelayRules } from '../domain/relay/guardrails.js';
import type { Address } from '../types.js';

const USD_DECIMALS = 18;
const Usd = z
  .string('must be an amount of USD in quotes, or null')
  .regex(/^(?:0|[1-9]\d{0,17})(?:\.\d{1,18})?$/, 'must be an amount of USD in quotes, or null');
const count = (least: number) =>
  z.int('must be a whole number, or null').min(least, `must be at least ${least}`).max(1_000_000_000, 'is too large');

/** Rules as the operator writes them. A missing rule is inherited from the wider set; null means unlimited. */
export const RuleSet = z.strictObject({
  access: z.enum(['allowed', 'blocked'], 'must be allowed or blocked').optional(),
  reduceOnly: z.boolean('must be true or false').optional(),
  maxOpenNotionalUsd: Usd.nullable().optional(),
  maxDailyLossUsd: Usd.nullable().optional(),
  ordersPerMinute: count(1).nullable().optional(),
  dailyTransactions: count(0).nullable().optional(),
});
export type RuleSet = z.output<typeof RuleSet>;

/** The trader's rule overrides the chain's, the chain's overrides the general one; stored rules override settings of the same level. */
export const ANY = '*';

export interface StoredRules {
  readonly chain: ChainSlug | typeof ANY;
  readonly trader: Address | typeof ANY;
  readonly rules: RuleSet;
  readonly updatedAt: number;
}

/** Rules from the settings. */
export interface RuleSettings {
  readonly rules: RuleSet;
  /** Null: every trader that is not blocked. */
  readonly allowed: ReadonlySet<Address> | null;
  readonly blocked: ReadonlySet<Address>;
}

export interface GivenRules {
  /** For all traders. */
  readonly defaults: RuleSet;
  /** For this trader. */
  readonly own: RuleSet;
}

/** The settings' rules for a trader. A trader on both lists is blocked. */
export function givenRules({ rules, allowed, blocked }: RuleSettings, trader: Address): GivenRules {
  const defaults = { ...rules, access: allowed === null ? ('allowed' as const) : ('blocked' as const) };
  if (blocked.has(trader)) return { defaults, own: { access: 'blocked' } };
  return { defaults, own: allowed?.has(trader) ? { access: 'allowed' } : {} };
}

/** Field by field, the narrower overrides the wider; null means unlimited. */
export function mergeRules(
  { defaults, own }: GivenRules,
  rows: readonly Pick<StoredRules, 'chain' | 'trader' | 'rules'>[],
  { chain, trader }: { readonly chain: ChainSlug; readonly trader: Address },
): RuleSet {
  const row = (where: string, owner: string): RuleSet => rows.find((each) => each.chain === where && each.trader === owner)?.rules ?? {};
  return { ...defaults, ...row(ANY, ANY), ...row(chain, ANY), ...own, ...row(ANY, trader), ...row(chain, trader) };
}

const usd = (text: string | null | undefined): bigint | null => (text == null ? null : toUnits(parseDecimal(text), USD_DECIMALS, 'down'));

/** The merged set in units for computation. */
export const readRules = (set: RuleSet): RelayRules => ({
  access: set.access ?? NO_RULES.access,
  reduceOnly: set.reduceOnly ?? NO_RULES.reduceOnly,
  maxOpenNotionalUsd: usd(set.maxOpenNotionalUsd),
  maxDailyLossUsd: usd(set.maxDailyLossUsd),
  ordersPerMinute: set.ordersPerMinute ?? null,
  dailyTransactions: set.dailyTransactions ?? null,
});

/** A rule of the operator rejects an opening; nothing is stored. */
export class GuardrailError extends Error {
  override readonly name = 'GuardrailError';
  readonly refusal: GuardRefusal;

  constructor(refusal: GuardRefusal) {
    super(`refused by the rule ${refusal.rule}`);
    this.refusal = refusal;
  }
}
