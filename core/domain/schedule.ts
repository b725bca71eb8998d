import { groupOf, type Collateral, type Group, type MarketConfig, type MarketGroup, type Pair, type Session } from './market.js';

/** Minutes of the New York day; the end is not part of it. */
interface Window {
  readonly from: number;
  readonly to: number;
}

const clock = (hours: number, minutes = 0): number => hours * 60 + minutes;

const [SUNDAY, FRIDAY, SATURDAY] = [0, 5, 6];
const NOON = clock(12);

const DAY_MINUTES = 1440;

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

/** The windows that were asked for last, by class: every price tick asks for today's. */
const lastWindows = new Map<Exclude<MarketGroup, 'crypto'>, { readonly date: string; readonly windows: readonly Window[] }>();

function windowsOn(group: Exclude<MarketGroup, 'crypto'>, day: CalendarDay): readonly Window[] {
  const found = lastWindows.get(group);
  if (found?.date === day.date) return found.windows;
  const windows = findWindows(group, day);
  lastWindows.set(group, { date: day.date, windows });
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
  const wallMs = wallMsAt(at);
  const minute = minuteOfDay(wallMs);
  return windowsOn(group, dayOf(wallMs)).some(({ from, to }) => minute >= from && minute < to);
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

/** New York wall time from the rule in force since 2007: summer time from the second Sunday of March to the first of November, 2:00. */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = DAY_MINUTES * MINUTE_MS;

const STANDARD_OFFSET_MS = -5 * HOUR_MS;
const SUMMER_OFFSET_MS = -4 * HOUR_MS;
/** Both switches happen at 2:00 of the wall clock that ends. */
const SWITCH_MS = 2 * HOUR_MS;

interface CalendarDay {
  /** yyyy-mm-dd. */
  readonly date: string;
  /** 0 = Sunday. */
  readonly weekday: number;
}

interface WallTime extends CalendarDay {
  readonly minuteOfDay: number;
  readonly isSummerTime: boolean;
}

/** Midnight of the nth Sunday of a month, as if the wall clock were UTC. */
function nthSunday(year: number, month: number, nth: number): number {
  const first = Date.UTC(year, month, 1);
  const untilSunday = (7 - new Date(first).getUTCDay()) % 7;
  return first + (untilSunday + 7 * (nth - 1)) * DAY_MS;
}

interface Year {
  /** By the standard time of New York. */
  readonly from: number;
  readonly until: number;
  readonly summerBegins: number;
  readonly summerEnds: number;
}

/** The year that was asked for last. */
let lastYear: Year | null = null;

function yearOf(at: number): Year {
  if (lastYear && at >= lastYear.from && at < lastYear.until) return lastYear;
  const year = new Date(at + STANDARD_OFFSET_MS).getUTCFullYear();
  lastYear = {
    from: Date.UTC(year, 0, 1) - STANDARD_OFFSET_MS,
    until: Date.UTC(year + 1, 0, 1) - STANDARD_OFFSET_MS,
    summerBegins: nthSunday(year, 2, 2) + SWITCH_MS - STANDARD_OFFSET_MS,
    summerEnds: nthSunday(year, 10, 1) + SWITCH_MS - SUMMER_OFFSET_MS,
  };
  return lastYear;
}

function isSummerTime(at: number): boolean {
  const { summerBegins, summerEnds } = yearOf(at);
  return at >= summerBegins && at < summerEnds;
}

/** The day that was asked for last: callers walk through a day minute by minute, or ask for today all the time. */
let last: { readonly number: number; readonly day: CalendarDay } | null = null;

function dayOf(wallMs: number): CalendarDay {
  const number = Math.floor(wallMs / DAY_MS);
  if (last?.number === number) return last.day;
  const wall = new Date(wallMs);
  last = { number, day: { date: wall.toISOString().slice(0, 10), weekday: wall.getUTCDay() } };
  return last.day;
}

/** What the clocks of New York show, as if it were UTC; both in epoch ms. */
const wallMsAt = (at: number): number => at + (isSummerTime(at) ? SUMMER_OFFSET_MS : STANDARD_OFFSET_MS);

const minuteOfDay = (wallMs: number): number => Math.floor((((wallMs % DAY_MS) + DAY_MS) % DAY_MS) / MINUTE_MS);

/** `at` in epoch ms. */
export function newYorkTime(at: number): WallTime {
  const wallMs = wallMsAt(at);
  return { ...dayOf(wallMs), minuteOfDay: minuteOfDay(wallMs), isSummerTime: isSummerTime(at) };
}

/** Epoch ms of a wall time; of the two instants that share an hour in November the earlier one. */
export function newYorkInstant(date: string, minuteOfDay: number): number {
  const wallMs = Date.parse(`${date}T00:00:00Z`) + minuteOfDay * MINUTE_MS;
  const summer = wallMs - SUMMER_OFFSET_MS;
  return isSummerTime(summer) ? summer : wallMs - STANDARD_OFFSET_MS;
}

export const dayAfter = (date: string): CalendarDay => dayOf(Date.parse(`${date}T00:00:00Z`) + DAY_MS);

/**
 * Days on which the exchanges behind the oracles are closed. Dates and early closes of 2026 and 2027 are the New York Stock Exchange's
 * published calendar; 2026-07-02 is not in it but the protocol announces it. That forex and commodities keep the same days is the
 * protocol's own practice up to Good Friday 2026 and an assumption after it, and so is their closing at the same early hour. The
 * source's open flags come first, so an error here matters only while they are stale.
 */
interface Holiday {
  readonly name: string;
  /** Minute of the New York day at which trading ends for that date; null = no trading at all. */
  readonly closesAt: number | null;
}

const ONE_PM = 13 * 60;
const closed = (name: string): Holiday => ({ name, closesAt: null });
const early = (name: string): Holiday => ({ name, closesAt: ONE_PM });

export const HOLIDAYS: ReadonlyMap<string, Holiday> = new Map([
  ['2026-01-01', closed("New Year's Day")],
  ['2026-01-19', closed('Martin Luther King Jr. Day')],
  ['2026-02-16', closed("Washington's Birthday")],
  ['2026-04-03', closed('Good Friday')],
  ['2026-05-25', closed('Memorial Day')],
  ['2026-06-19', closed('Juneteenth')],
  ['2026-07-02', early('Before Independence Day')],
  ['2026-07-03', closed('Independence Day, observed')],
  ['2026-09-07', closed('Labor Day')],
  ['2026-11-26', closed('Thanksgiving')],
  ['2026-11-27', early('After Thanksgiving')],
  ['2026-12-24', early('Christmas Eve')],
  ['2026-12-25', closed('Christmas')],
  ['2027-01-01', closed("New Year's Day")],
  ['2027-01-18', closed('Martin Luther King Jr. Day')],
  ['2027-02-15', closed("Washington's Birthday")],
  ['2027-03-26', closed('Good Friday')],
  ['2027-05-31', closed('Memorial Day')],
  ['2027-06-18', closed('Juneteenth, observed')],
  ['2027-07-05', closed('Independence Day, observed')],
  ['2027-09-06', closed('Labor Day')],
  ['2027-11-25', closed('Thanksgiving')],
  ['2027-11-26', early('After Thanksgiving')],
  ['2027-12-24', closed('Christmas, observed')],
]);

/** After this day the calendar has weekends only. */
export const HOLIDAYS_KNOWN_UNTIL = '2027-12-31';
