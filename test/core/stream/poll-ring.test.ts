import { createPollRing } from '../../../core/stream/refresh.js';
import { createManualClock } from '../../harness/time/manual-clock.js';

describe('a ring of polls', () => {
  it('polls few entries at their interval', () => {
    const clock = createManualClock();
    const ring = createPollRing(clock, { everyMs: 5_000, perSecond: 4 });
    const polled = [0, 0, 0];
    polled.forEach((_count, at) => ring.add(() => void (polled[at] = (polled[at] ?? 0) + 1)));
    clock.advance(4_900);
    expect(polled).toEqual([0, 0, 0]);
    clock.advance(1_000);
    expect(polled).toEqual([1, 1, 1]);
    clock.advance(60_000);
    // Turns are a quarter of a second apart, so an interval of five seconds is met within that.
    for (const count of polled) expect(count).toBeGreaterThan(10);
  });

  it('never polls more than its rate, however many there are, and skips none of them', () => {
    const clock = createManualClock();
    const ring = createPollRing(clock, { everyMs: 5_000, perSecond: 4 });
    const polled = new Map<number, number>();
    for (let at = 0; at < 200; at += 1) ring.add(() => void polled.set(at, (polled.get(at) ?? 0) + 1));
    clock.advance(100_000);
    const total = [...polled.values()].reduce((sum, count) => sum + count, 0);
    expect(total).toBeLessThanOrEqual(400);
    expect(total).toBeGreaterThan(370);
    expect([polled.size, Math.max(...polled.values())]).toEqual([200, 2]);
  });

  it('goes on when the clock is set back', () => {
    const manual = createManualClock();
    let shift = 0;
    const clock = { ...manual, now: () => manual.now() + shift };
    const ring = createPollRing(clock, { everyMs: 5_000, perSecond: 4 });
    const polled = [0, 0];
    polled.forEach((_count, at) => ring.add(() => void (polled[at] = (polled[at] ?? 0) + 1)));
    manual.advance(4_000);
    shift = -3_600_000;
    manual.advance(1_000);
    expect(polled).toEqual([1, 1]);
    manual.advance(4_000);
    expect(polled).toEqual([1, 1]);
    manual.advance(2_000);
    expect(polled).toEqual([2, 2]);
  });

  it('keeps no timer when nothing is watched', () => {
    const clock = createManualClock();
    const ring = createPollRing(clock, { everyMs: 5_000, perSecond: 4 });
    const stops = [ring.add(() => undefined), ring.add(() => undefined)];
    expect(clock.pending).toBe(1);
    stops.forEach((stop) => stop());
    expect([clock.pending, ring.size()]).toEqual([0, 0]);
  });
});
