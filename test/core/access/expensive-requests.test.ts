import { createExpensiveRequests } from '../../../core/access/limits.js';

const turns = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

describe('expensive requests', () => {
  it('of one address run one after the other, those of another beside them', async () => {
    const queue = createExpensiveRequests();
    const begun: string[] = [];
    const ends = new Map<string, () => void>();
    const work = (name: string) => () => {
      begun.push(name);
      return new Promise<void>((resolve) => ends.set(name, resolve));
    };
    const all = [
      queue.take('2001:db8:0:1:0:0:0:1', work('one')),
      queue.take('2001:db8:0:1:0:0:0:2', work('two')),
      queue.take('192.0.2.1', work('another')),
    ];
    await turns();
    expect(begun).toEqual(['one', 'another']);
    ends.get('one')?.();
    await turns();
    expect(begun).toEqual(['one', 'another', 'two']);
    ends.get('two')?.();
    ends.get('another')?.();
    await Promise.all(all);
  });

  it('go on after one that failed, and are refused when too many wait', async () => {
    const queue = createExpensiveRequests();
    await expect(queue.take('192.0.2.1', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    let end = (): void => undefined;
    const first = queue.take('192.0.2.1', () => new Promise<void>((resolve) => (end = resolve)));
    const waiting = Array.from({ length: 20 }, () => queue.take('192.0.2.1', () => Promise.resolve()));
    await expect(queue.take('192.0.2.1', () => Promise.resolve())).rejects.toMatchObject({
      code: 'RATE_LIMITED',
      details: { scope: 'ip', retryAfterSeconds: 1 },
    });
    await turns();
    end();
    await Promise.all([first, ...waiting]);
    await queue.take('192.0.2.1', () => Promise.resolve());
  });
});
