import { z } from 'zod';
import type { Address } from '../types.js';
import type { RuleSettings } from './rules.js';

const whole = (least: number) =>
  z.coerce
    .number('must be a number')
    .int('must be a whole number')
    .min(least, `must be at least ${least}`)
    .max(1_000_000_000, 'must be at most 1000000000');
const Usd = z.string().regex(/^(?:0|[1-9]\d{0,17})(?:\.\d{1,18})?$/, 'must be an amount of USD');
const isAddress = (text: string): text is Address => /^0x[0-9a-f]{40}$/.test(text);

const Traders = z.string().transform((text, context): readonly Address[] => {
  const parts = text
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((part) => part !== '');
  const addresses = parts.filter(isAddress);
  if (addresses.length < parts.length || parts.length === 0)
    context.addIssue({ code: 'custom', message: 'must be addresses separated by commas' });
  return addresses;
});

/** Absent: unlimited, except for daily transactions. Rules the operator stores for all, a chain or a trader override these. */
export const RULE_VARIABLES = {
  FACADE_MAX_OPEN_NOTIONAL_USD: Usd.optional(),
  FACADE_MAX_DAILY_LOSS_USD: Usd.optional(),
  FACADE_ORDERS_PER_MINUTE: whole(1).optional(),
  FACADE_DAILY_TRANSACTIONS: whole(0).optional(),
  FACADE_REDUCE_ONLY: z.enum(['true', 'false'], 'must be true or false').optional(),
  FACADE_ALLOWED_TRADERS: Traders.optional(),
  FACADE_BLOCKED_TRADERS: Traders.optional(),
};

type Variables = z.output<z.ZodObject<typeof RULE_VARIABLES>>;

/** Default quota per trader where every trader may trade: otherwise any key could spend the relayer's coins without limit. */
export const OPEN_DAILY_TRANSACTIONS = 500;

/** Gas is free in a sandbox. */
export const ruleSettings = (variables: Variables, { isSandbox }: { readonly isSandbox: boolean }): RuleSettings => ({
  rules: {
    reduceOnly: variables.FACADE_REDUCE_ONLY === 'true',
    maxOpenNotionalUsd: variables.FACADE_MAX_OPEN_NOTIONAL_USD ?? null,
    maxDailyLossUsd: variables.FACADE_MAX_DAILY_LOSS_USD ?? null,
    ordersPerMinute: variables.FACADE_ORDERS_PER_MINUTE ?? null,
    dailyTransactions:
      variables.FACADE_DAILY_TRANSACTIONS ?? (isSandbox || variables.FACADE_ALLOWED_TRADERS ? null : OPEN_DAILY_TRANSACTIONS),
  },
  allowed: variables.FACADE_ALLOWED_TRADERS ? new Set(variables.FACADE_ALLOWED_TRADERS) : null,
  blocked: new Set(variables.FACADE_BLOCKED_TRADERS ?? []),
});
