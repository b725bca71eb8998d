import { setImmediate as turn } from 'node:timers/promises';
import { allDone } from '../../relayer/deliver.js';
import { bumpedFees, firstFees } from '../../relayer/fees.js';
import { createInFlightJobs } from '../../relayer/chain-reconciler.js';
import { createMutex } from '../../relayer/mutex.js';

describe('works one at a time', () => {
  it('come in their order, also after one that fails', async () => {
    const oneAtATime = createMutex();
    const steps: string[] = [];
    const work = (name: string, turns: number) => async (): Promise<string> => {
      steps.push(`${name} begins`);
      for (let left = turns; left > 0; left -= 1) await turn();
      steps.push(`${name} ends`);
      if (name === 'b') throw new Error('b fails');
      return name;
    };
    const all = await Promise.allSettled([oneAtATime(work('a', 3)), oneAtATime(work('b', 2)), oneAtATime(work('c', 1))]);
    expect(steps).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
    expect(all.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });
});

describe('what is in hand', () => {
  it('is known from the moment of asking, and stays known although it was put down', async () => {
    const inHand = createInFlightJobs();
    await inHand.hold([1n], async () => {
      const seen = inHand.fromNow();
      expect([...seen]).toEqual([1n]);
      await inHand.hold([2n, 3n], () => Promise.resolve());
      expect([...seen]).toEqual([1n, 2n, 3n]);
    });
    expect([...inHand.fromNow()]).toEqual([]);
  });

  it('is put down by who fails, too', async () => {
    const inHand = createInFlightJobs();
    await expect(inHand.hold([1n], () => Promise.reject(new Error('dropped')))).rejects.toThrow('dropped');
    expect([...inHand.fromNow()]).toEqual([]);
  });
});

it('all done waits for the slowest, and fails with the first failure', async () => {
  let isSlowDone = false;
  const slow = turn()
    .then(() => turn())
    .then(() => (isSlowDone = true));
  await expect(allDone([Promise.reject(new Error('first')), slow, Promise.reject(new Error('second'))])).rejects.toThrow('first');
  expect(isSlowDone).toBe(true);
  await expect(allDone([])).resolves.toBeUndefined();
});

describe('the tip that a node proposes', () => {
  const settings = { maxFeePerGas: 100n, maxTipPerGas: 5n };

  it('is believed up to a bound', () => {
    expect(firstFees({ baseFee: 10n, priorityFee: 3n }, settings)).toEqual({ maxFeePerGas: 23n, maxPriorityFeePerGas: 3n });
    expect(firstFees({ baseFee: 10n, priorityFee: 90n }, settings)).toEqual({ maxFeePerGas: 25n, maxPriorityFeePerGas: 5n });
  });

  it('does not keep a replacement from bidding more than what it replaces', () => {
    const last = { isNoOp: false, hash: '0x01', raw: '0x02', maxFeePerGas: 25n, maxPriorityFeePerGas: 5n, signedAt: 0 } as const;
    expect(bumpedFees({ baseFee: 10n, priorityFee: 90n }, last, settings)).toEqual({ maxFeePerGas: 29n, maxPriorityFeePerGas: 6n });
  });
});
