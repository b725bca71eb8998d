import { createMarketHours } from '../../../sandbox/backend/market-hours.js';
import { SANDBOX_MARKETS } from '../../../sandbox/markets.js';
import { createManualClock } from '../../harness/time/manual-clock.js';

const [BTC, BLANK, AAPL, TSLA] = [0, 5, 12, 13];
const TUESDAY = Date.UTC(2026, 0, 6, 15);
const SATURDAY = Date.UTC(2026, 0, 10, 15);
const at = (start: number) => createMarketHours({ markets: SANDBOX_MARKETS, clock: createManualClock(start) });

describe('the hours of the sandbox', () => {
  it("are the calendar's unless they are set", () => {
    expect([BTC, BLANK, AAPL].map((pairIndex) => at(TUESDAY).isOpen(pairIndex))).toEqual([true, false, true]);
    expect([BTC, BLANK, AAPL].map((pairIndex) => at(SATURDAY).isOpen(pairIndex))).toEqual([true, false, false]);
    expect(at(SATURDAY).isClassOpen('stocks')).toBe(false);
  });

  it('close one market of an open class by its cap alone', () => {
    const hours = at(TUESDAY);
    hours.set(AAPL, false);
    expect(hours.isClassOpen('stocks')).toBe(true);
    expect([AAPL, TSLA].map((pairIndex) => [hours.isOpen(pairIndex), hours.isCapped(pairIndex)])).toEqual([
      [false, true],
      [true, false],
    ]);
  });

  it('close the class when all of its markets are closed', () => {
    const hours = at(TUESDAY);
    hours.set(AAPL, false);
    hours.set(TSLA, false);
    expect(hours.isClassOpen('stocks')).toBe(false);
    expect(hours.isCapped(AAPL)).toBe(false);
  });

  it('open one market on a Saturday and keep its neighbour shut', () => {
    const hours = at(SATURDAY);
    hours.set(AAPL, true);
    expect(hours.isClassOpen('stocks')).toBe(true);
    expect([hours.isCapped(AAPL), hours.isCapped(TSLA)]).toEqual([false, true]);
  });

  it('cap a crypto market, which has no class flag', () => {
    const hours = at(TUESDAY);
    hours.set(BTC, false);
    expect([hours.isOpen(BTC), hours.isCapped(BTC)]).toEqual([false, true]);
  });

  it('are given back to the calendar, and publish every change', () => {
    const hours = at(TUESDAY);
    let changes = 0;
    hours.onChange(() => (changes += 1));
    hours.set(BTC, false);
    hours.set(BTC, null);
    expect([hours.isOpen(BTC), changes]).toEqual([true, 2]);
    expect(() => hours.set(BLANK, true)).toThrow('no market');
  });
});
