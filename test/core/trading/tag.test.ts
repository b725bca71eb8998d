import fc from 'fast-check';
import type { Hex } from '../../../core/types.js';
import { appendTag, tagsIn } from '../../../core/trading/encode-intent.js';
import { diamondCall } from '../../harness/diamond/diamond-calls.js';
import { newTag } from '../../harness/traders/order-draft.js';

const bytes = (length?: number) =>
  fc
    .uint8Array(length === undefined ? { maxLength: 200 } : { minLength: length, maxLength: length })
    .map((raw): Hex => `0x${Buffer.from(raw).toString('hex')}`);

describe('a tag', () => {
  it('is found behind any call data', () => {
    fc.assert(fc.property(bytes(), bytes(16), (data, tag) => expect(tagsIn(appendTag(data, tag))).toContain(tag)));
  });

  it('is found in whatever wraps the call, in any spelling, once', () => {
    const tags = [newTag(), newTag()];
    const calls = tags.map((tag) => appendTag(diamondCall('cancelOpenOrder', [3]), tag));
    const wrapped = diamondCall('multicall', [[...calls, ...calls]]);
    expect(tagsIn(wrapped)).toEqual(tags);
    expect(tagsIn(`0x${wrapped.slice(2).toUpperCase()}`)).toEqual(tags);
  });

  it('leaves the call data as it is in front of it', () => {
    const data = diamondCall('cancelOpenOrder', [3]);
    expect(appendTag(data, newTag()).startsWith(data)).toBe(true);
    expect(tagsIn(data)).toEqual([]);
  });

  it('is not seen where it is cut off, nor between two bytes', () => {
    const tagged = appendTag('0x', newTag());
    expect(tagsIn(tagged.slice(0, -2) as Hex)).toEqual([]);
    expect(tagsIn(`0x0${tagged.slice(2)}0`)).toEqual([]);
  });
});
