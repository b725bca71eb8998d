import { createRandom } from '../fuzz/random.js';
import { createScheduler, type Scheduler } from './scheduler.js';
import { createSimulatedClock, EPOCH } from './simulated-clock.js';

const quiet = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const newScheduler = (seed = 1): Scheduler => createScheduler({ random: createRandom(seed, 2), epoch: EPOCH, settle: quiet });

/** Three owners that wait, answer each other and are paused and killed, by the seed. */
async function busyRun(seed: number): Promise<string> {
  const scheduler = newScheduler(seed);
  const random = createRandom(seed, 9);
  const lanes = (['venue', 'clients', 'replica-1'] as const).map((owner) => scheduler.lane(owner, `${owner}/lane`));
  const clock = createSimulatedClock(scheduler, 'replica-1');
  let left = 200;
  const next = (): void => {
    if ((left -= 1) > 0) random.pick(lanes).post(random.int(0, 5), `event ${left}`, next);
  };
  for (let at = 0; at < 5; at += 1) next();
  clock.every(7, () => random.chance(0.2) && scheduler.setState('clients', random.pick(['paused', 'running'])));
  await scheduler.runUntil(500);
  return scheduler.hash();
}

describe('the scheduler of the simulation', () => {
  it('moves time only when nothing is due', async () => {
    const scheduler = newScheduler();
    const clock = createSimulatedClock(scheduler, 'venue');
    const seen: string[] = [];
    clock.after(10, () => seen.push(`timer at ${clock.now() - EPOCH}`));
    scheduler.lane('venue', 'lane').post(0, 'first', () => seen.push('event at 0'));
    await scheduler.runUntil(9);
    expect(seen).toEqual(['event at 0']);
    await scheduler.runUntil(10);
    expect(seen).toEqual(['event at 0', 'timer at 10']);
  });

  it('keeps the order of a lane, whatever the delays', async () => {
    const scheduler = newScheduler();
    const lane = scheduler.lane('venue', 'lane');
    const seen: number[] = [];
    for (const [at, delay] of [20, 0, 5].entries()) lane.post(delay, 'event', () => seen.push(at));
    await scheduler.runUntil(100);
    expect(seen).toEqual([0, 1, 2]);
  });

  it('waits for what an event does before it releases the next', async () => {
    const scheduler = newScheduler();
    const seen: string[] = [];
    scheduler.lane('venue', 'slow').post(0, 'slow', async () => {
      await quiet();
      await quiet();
      seen.push('slow is done');
    });
    scheduler.lane('venue', 'next').post(1, 'next', () => seen.push('next'));
    await scheduler.runUntil(5);
    expect(seen).toEqual(['slow is done', 'next']);
  });

  it('holds the events of a paused owner and drops those of a killed one', async () => {
    const scheduler = newScheduler();
    const seen: string[] = [];
    const say = (text: string) => () => seen.push(text);
    scheduler.setState('replica-1', 'paused');
    scheduler.lane('replica-1', 'a').post(0, 'held', say('held'));
    scheduler.lane('replica-2', 'b').post(0, 'dropped', say('dropped'));
    scheduler.setState('replica-2', 'dead');
    await scheduler.runUntil(10);
    expect(seen).toEqual([]);
    scheduler.setState('replica-1', 'running');
    await scheduler.runUntil(20);
    expect(seen).toEqual(['held']);
  });

  it('lets nothing of a killed owner run after its successor has started', async () => {
    const scheduler = newScheduler();
    const seen: string[] = [];
    const before = createSimulatedClock(scheduler, 'replica-1');
    scheduler.setState('replica-1', 'dead');
    scheduler.setState('replica-1', 'running');
    before.after(1, () => seen.push('the dead one'));
    createSimulatedClock(scheduler, 'replica-1').after(1, () => seen.push('the new one'));
    await scheduler.runUntil(10);
    expect(seen).toEqual(['the new one']);
  });

  it('has the same trace for the same seed, 20 of 20, and another one for another seed', async () => {
    const hashes = await Promise.all(Array.from({ length: 20 }, () => busyRun(7)));
    expect(new Set(hashes).size).toBe(1);
    expect(await busyRun(8)).not.toBe(hashes[0]);
  });
});
