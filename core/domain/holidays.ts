/**
 * Days on which the exchanges behind the oracles are closed. Dates and early closes of 2026 and 2027 are the New York Stock Exchange's
 * published calendar; 2026-07-02 is not in it but the protocol announces it. That forex and commodities keep the same days is the
 * protocol's own practice up to Good Friday 2026 and an assumption after it, and so is their closing at the same early hour. The
 * source's open flags come first, so an error here matters only while they are stale.
 */
export interface Holiday {
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
