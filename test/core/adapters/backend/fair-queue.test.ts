import { createFairQueue } from '../../../../core/adapters/backend/ask-upstream.js';

const step = (): Promise<void> => Promise.resolve();

describe('questions to upstream', () => {
  it('are sent one at a time, the callers in turns', async () => {
    const queue = createFairQueue({ perLine: 8, total: 64 });
    const asked: string[] = [];
    let running = 0;
    let most = 0;
    const ask = (caller: string, name: string) =>
      queue.take(caller, async () => {
        running += 1;
        most = Math.max(most, running);
        asked.push(name);
        await step();
        running -= 1;
      });
    await Promise.all([...[1, 2, 3, 4, 5].map((n) => ask('crawler', `old ${n}`)), ask('visitor', 'new 1'), ask('visitor', 'new 2')]);
    expect(asked).toEqual(['old 1', 'old 2', 'new 1', 'old 3', 'new 2', 'old 4', 'old 5']);
    expect(most).toBe(1);
  });

  it('of a caller whose queue is full are refused, and those of other callers are not', async () => {
    const queue = createFairQueue({ perLine: 2, total: 4 });
    const ask = (caller: string) => queue.take(caller, step);
    // The first is sent at once and does not count in the queue.
    const taken = [ask('crawler'), ask('crawler'), ask('crawler'), ask('crawler'), ask('visitor'), ask('third')];
    expect(taken.map((answer) => answer !== null)).toEqual([true, true, true, false, true, false]);
    await Promise.all(taken.flatMap((answer) => answer ?? []));
    expect(ask('third')).not.toBeNull();
  });

  it("that fail are their own caller's, and the next ones are asked", async () => {
    const queue = createFairQueue({ perLine: 2, total: 4 });
    const failing = queue.take('one', () => Promise.reject(new Error('away')));
    const answered = queue.take('one', () => Promise.resolve('here'));
    await expect(failing).rejects.toThrow('away');
    expect(await answered).toBe('here');
  });
});
