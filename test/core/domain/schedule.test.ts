import fc from 'fast-check';
import {
  dayAfter,
  FLAGS_FRESH_MS,
  HOLIDAYS,
  HOLIDAYS_KNOWN_UNTIL,
  newYorkInstant,
  newYorkTime,
  nextOpen,
  pairSession,
  sessionOpen,
} from '../../../core/domain/schedule.js';
import { MARKET_GROUPS, type MarketConfig, type MarketGroup } from '../../../core/domain/market.js';
import { goldenMarket } from './pricing/fixture.js';

const SEED = 20_260_315;
const oracle = new Intl.DateTimeFormat('en-US', {
  timeZone: 'America/New_York',
  hourCycle: 'h23',
  weekday: 'short',
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  timeZoneName: 'short',
});

function wallByIntl(at: number): string {
  const part = Object.fromEntries(oracle.formatToParts(at).map(({ type, value }) => [type, value]));
  return `${part['weekday'] ?? ''} ${part['year'] ?? ''}-${part['month'] ?? ''}-${part['day'] ?? ''} ${part['hour'] ?? ''}:${part['minute'] ?? ''} ${part['timeZoneName'] ?? ''}`;
}

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const two = (value: number): string => value.toString().padStart(2, '0');

function wallByUs(at: number): string {
  const wall = newYorkTime(at);
  const clock = `${two(Math.floor(wall.minuteOfDay / 60))}:${two(wall.minuteOfDay % 60)}`;
  return `${DAYS[wall.weekday] ?? ''} ${wall.date} ${clock} ${wall.isSummerTime ? 'EDT' : 'EST'}`;
}

const since2007 = fc.integer({ min: Date.UTC(2007, 6, 1), max: Date.UTC(2037, 11, 31) });
const knownYears = fc.integer({ min: Date.UTC(2026, 0, 2), max: Date.UTC(2027, 11, 20) });
const anyGroup = fc.constantFrom(...MARKET_GROUPS);
const at = (date: string, hours: number, minutes = 0): number => newYorkInstant(date, hours * 60 + minutes);

describe('New York time', () => {
  it('agrees with the time zone database at thousands of random instants', () => {
    fc.assert(
      fc.property(since2007, (instant) => {
        expect(wallByUs(instant)).toBe(wallByIntl(instant));
      }),
      { seed: SEED, numRuns: 4000 },
    );
  });

  it('agrees with the time zone database in every hour around both switches of every year', () => {
    const disagreements: string[] = [];
    for (let year = 2020; year <= 2037; year += 1) {
      for (const month of [2, 10]) {
        for (let hours = 0; hours < 14 * 24; hours += 1) {
          const instant = Date.UTC(year, month, 1) + hours * 3_600_000;
          if (wallByUs(instant) !== wallByIntl(instant)) disagreements.push(wallByIntl(instant));
        }
      }
    }
    expect(disagreements).toEqual([]);
  });

  it('turns a wall time back into its instant, except in the hour that happens twice', () => {
    fc.assert(
      fc.property(since2007, (instant) => {
        const minute = instant - (instant % 60_000);
        const wall = newYorkTime(minute);
        const back = newYorkInstant(wall.date, wall.minuteOfDay);
        expect(newYorkTime(back)).toMatchObject({ date: wall.date, minuteOfDay: wall.minuteOfDay });
        expect([minute, minute - 3_600_000]).toContain(back);
      }),
      { seed: SEED, numRuns: 3000 },
    );
  });
});

describe('the market calendar', () => {
  it.each<[MarketGroup, string, number, number, boolean]>([
    ['crypto', '2026-12-25', 3, 0, true],
    ['forex', '2026-01-11', 16, 59, false],
    ['forex', '2026-01-11', 17, 0, true],
    ['forex', '2026-01-16', 16, 59, true],
    ['forex', '2026-01-16', 17, 0, false],
    ['forex', '2026-07-12', 15, 59, false],
    ['forex', '2026-07-12', 16, 0, true],
    ['forex', '2026-07-17', 16, 0, false],
    ['forex', '2026-03-08', 16, 0, true],
    ['forex', '2026-11-01', 16, 0, false],
    ['stocks', '2026-03-10', 9, 34, false],
    ['stocks', '2026-03-10', 9, 35, true],
    ['stocks', '2026-03-10', 15, 59, true],
    ['stocks', '2026-03-10', 16, 0, false],
    ['indices', '2026-03-14', 12, 0, false],
    ['indices', '2027-06-18', 12, 0, false],
    ['stocks', '2026-11-27', 12, 59, true],
    ['stocks', '2026-11-27', 13, 0, false],
    ['commodities', '2026-03-08', 18, 9, false],
    ['commodities', '2026-03-08', 18, 10, true],
    ['commodities', '2026-03-10', 16, 59, true],
    ['commodities', '2026-03-10', 17, 0, false],
    ['commodities', '2026-03-10', 18, 10, true],
    ['commodities', '2026-03-13', 18, 10, false],
    ['commodities', '2026-12-24', 20, 0, false],
  ])('%s at %s %i:%i is open: %s', (group, date, hours, minutes, expected) => {
    expect(sessionOpen(group, at(date, hours, minutes))).toBe(expected);
  });

  it('opens stocks on Tuesday morning after a weekend and a Monday holiday', () => {
    expect(nextOpen('stocks', at('2026-05-22', 16))).toBe(at('2026-05-26', 9, 35));
  });

  it('keeps open what is open and otherwise names the first open minute', () => {
    fc.assert(
      fc.property(anyGroup, knownYears, (group, instant) => {
        const opens = nextOpen(group, instant);
        if (opens === null) throw new Error('the calendar has no opening');
        expect(opens).toBeGreaterThanOrEqual(instant);
        expect(sessionOpen(group, opens)).toBe(true);
        if (opens > instant) expect(sessionOpen(group, opens - 60_000)).toBe(false);
        const between = instant + Math.floor((opens - instant) / 2);
        expect(sessionOpen(group, between)).toBe(opens === instant);
      }),
      { seed: SEED, numRuns: 4000 },
    );
  });

  it('never opens stocks on a weekend or a full holiday', () => {
    fc.assert(
      fc.property(knownYears, (instant) => {
        const { weekday, date } = newYorkTime(instant);
        const rests = weekday === 0 || weekday === 6 || HOLIDAYS.get(date)?.closesAt === null;
        if (rests) expect(sessionOpen('stocks', instant)).toBe(false);
      }),
      { seed: SEED, numRuns: 4000 },
    );
  });

  it('puts every holiday on a weekday inside the years it claims to know', () => {
    for (const date of HOLIDAYS.keys()) {
      expect([0, 6]).not.toContain(newYorkTime(at(date, 12)).weekday);
      expect(date <= HOLIDAYS_KNOWN_UNTIL).toBe(true);
    }
  });

  it('derives the movable holidays of both years from their rules', () => {
    const nth = (year: number, month: number, weekday: number, n: number): string => {
      let day = { date: `${year}-${two(month)}-01`, weekday: newYorkTime(at(`${year}-${two(month)}-01`, 12)).weekday };
      for (let seen = 0; ; day = dayAfter(day.date)) {
        if (day.weekday === weekday) seen += 1;
        if (seen === n) return day.date;
      }
    };
    for (const year of [2026, 2027]) {
      for (const date of [nth(year, 1, 1, 3), nth(year, 2, 1, 3), nth(year, 9, 1, 1), nth(year, 11, 4, 4)]) {
        expect(HOLIDAYS.get(date)?.closesAt).toBeNull();
      }
    }
  });
});

describe("a pair's session", () => {
  const { pair, group, fees, state } = goldenMarket;
  const stocks = { ...group, index: 1, name: 'stocks-1' };
  const collateral = { index: 3, symbol: 'USDC', address: '0x0', isActive: true, decimals: 6, ...goldenMarket.collateral } as const;
  const friday = at('2026-03-13', 12);
  const allOpen = { forex: true, stocks: true, indices: true, commodities: true };
  const config: MarketConfig = {
    refreshedAt: friday,
    tradingState: 'active',
    marketOrdersTimeoutBlocks: 200,
    openClasses: allOpen,
    pairs: [pair, null, { ...pair, index: 2, groupIndex: 1 }, { ...pair, index: 3, customMaxLeverage: 1n }],
    groups: [group, stocks],
    fees: [fees],
    collaterals: [{ ...collateral, pairs: [state, null, state, state] }],
    bandOffsets: goldenMarket.bandOffsets,
    oiWindows: goldenMarket.oiWindows,
    negPnlCumulVolMultiplier: 10n ** 10n,
  };
  const shut: MarketConfig = { ...config, openClasses: { ...allOpen, stocks: false } };

  it('is open for crypto at any hour', () => {
    expect(pairSession(config, 0, at('2026-12-25', 3))).toBe('open');
  });

  it('asks the calendar where the source has no flags', () => {
    const flagless: MarketConfig = { ...config, openClasses: null };
    expect(pairSession(flagless, 2, friday)).toBe('open');
    expect(pairSession(flagless, 2, at('2026-03-14', 12))).toBe('closed');
    expect(pairSession(flagless, 0, at('2026-03-14', 12))).toBe('open');
  });

  it('prefers a fresh flag to the calendar, and the calendar to a stale flag', () => {
    expect(pairSession(shut, 2, friday)).toBe('closed');
    expect(pairSession(shut, 2, friday + FLAGS_FRESH_MS + 1)).toBe('open');
    expect(pairSession(config, 2, at('2026-03-14', 12))).toBe('closed');
  });

  it('is closed for everything while the protocol is paused', () => {
    expect(pairSession({ ...config, tradingState: 'paused' }, 0, friday)).toBe('closed');
  });

  it('is close_only while the protocol refuses openings', () => {
    expect(pairSession({ ...config, tradingState: 'close_only' }, 0, friday)).toBe('close_only');
  });

  it('is disabled for a blank slot, for a pair without leverage and for a pair without open interest to spare', () => {
    expect(pairSession(config, 1, friday)).toBe('disabled');
    expect(pairSession(config, 99, friday)).toBe('disabled');
    expect(pairSession(config, 3, friday)).toBe('disabled');
    const full = { ...config, collaterals: [{ ...collateral, pairs: [{ ...state, maxOi: 0n }] }] };
    expect(pairSession(full, 0, friday)).toBe('disabled');
    const inactive = { ...config, collaterals: [{ ...collateral, isActive: false, pairs: [state] }] };
    expect(pairSession(inactive, 0, friday)).toBe('disabled');
  });
});
