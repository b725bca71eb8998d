import { HOLIDAYS } from './holidays.js';
import type { Collateral, Group, MarketConfig, MarketGroup, Pair, Session } from './market.js';
import { groupOf } from './market.js';
import { DAY_MINUTES, dayAfter, isSummerTime, newYorkInstant, newYorkTime, type CalendarDay } from './new-york-time.js';

/** Minutes of the New York day; the end is not part of it. */
interface Window {
  readonly from: number;
  readonly to: number;
}

const clock = (hours: number, minutes = 0): number => hours * 60 + minutes;

const [SUNDAY, FRIDAY, SATURDAY] = [0, 5, 6];
const NOON = clock(12);
const WHOLE_DAY: Window = { from: 0, to: DAY_MINUTES };

/** Opens on Sunday and closes on Friday at the same hour, one earlier while New York has summer time. */
function forexWindows({ date, weekday }: CalendarDay): readonly Window[] {
  if (weekday === SATURDAY) return [];
  const hour = clock(isSummerTime(newYorkInstant(date, NOON)) ? 16 : 17);
  if (weekday === SUNDAY) return [{ from: hour, to: DAY_MINUTES }];
  return [weekday === FRIDAY ? { from: 0, to: hour } : WHOLE_DAY];
}

function stockWindows({ weekday }: CalendarDay): readonly Window[] {
  return weekday === SUNDAY || weekday === SATURDAY ? [] : [{ from: clock(9, 35), to: clock(16) }];
}

/** Sunday evening to Friday evening with a pause every day. */
function commodityWindows({ weekday }: CalendarDay): readonly Window[] {
  if (weekday === SATURDAY) return [];
  const day = { from: 0, to: clock(17) };
  const evening = { from: clock(18, 10), to: DAY_MINUTES };
  if (weekday === SUNDAY) return [evening];
  return weekday === FRIDAY ? [day] : [day, evening];
}

const WEEKLY: Readonly<Record<Exclude<MarketGroup, 'crypto'>, (day: CalendarDay) => readonly Window[]>> = {
  forex: forexWindows,
  stocks: stockWindows,
  indices: stockWindows,
  commodities: commodityWindows,
};

/** Windows of the days asked for of late; every price tick asks for today's. */
const known = new Map<string, readonly Window[]>();
const MOST_KNOWN = 256;

function windowsOn(group: Exclude<MarketGroup, 'crypto'>, day: CalendarDay): readonly Window[] {
  const key = `${group} ${day.date}`;
  const found = known.get(key);
  if (found) return found;
  if (known.size >= MOST_KNOWN) known.clear();
  const windows = findWindows(group, day);
  known.set(key, windows);
  return windows;
}

function findWindows(group: Exclude<MarketGroup, 'crypto'>, day: CalendarDay): readonly Window[] {
  const windows = WEEKLY[group](day);
  const holiday = HOLIDAYS.get(day.date);
  if (!holiday) return windows;
  const { closesAt } = holiday;
  if (closesAt === null) return [];
  return windows.filter(({ from }) => from < closesAt).map(({ from, to }) => ({ from, to: Math.min(to, closesAt) }));
}

/** Whether a class is open at a time (epoch ms) by the calendar alone. */
export function sessionOpen(group: MarketGroup, at: number): boolean {
  if (group === 'crypto') return true;
  const wall = newYorkTime(at);
  return windowsOn(group, wall).some(({ from, to }) => wall.minuteOfDay >= from && wall.minuteOfDay < to);
}

/** No closure of the calendar is longer; a longer search means the table is incomplete. */
const LONGEST_CLOSURE_DAYS = 10;

/** `at` itself when the class is open, otherwise the instant (epoch ms) at which it opens next; null if the calendar has none. */
export function nextOpen(group: MarketGroup, at: number): number | null {
  if (group === 'crypto' || sessionOpen(group, at)) return at;
  let day: CalendarDay = newYorkTime(at);
  for (let passed = 0; passed <= LONGEST_CLOSURE_DAYS; passed += 1) {
    for (const { from } of windowsOn(group, day)) {
      const opens = newYorkInstant(day.date, from);
      if (opens > at) return opens;
    }
    day = dayAfter(day.date);
  }
  return null;
}

/** After this time without refresh the source's open flags count as stale. */
export const FLAGS_FRESH_MS = 120_000;

/** The source's flag while it is fresh, otherwise the calendar; crypto never closes. */
export function classOpen(config: Pick<MarketConfig, 'openClasses' | 'refreshedAt'>, group: MarketGroup, at: number): boolean {
  if (group === 'crypto') return true;
  const isFresh = config.openClasses !== null && Math.abs(at - config.refreshedAt) <= FLAGS_FRESH_MS;
  return isFresh ? config.openClasses[group] : sessionOpen(group, at);
}

/** The protocol has no delisting flag; it sets the maximum leverage or open interest too low to open instead. */
function isDisabled(pair: Pair, group: Group, collaterals: readonly Collateral[]): boolean {
  if (pair.customMaxLeverage > 0n && pair.customMaxLeverage < group.minLeverage) return true;
  return collaterals.every((collateral) => !collateral.isActive || (collateral.pairs[pair.index]?.maxOi ?? 0n) === 0n);
}

/**
 * What may be done with a pair at an instant (epoch ms): `closed` nothing that needs the oracle, `disabled` and `close_only` no
 * openings (of this pair, of any pair). A closed class is reported first because it also forbids the closes the other two allow.
 */
export function pairSession(
  config: Pick<MarketConfig, 'pairs' | 'groups' | 'collaterals' | 'tradingState' | 'openClasses' | 'refreshedAt'>,
  pairIndex: number,
  at: number,
): Session {
  const pair = config.pairs[pairIndex];
  const group = pair && config.groups.find((candidate) => candidate.index === pair.groupIndex);
  if (!pair || !group) return 'disabled';
  if (config.tradingState === 'paused' || !classOpen(config, groupOf(group.name), at)) return 'closed';
  if (isDisabled(pair, group, config.collaterals)) return 'disabled';
  return config.tradingState === 'close_only' ? 'close_only' : 'open';
}
