import { formatUpTo } from '../ui/format.js';

/** Amounts of a chain's coin: gas is small, so digits are counted from the first that says something. */
const SIGNIFICANT = 4;
const MOST_DECIMALS = 18;

export function coin(amount: string): string {
  const [whole = '0', fraction = ''] = amount.replace('-', '').split('.');
  const zeros = whole === '0' ? (/^0*/.exec(fraction)?.[0].length ?? 0) : 0;
  return formatUpTo(amount, Math.min(zeros + SIGNIFICANT, MOST_DECIMALS));
}

export interface RunwayWord {
  readonly text: string;
  readonly word: string;
  /** A class; the word says the same. */
  readonly tone: 'up' | 'warn' | 'down' | 'flat';
}

/** The forecast of a quiet wallet reaches years ahead, which is of no use. */
const LONG_DAYS = 365;

/** `low`: below the alert's threshold. `soon`: within twice of it. */
export function runwayWord(days: number | null, lowDays: number): RunwayWord {
  if (days === null) return { text: '–', word: 'nothing was spent lately', tone: 'flat' };
  const text = days > LONG_DAYS ? `> ${LONG_DAYS}` : String(Math.floor(days * 10) / 10);
  if (days < lowDays) return { text, word: `low: the alert is below ${lowDays} days`, tone: 'down' };
  if (days < lowDays * 2) return { text, word: 'top up soon', tone: 'warn' };
  return { text, word: 'enough', tone: 'up' };
}

/** The share of a bound that is used, in percent, for a bar; 100 at most. */
export function share(used: bigint, bound: bigint): number {
  if (bound <= 0n) return used > 0n ? 100 : 0;
  return Math.min(100, Number((used * 1_000n) / bound) / 10);
}
