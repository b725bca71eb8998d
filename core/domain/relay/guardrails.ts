import { parseDecimal, toUnits } from '../decimal.js';
import type { Address } from '../../types.js';

/** The operator's limits for a facade trader. Amounts in USD, 1e18; null = no limit. */
export interface RelayRules {
  readonly access: 'allowed' | 'blocked';
  readonly reduceOnly: boolean;
  readonly maxOpenNotionalUsd: bigint | null;
  readonly maxDailyLossUsd: bigint | null;
  readonly ordersPerMinute: number | null;
  readonly dailyTransactions: number | null;
}

/** The trader's exposure and usage. Values that no rule needs may be zero. */
export interface GuardFacts {
  readonly now: number;
  /** Notional of open positions at their open price, and of all orders that may still open one. */
  readonly openNotionalUsd: bigint;
  /** Realised since the start of the day, including fees; a loss is negative. */
  readonly dayPnlUsd: bigint;
  /** Times of the openings in the last minute, newest first, at most as many as the rule allows. */
  readonly minute: readonly number[];
  /** Since the start of the day, including transactions not sent yet. */
  readonly dayTransactions: number;
}

/** An order that opens or increases a position. */
export interface AskedOpening {
  readonly notionalUsd: bigint;
  /** Notional of the order it replaces, which is not part of the open notional; 0 if none. */
  readonly insteadUsd: bigint;
  /** Notional of closes that must succeed before it is sent. */
  readonly freedUsd: bigint;
}

export type GuardRefusal =
  | { readonly rule: 'blocked' }
  | { readonly rule: 'reduce-only' }
  | { readonly rule: 'daily-loss'; readonly boundUsd: bigint; readonly lossUsd: bigint; readonly freesAt: number }
  | { readonly rule: 'open-notional'; readonly boundUsd: bigint; readonly openUsd: bigint; readonly askedUsd: bigint }
  | { readonly rule: 'orders-per-minute'; readonly bound: number; readonly used: number; readonly freesAt: number }
  | { readonly rule: 'daily-transactions'; readonly bound: number; readonly used: number; readonly freesAt: number };

export const NO_RULES: RelayRules = {
  access: 'allowed',
  reduceOnly: false,
  maxOpenNotionalUsd: null,
  maxDailyLossUsd: null,
  ordersPerMinute: null,
  dailyTransactions: null,
};

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** UTC. */
export const dayStart = (at: number): number => at - (at % DAY_MS);
export const nextDay = (at: number): number => dayStart(at) + DAY_MS;
export const minuteAgo = (at: number): number => at - MINUTE_MS;

/**
 * Why an opening is refused; null if it is allowed. Applies to openings only: orders that reduce risk are never blocked, so that no trader's
 * funds are trapped. The longest-lasting reason is reported first.
 */
export function guardRefusal(rules: RelayRules, facts: GuardFacts, asked: AskedOpening): GuardRefusal | null {
  return (
    accessRefusal(rules) ??
    lossRefusal(rules, facts) ??
    quotaRefusal(rules, facts) ??
    notionalRefusal(rules, facts, asked) ??
    paceRefusal(rules, facts)
  );
}

/** Rules that do not depend on the trader's usage. */
export function accessRefusal({ access, reduceOnly }: RelayRules): GuardRefusal | null {
  if (access === 'blocked') return { rule: 'blocked' };
  return reduceOnly ? { rule: 'reduce-only' } : null;
}

/** Openings are refused once the loss has reached the limit. */
function lossRefusal({ maxDailyLossUsd: boundUsd }: RelayRules, { now, dayPnlUsd }: GuardFacts): GuardRefusal | null {
  const lossUsd = -dayPnlUsd;
  if (boundUsd === null || lossUsd <= 0n || lossUsd < boundUsd) return null;
  return { rule: 'daily-loss', boundUsd, lossUsd, freesAt: nextDay(now) };
}

/** Also checked before signing, for orders accepted earlier. */
export function quotaRefusal(
  { dailyTransactions: bound }: Pick<RelayRules, 'dailyTransactions'>,
  { now, dayTransactions: used }: Pick<GuardFacts, 'now' | 'dayTransactions'>,
): GuardRefusal | null {
  return bound === null || used < bound ? null : { rule: 'daily-transactions', bound, used, freesAt: nextDay(now) };
}

/** Replacing an order by a smaller one is always allowed, even if the limit was lowered since. */
function notionalRefusal(
  { maxOpenNotionalUsd: boundUsd }: RelayRules,
  { openNotionalUsd: openUsd }: GuardFacts,
  { notionalUsd: askedUsd, insteadUsd, freedUsd }: AskedOpening,
): GuardRefusal | null {
  if (boundUsd === null || openUsd + askedUsd - freedUsd <= boundUsd || askedUsd <= insteadUsd) return null;
  return { rule: 'open-notional', boundUsd, openUsd, askedUsd };
}

/** A sliding window of sixty seconds. */
function paceRefusal({ ordersPerMinute: bound }: RelayRules, { now, minute }: GuardFacts): GuardRefusal | null {
  if (bound === null) return null;
  const recent = minute.filter((at) => at > minuteAgo(now)).sort((a, b) => b - a);
  const last = recent[bound - 1];
  return last === undefined ? null : { rule: 'orders-per-minute', bound, used: recent.length, freesAt: last + MINUTE_MS };
}

/** Daily transactions for a blocked trader to close what the relayer opened for it. */
export const BLOCKED_EXITS = 50;

/** TP/SL and margin changes have a further quota equal to that of openings, at least a hundred, so that open positions can be managed after the quota is used. */
const MIN_CARE_QUOTA = 100;
export const careQuota = (dailyTransactions: number): number => dailyTransactions + Math.max(dailyTransactions, MIN_CARE_QUOTA);

/** Cancels and closes have a further four times the quota, at least a thousand: enough to exit, but a limit for a faulty bot, because the relayer pays for failed transactions. */
const MIN_EXIT_QUOTA = 1_000;
export const exitQuota = (dailyTransactions: number): number => dailyTransactions + Math.max(4 * dailyTransactions, MIN_EXIT_QUOTA);

/** Rules as the operator writes them. A missing rule is inherited from the wider set; null means unlimited. */
export interface RuleSet {
  readonly access?: RelayRules['access'] | undefined;
  readonly reduceOnly?: boolean | undefined;
  /** USD, as text. */
  readonly maxOpenNotionalUsd?: string | null | undefined;
  readonly maxDailyLossUsd?: string | null | undefined;
  readonly ordersPerMinute?: number | null | undefined;
  readonly dailyTransactions?: number | null | undefined;
}

/** The trader's rule overrides the chain's, the chain's overrides the general one; stored rules override settings of the same level. */
export const ANY = '*';

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
  rows: readonly { readonly chain: string; readonly trader: string; readonly rules: RuleSet }[],
  { chain, trader }: { readonly chain: string; readonly trader: string },
): RuleSet {
  const row = (where: string, owner: string): RuleSet => rows.find((each) => each.chain === where && each.trader === owner)?.rules ?? {};
  return { ...defaults, ...row(ANY, ANY), ...row(chain, ANY), ...own, ...row(ANY, trader), ...row(chain, trader) };
}

const USD_DECIMALS = 18;
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
