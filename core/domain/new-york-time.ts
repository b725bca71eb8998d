/** New York wall time from the rule in force since 2007: summer time from the second Sunday of March to the first of November, 2:00. */

export const MINUTE_MS = 60_000;
export const DAY_MINUTES = 1440;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = DAY_MINUTES * MINUTE_MS;

const STANDARD_OFFSET_MS = -5 * HOUR_MS;
const SUMMER_OFFSET_MS = -4 * HOUR_MS;
/** Both switches happen at 2:00 of the wall clock that ends. */
const SWITCH_MS = 2 * HOUR_MS;

export interface CalendarDay {
  /** yyyy-mm-dd. */
  readonly date: string;
  /** 0 = Sunday. */
  readonly weekday: number;
}

export interface WallTime extends CalendarDay {
  readonly minuteOfDay: number;
  readonly isSummerTime: boolean;
}

/** Midnight of the nth Sunday of a month, as if the wall clock were UTC. */
function nthSunday(year: number, month: number, nth: number): number {
  const first = Date.UTC(year, month, 1);
  const untilSunday = (7 - new Date(first).getUTCDay()) % 7;
  return first + (untilSunday + 7 * (nth - 1)) * DAY_MS;
}

const summers = new Map<number, { readonly begins: number; readonly ends: number }>();

function summerOf(year: number): { readonly begins: number; readonly ends: number } {
  const known = summers.get(year);
  if (known) return known;
  const begins = nthSunday(year, 2, 2) + SWITCH_MS - STANDARD_OFFSET_MS;
  const ends = nthSunday(year, 10, 1) + SWITCH_MS - SUMMER_OFFSET_MS;
  const summer = { begins, ends };
  summers.set(year, summer);
  return summer;
}

export function isSummerTime(at: number): boolean {
  const { begins, ends } = summerOf(new Date(at + STANDARD_OFFSET_MS).getUTCFullYear());
  return at >= begins && at < ends;
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

/** `at` in epoch ms. */
export function newYorkTime(at: number): WallTime {
  const summer = isSummerTime(at);
  const wallMs = at + (summer ? SUMMER_OFFSET_MS : STANDARD_OFFSET_MS);
  const intoDay = ((wallMs % DAY_MS) + DAY_MS) % DAY_MS;
  return { ...dayOf(wallMs), minuteOfDay: Math.floor(intoDay / MINUTE_MS), isSummerTime: summer };
}

/** Epoch ms of a wall time; of the two instants that share an hour in November the earlier one. */
export function newYorkInstant(date: string, minuteOfDay: number): number {
  const wallMs = Date.parse(`${date}T00:00:00Z`) + minuteOfDay * MINUTE_MS;
  const summer = wallMs - SUMMER_OFFSET_MS;
  return isSummerTime(summer) ? summer : wallMs - STANDARD_OFFSET_MS;
}

export const dayAfter = (date: string): CalendarDay => dayOf(Date.parse(`${date}T00:00:00Z`) + DAY_MS);
