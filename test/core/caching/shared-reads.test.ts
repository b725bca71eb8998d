import { createOnce, createSharedReads } from '../../../core/caching/shared-reads.js';
import { createManualClock } from '../../harness/time/manual-clock.js';

const MAX_AGE_MS = 1_000;

/** A node that answers when the test says so, with the number of the question. */
function createNode() {
  const waiting: { readonly answer: (given: number) => void; readonly fail: (error: Error) => void }[] = [];
  return {
    ask: () => new Promise<number>((answer, fail) => void waiting.push({ answer, fail })),
    asked: () => waiting.length,
    answer: (at: number) => waiting[at]?.answer(at),
    fail: (at: number) => waiting[at]?.fail(new Error('no answer')),
  };
}

function open(options: { readonly max?: number; readonly isKept?: (given: number) => boolean } = {}) {
  const [clock, node] = [createManualClock(), createNode()];
  const reads = createSharedReads<string, number, [size: number] | []>(clock, { maxAgeMs: MAX_AGE_MS, ...options });
  const answered = async (): Promise<number> => {
    const given = reads.get('a', node.ask);
    node.answer(node.asked() - 1);
    return given;
  };
  return { clock, node, reads, answered };
}

describe('a shared read', () => {
  it('is asked once by all who come while it is under way and while it is young', async () => {
    const { clock, node, reads } = open();
    const first = [reads.get('a', node.ask), reads.get('a', node.ask)];
    clock.advance(MAX_AGE_MS - 1);
    node.answer(0);
    expect(await Promise.all([...first, reads.get('a', node.ask)])).toEqual([0, 0, 0]);
    expect(node.asked()).toBe(1);
    clock.advance(1);
    void reads.get('a', node.ask);
    expect(node.asked()).toBe(2);
  });

  it('is asked again when the clock was set back by more than its age', async () => {
    const { clock, node, reads, answered } = open();
    await answered();
    clock.advance(-MAX_AGE_MS);
    void reads.get('a', node.ask);
    expect(node.asked()).toBe(2);
  });

  it('fails for all who wait, and is asked again by the next', async () => {
    const { node, reads } = open();
    const both = [reads.get('a', node.ask), reads.get('a', node.ask)];
    node.fail(0);
    for (const each of both) await expect(each).rejects.toThrow('no answer');
    expect(reads.last('a')).toBeUndefined();
    void reads.get('a', node.ask);
    expect(node.asked()).toBe(2);
  });

  it('that fails leaves the good one before it in place, with its own age', async () => {
    const { clock, node, reads, answered } = open();
    const first = await answered();
    clock.advance(MAX_AGE_MS - 1);
    const second = reads.keep('a', node.ask());
    node.fail(1);
    await expect(second.answer).rejects.toThrow('no answer');
    expect(await reads.get('a', node.ask)).toBe(first);
    clock.advance(1);
    expect(reads.recent('a')).toBeUndefined();
    expect(await reads.last('a')?.answer).toBe(first);
  });

  it('that fails late does not undo the one after it', async () => {
    const { node, reads } = open();
    const slow = reads.keep('a', node.ask());
    const quick = reads.keep('a', node.ask());
    node.answer(1);
    await quick.answer;
    node.fail(0);
    await expect(slow.answer).rejects.toThrow('no answer');
    expect(reads.last('a')).toBe(quick);
  });

  it('can be distinguished from one that is under way', async () => {
    const { node, reads } = open();
    const read = reads.keep('a', node.ask());
    expect(read.isDone).toBe(false);
    node.answer(0);
    await read.answer;
    expect(read.isDone).toBe(true);
  });

  it('is given to those who wait and then forgotten where its answer is not to be kept', async () => {
    const { node, reads } = open({ isKept: (given) => given > 0 });
    const both = [reads.get('a', node.ask), reads.get('a', node.ask)];
    node.answer(0);
    expect(await Promise.all(both)).toEqual([0, 0]);
    expect(reads.last('a')).toBeUndefined();
  });

  it('keeps what it was about', () => {
    const { node, reads } = open();
    void reads.get('a', node.ask, 5);
    expect(reads.recent('a')?.about).toEqual([5]);
  });

  it('is forgotten on demand, also while it is under way', async () => {
    const { node, reads, answered } = open();
    await answered();
    reads.forget('a');
    const read = reads.get('a', node.ask);
    reads.forget('a');
    node.answer(1);
    expect([await read, reads.last('a')]).toEqual([1, undefined]);
  });

  it('is dropped for others once there are too many, the longest unasked first', () => {
    const { node, reads } = open({ max: 2 });
    for (const key of ['a', 'b']) void reads.get(key, node.ask);
    void reads.get('a', node.ask);
    void reads.get('c', node.ask);
    expect(['a', 'b', 'c'].map((key) => reads.last(key) !== undefined)).toEqual([true, false, true]);
  });
});

describe('what is made once for an object', () => {
  it('is made for each object, also where it is nothing', () => {
    let made = 0;
    const once = createOnce((item: { readonly size: number }) => {
      made += 1;
      return item.size > 0 ? item.size : undefined;
    });
    const [one, none] = [{ size: 1 }, { size: 0 }];
    expect([once(one), once(one), once(none), once(none), once({ size: 1 })]).toEqual([1, 1, undefined, undefined, 1]);
    expect(made).toBe(3);
  });
});
