import { z } from 'zod';
import type { ChainSlug } from '../chains/chains.js';
import type { ANY, RuleSet as WrittenRules } from '../domain/relay/guardrails.js';
import type { Address } from '../types.js';

const Usd = z
  .string('must be an amount of USD in quotes, or null')
  .regex(/^(?:0|[1-9]\d{0,17})(?:\.\d{1,18})?$/, 'must be an amount of USD in quotes, or null');
const count = (least: number) =>
  z.int('must be a whole number, or null').min(least, `must be at least ${least}`).max(1_000_000_000, 'is too large');

/** The form in which the operator writes rules. */
export const RuleSet = z.strictObject({
  access: z.enum(['allowed', 'blocked'], 'must be allowed or blocked').optional(),
  reduceOnly: z.boolean('must be true or false').optional(),
  maxOpenNotionalUsd: Usd.nullable().optional(),
  maxDailyLossUsd: Usd.nullable().optional(),
  ordersPerMinute: count(1).nullable().optional(),
  dailyTransactions: count(0).nullable().optional(),
}) satisfies z.ZodType<WrittenRules>;
export type RuleSet = WrittenRules;

export interface StoredRules {
  readonly chain: ChainSlug | typeof ANY;
  readonly trader: Address | typeof ANY;
  readonly rules: RuleSet;
  readonly updatedAt: number;
}
