/** What an operator allows a trader of the facade. Amounts in USD, 1e18; null bounds nothing. */
export interface RelayRules {
  readonly access: 'allowed' | 'blocked';
  readonly reduceOnly: boolean;
  readonly maxOpenNotionalUsd: bigint | null;
  readonly maxDailyLossUsd: bigint | null;
  readonly ordersPerMinute: number | null;
  readonly dailyTransactions: number | null;
}

/** What the trader holds and has used. What no rule asks for may be left at nothing. */
export interface GuardFacts {
  readonly now: number;
  /** Of open positions, at the price they were opened at, and of everything that can still become one. */
  readonly openNotionalUsd: bigint;
  /** Realised since the day began, fees included; a loss is negative. */
  readonly dayPnlUsd: bigint;
  /** When the openings of the last minute were taken, as far as they matter: newest first, at most as many as the rule allows. */
  readonly minute: readonly number[];
  /** Since the day began, those that wait to be sent included. */
  readonly dayTransactions: number;
}

/** An order about to open or to grow a position. */
export interface AskedOpening {
  readonly notionalUsd: bigint;
  /** Of the order it takes the place of, which the open notional leaves out; 0 for any other. */
  readonly insteadUsd: bigint;
  /** Of what is closed before it is sent, and without which it is not sent. */
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
 * Why an opening is not taken; null when nothing speaks against it. Asked of openings alone: whatever takes risk away is never held up,
 * so that nobody's funds are trapped. What lasts longest is said first.
 */
export function guardRefusal(rules: RelayRules, facts: GuardFacts, asked: AskedOpening): GuardRefusal | null {
  return (
    standingRefusal(rules) ??
    lossRefusal(rules, facts) ??
    quotaRefusal(rules, facts) ??
    notionalRefusal(rules, facts, asked) ??
    paceRefusal(rules, facts)
  );
}

/** What holds whatever the trader has or does. */
export function standingRefusal({ access, reduceOnly }: RelayRules): GuardRefusal | null {
  if (access === 'blocked') return { rule: 'blocked' };
  return reduceOnly ? { rule: 'reduce-only' } : null;
}

/** The loss that reaches the bound is the last one. */
function lossRefusal({ maxDailyLossUsd: boundUsd }: RelayRules, { now, dayPnlUsd }: GuardFacts): GuardRefusal | null {
  const lossUsd = -dayPnlUsd;
  if (boundUsd === null || lossUsd <= 0n || lossUsd < boundUsd) return null;
  return { rule: 'daily-loss', boundUsd, lossUsd, freesAt: nextDay(now) };
}

/** Also asked before the signature, of what was let in a moment ago. */
export function quotaRefusal(
  { dailyTransactions: bound }: Pick<RelayRules, 'dailyTransactions'>,
  { now, dayTransactions: used }: Pick<GuardFacts, 'now' | 'dayTransactions'>,
): GuardRefusal | null {
  return bound === null || used < bound ? null : { rule: 'daily-transactions', bound, used, freesAt: nextDay(now) };
}

/** An order in place of a larger one is no reason to keep the larger one, even where the bound was lowered meanwhile. */
function notionalRefusal(
  { maxOpenNotionalUsd: boundUsd }: RelayRules,
  { openNotionalUsd: openUsd }: GuardFacts,
  { notionalUsd: askedUsd, insteadUsd, freedUsd }: AskedOpening,
): GuardRefusal | null {
  if (boundUsd === null || openUsd + askedUsd - freedUsd <= boundUsd || askedUsd <= insteadUsd) return null;
  return { rule: 'open-notional', boundUsd, openUsd, askedUsd };
}

/** Never more than the bound in any sixty seconds, wherever they begin. */
function paceRefusal({ ordersPerMinute: bound }: RelayRules, { now, minute }: GuardFacts): GuardRefusal | null {
  if (bound === null) return null;
  const recent = minute.filter((at) => at > minuteAgo(now)).sort((a, b) => b - a);
  const last = recent[bound - 1];
  return last === undefined ? null : { rule: 'orders-per-minute', bound, used: recent.length, freesAt: last + MINUTE_MS };
}

/** Transactions a day with which a trader that may not trade gets out of what the relayer opened for it. */
export const BLOCKED_EXITS = 50;

/** Levels and margin may use as much again as openings, and at least a hundred: a bot at the end of its quota can still look after what it holds. */
const LEAST_ROOM = 100;
export const careQuota = (dailyTransactions: number): number => dailyTransactions + Math.max(dailyTransactions, LEAST_ROOM);

/** Cancels and closings four times as much, and at least a thousand: enough for whoever wants out, and an end for a bot gone wild, which pays nothing for what is mined in vain. */
const LEAST_WAY_OUT = 1_000;
export const exitQuota = (dailyTransactions: number): number => dailyTransactions + Math.max(4 * dailyTransactions, LEAST_WAY_OUT);
