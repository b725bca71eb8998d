import { createHeartbeat, createMessageRate } from '../../../core/stream/connection.js';
import { createRefresh } from '../../../core/stream/refresh.js';
import { createShared } from '../../../core/stream/shared.js';
import { createManualClock } from '../../harness/time/manual-clock.js';

describe('the heartbeat', () => {
  const start = () => {
    const clock = createManualClock();
    const said: string[] = [];
    const heartbeat = createHeartbeat({
      clock,
      everyMs: 15_000,
      misses: 2,
      ask: () => said.push('ping'),
      onLost: () => said.push('lost'),
    });
    return { clock, said, heartbeat };
  };

  it('pings every time and keeps a client that answers', () => {
    const { clock, said, heartbeat } = start();
    for (let beat = 0; beat < 10; beat += 1) {
      clock.advance(15_000);
      heartbeat.alive();
    }
    expect(said).toEqual(Array.from({ length: 10 }, () => 'ping'));
  });

  it('gives up a client that misses two in a row, and pings no more', () => {
    const { clock, said, heartbeat } = start();
    clock.advance(30_000);
    heartbeat.alive();
    clock.advance(44_999);
    expect(said).toEqual(['ping', 'ping', 'ping', 'ping']);
    clock.advance(60_000);
    expect(said.slice(4)).toEqual(['lost']);
    expect(clock.pending).toBe(0);
  });
});

it('lets a burst pass, then so many a second', () => {
  const clock = createManualClock();
  const mayPass = createMessageRate(clock, { burst: 5, perSecond: 2 });
  const passed = (tries: number): number => Array.from({ length: tries }, mayPass).filter(Boolean).length;
  expect(passed(20)).toBe(5);
  clock.advance(500);
  expect(passed(20)).toBe(1);
  clock.advance(60_000);
  expect(passed(20)).toBe(5);
});

it('reads again once for whatever was asked while it read', async () => {
  const clock = createManualClock();
  let runs = 0;
  const refresh = createRefresh(clock, 100, () => {
    runs += 1;
    return Promise.resolve();
  });
  for (let count = 0; count < 50; count += 1) refresh.ask();
  expect(runs).toBe(1);
  await clock.pass(200);
  expect(runs).toBe(2);
  await clock.pass(1_000);
  expect(runs).toBe(2);
  refresh.ask();
  expect(runs).toBe(3);
  refresh.stop();
  await clock.pass(1_000);
  expect([runs, clock.pending]).toEqual([3, 0]);
});

it('makes a shared part for the first holder and stops it with the last', () => {
  const log: string[] = [];
  const shared = createShared(
    (key: string) => key,
    (key) => {
      log.push(`made ${key}`);
      return { stop: () => void log.push(`stopped ${key}`) };
    },
  );
  const [one, two] = [shared.hold('a'), shared.hold('a')];
  one.release();
  one.release();
  expect([log, shared.size()]).toEqual([['made a'], 1]);
  two.release();
  expect([log, shared.size()]).toEqual([['made a', 'stopped a'], 0]);
  shared.hold('a');
  expect(log.at(-1)).toBe('made a');
});
