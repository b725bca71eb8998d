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

/** What an operator writes down. A rule left out follows from the next wider one; null says that nothing is bounded. */
export const RuleSet = z.strictObject({
  access: z.enum(['allowed', 'blocked'], 'must be allowed or blocked').optional(),
  reduceOnly: z.boolean('must be true or false').optional(),
  maxOpenNotionalUsd: Usd.nullable().optional(),
  maxDailyLossUsd: Usd.nullable().optional(),
  ordersPerMinute: count(1).nullable().optional(),
  dailyTransactions: count(0).nullable().optional(),
});
export type RuleSet = z.output<typeof RuleSet>;

/** The trader's own beats the chain's, the chain's beats that of all; what the database says beats the settings of the same width. */
export const ANY = '*';

export interface StoredRules {
  readonly chain: ChainSlug | typeof ANY;
  readonly trader: Address | typeof ANY;
  readonly rules: RuleSet;
  readonly updatedAt: number;
}

/** The rules of the settings. */
export interface RuleSettings {
  readonly rules: RuleSet;
  /** Null: whoever is not blocked. */
  readonly allowed: ReadonlySet<Address> | null;
  readonly blocked: ReadonlySet<Address>;
}

export interface GivenRules {
  /** For everybody. */
  readonly defaults: RuleSet;
  /** For this trader. */
  readonly own: RuleSet;
}

/** What the settings say about a trader. Who is on both lists is blocked. */
export function givenRules({ rules, allowed, blocked }: RuleSettings, trader: Address): GivenRules {
  const defaults = { ...rules, access: allowed === null ? ('allowed' as const) : ('blocked' as const) };
  if (blocked.has(trader)) return { defaults, own: { access: 'blocked' } };
  return { defaults, own: allowed?.has(trader) ? { access: 'allowed' } : {} };
}

/** Field by field, the narrower over the wider; a field that is there and null bounds nothing. */
export function mergeRules(
  { defaults, own }: GivenRules,
  rows: readonly Pick<StoredRules, 'chain' | 'trader' | 'rules'>[],
  { chain, trader }: { readonly chain: ChainSlug; readonly trader: Address },
): RuleSet {
  const row = (where: string, whose: string): RuleSet => rows.find((each) => each.chain === where && each.trader === whose)?.rules ?? {};
  return { ...defaults, ...row(ANY, ANY), ...row(chain, ANY), ...own, ...row(ANY, trader), ...row(chain, trader) };
}

const usd = (text: string | null | undefined): bigint | null => (text == null ? null : toUnits(parseDecimal(text), USD_DECIMALS, 'down'));

/** What several sets came to, in the units that are reckoned with. */
export const readRules = (set: RuleSet): RelayRules => ({
  access: set.access ?? NO_RULES.access,
  reduceOnly: set.reduceOnly ?? NO_RULES.reduceOnly,
  maxOpenNotionalUsd: usd(set.maxOpenNotionalUsd),
  maxDailyLossUsd: usd(set.maxDailyLossUsd),
  ordersPerMinute: set.ordersPerMinute ?? null,
  dailyTransactions: set.dailyTransactions ?? null,
});

/** A rule of the operator speaks against an opening: nothing of it is stored. */
export class GuardrailError extends Error {
  override readonly name = 'GuardrailError';
  readonly refusal: GuardRefusal;

  constructor(refusal: GuardRefusal) {
    super(`refused by the rule ${refusal.rule}`);
    this.refusal = refusal;
  }
}
