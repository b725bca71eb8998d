import { z } from 'zod';
import type { RuleSettings } from './rules.js';
import { RULE_VARIABLES, ruleSettings } from './rules-variables.js';

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

/** The same for production and sandbox. */
export const FACADE_VARIABLES = {
  FACADE_LEVERAGE: whole(1, 1_000).default(5),
  FACADE_HOLD_MS: whole(0, LONGEST_HOLD_MS).default(6_500),
  FACADE_SCHEDULE_CANCEL: z.enum(['cancel', 'flatten'], 'must be cancel or flatten').default('cancel'),
  FACADE_STOP_BEYOND_CAP: z.enum(STOP_BEYOND_CAP, 'must be move or refuse').default('move'),
  ...RULE_VARIABLES,
};

type Variables = z.output<z.ZodObject<typeof FACADE_VARIABLES>>;

export const facadeSettings = (
  { FACADE_LEVERAGE, FACADE_HOLD_MS, FACADE_SCHEDULE_CANCEL, FACADE_STOP_BEYOND_CAP, ...rules }: Variables,
  kind: { readonly isSandbox: boolean },
): FacadeSettings => ({
  leverage: FACADE_LEVERAGE,
  holdMs: FACADE_HOLD_MS,
  flattens: FACADE_SCHEDULE_CANCEL === 'flatten',
  stopBeyondCap: FACADE_STOP_BEYOND_CAP,
  rules: ruleSettings(rules, kind),
});
