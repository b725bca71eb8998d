import { z } from 'zod';
import type { RuleSettings } from '../domain/relay/guardrails.js';
import type { Address } from '../types.js';

/** Handling of a stop loss that the contract would move nearer: accept the moved one, or refuse the order. */
export const STOP_BEYOND_CAP = ['move', 'refuse'] as const;
export type StopBeyondCap = (typeof STOP_BEYOND_CAP)[number];

export interface FacadeSettings {
  /** Default leverage of a bot: low, because cross positions of bots are isolated here, and therefore liquidated earlier. */
  readonly leverage: number;
  /** How long an answer waits for the outcome of its order. */
  readonly holdMs: number;
  /** Whether a scheduled cancel also closes open positions. */
  readonly flattens: boolean;
  readonly stopBeyondCap: StopBeyondCap;
  /** Whether candles without trades show a volume of one lot while their market is open: clients take zero for missing data. */
  readonly floorsCandleVolume: boolean;
  /** Rules for traders unless the operator stores others. */
  readonly rules: RuleSettings;
}

/** Clients wait eight seconds or more: after a later answer they would not know of their order. */
const LONGEST_HOLD_MS = 8_000;

const whole = (least: number, most: number) =>
  z.coerce
    .number('must be a number')
    .int('must be a whole number')
    .min(least, `must be at least ${least}`)
    .max(most, `must be at most ${most}`);

const Usd = z.string().regex(/^(?:0|[1-9]\d{0,17})(?:\.\d{1,18})?$/, 'must be an amount of USD');

const wholeFrom = (least: number) =>
  z.coerce
    .number('must be a number')
    .int('must be a whole number')
    .min(least, `must be at least ${least}`)
    .max(1_000_000_000, 'must be at most 1000000000');

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
const isAddress = (text: string): text is Address => /^0x[0-9a-f]{40}$/.test(text);

/** Absent: unlimited, except for daily transactions. Rules the operator stores for all, a chain or a trader override these. */
const RULE_VARIABLES = {
  FACADE_MAX_OPEN_NOTIONAL_USD: Usd.optional(),
  FACADE_MAX_DAILY_LOSS_USD: Usd.optional(),
  FACADE_ORDERS_PER_MINUTE: wholeFrom(1).optional(),
  FACADE_DAILY_TRANSACTIONS: wholeFrom(0).optional(),
  FACADE_REDUCE_ONLY: z.enum(['true', 'false'], 'must be true or false').optional(),
  FACADE_ALLOWED_TRADERS: Traders.optional(),
  FACADE_BLOCKED_TRADERS: Traders.optional(),
};

/** The same for production and sandbox. */
export const FACADE_VARIABLES = {
  FACADE_LEVERAGE: whole(1, 1_000).default(5),
  FACADE_HOLD_MS: whole(0, LONGEST_HOLD_MS).default(6_500),
  FACADE_SCHEDULE_CANCEL: z.enum(['cancel', 'flatten'], 'must be cancel or flatten').default('cancel'),
  FACADE_STOP_BEYOND_CAP: z.enum(STOP_BEYOND_CAP, 'must be move or refuse').default('move'),
  FACADE_CANDLE_VOLUME_FLOOR: z.enum(['on', 'off'], 'must be on or off').default('on'),
  ...RULE_VARIABLES,
};

type Variables = z.output<z.ZodObject<typeof FACADE_VARIABLES>>;

export const facadeSettings = (
  { FACADE_LEVERAGE, FACADE_HOLD_MS, FACADE_SCHEDULE_CANCEL, FACADE_STOP_BEYOND_CAP, FACADE_CANDLE_VOLUME_FLOOR, ...rules }: Variables,
  kind: { readonly isSandbox: boolean },
): FacadeSettings => ({
  leverage: FACADE_LEVERAGE,
  holdMs: FACADE_HOLD_MS,
  flattens: FACADE_SCHEDULE_CANCEL === 'flatten',
  stopBeyondCap: FACADE_STOP_BEYOND_CAP,
  floorsCandleVolume: FACADE_CANDLE_VOLUME_FLOOR === 'on',
  rules: ruleSettings(rules, kind),
});

type RuleVariables = z.output<z.ZodObject<typeof RULE_VARIABLES>>;

/** Default quota per trader where every trader may trade: otherwise any key could spend the relayer's coins without limit. */
const OPEN_DAILY_TRANSACTIONS = 500;

/** Gas is free in a sandbox. */
const ruleSettings = (variables: RuleVariables, { isSandbox }: { readonly isSandbox: boolean }): RuleSettings => ({
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
