import { together } from '../../client/src/verify-context.js';

const laterThan = async (turns: number, then: () => unknown): Promise<unknown> => {
  for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
  return then();
};
const fails = (name: string) => (): never => {
  throw new Error(name);
};

describe('checks that run at the same time', () => {
  it('give their results in the order of the list', async () => {
    expect(await together([laterThan(5, () => 'slow'), laterThan(0, () => 'fast')])).toEqual(['slow', 'fast']);
  });

  it('fail with the first failure in the list, whichever came first', async () => {
    await expect(
      together([laterThan(0, () => 1), laterThan(9, fails('first in the list')), laterThan(0, fails('first in time'))]),
    ).rejects.toThrow('first in the list');
  });

  it('leave no rejection without a handler', async () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown): void => void unhandled.push(error);
    process.on('unhandledRejection', note);
    await expect(together([laterThan(0, fails('one')), laterThan(3, fails('two'))])).rejects.toThrow('one');
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', note);
    expect(unhandled).toEqual([]);
  });
});
