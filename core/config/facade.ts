import { z } from 'zod';
import type { RuleSettings } from './rules.js';
import { RULE_VARIABLES, ruleSettings } from './rules-variables.js';

/** What becomes of a stop loss that the contract keeps nearer than it was asked for: it stands there, or the order is refused. */
export const STOP_BEYOND_CAP = ['move', 'refuse'] as const;
export type StopBeyondCap = (typeof STOP_BEYOND_CAP)[number];

export interface FacadeSettings {
  /** Of a bot that never chose one: low, because what bots hold cross is isolated here, and therefore nearer to its end. */
  readonly leverage: number;
  /** How long an answer is held back for the outcome of its order. */
  readonly holdMs: number;
  /** Whether a scheduled cancel also closes what is open. */
  readonly flattens: boolean;
  readonly stopBeyondCap: StopBeyondCap;
  /** What traders may do before an operator says otherwise. */
  readonly rules: RuleSettings;
}

/** Clients wait eight seconds or more for an answer: one that comes later is an order nobody knows of. */
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
