import { boundsFault, MAX_JSON_DEPTH, MAX_JSON_ITEMS, parseJson } from '../../http/strict-json.js';

const lists = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const objects = (depth: number): string => '{"a":'.repeat(depth) + '1' + '}'.repeat(depth);

describe('the depth of a text', () => {
  it.each([
    ['no text', '', 0],
    ['a word', 'true', 0],
    ['a list', '[]', 1],
    ['lists side by side', '[[],[],[]]', 2],
    ['objects in lists', '[{"a":[1]}]', 3],
    ['brackets inside of a string', '"[[[[{{{{"', 0],
    ['brackets behind an escaped quote', '["\\"[[[["]', 1],
    ['brackets behind an escaped backslash', '["\\\\",[]]', 2],
    ['a string without an end', '["[[[[', 1],
    ['a string that ends with a backslash', '["\\', 1],
    ['characters that share bits with brackets', '["\u015b"]\u015b\u027b', 1],
  ])('of %s is known', (_name, text, depth) => {
    expect(boundsFault(text, { depth })).toBeNull();
    if (depth > 0) expect(boundsFault(text, { depth: depth - 1 })).toBe('too-deep');
  });

  it.each([lists, objects])('is bounded without running out of stack', (nested) => {
    expect(parseJson(nested(MAX_JSON_DEPTH))).toHaveProperty('value');
    expect(parseJson(nested(MAX_JSON_DEPTH + 1))).toEqual({ fault: 'too-deep' });
    expect(parseJson(nested(1_000_000))).toEqual({ fault: 'too-deep' });
  });

  it('that is never closed is refused as well', () => {
    expect(parseJson('['.repeat(5_000))).toEqual({ fault: 'too-deep' });
    expect(parseJson('[')).toEqual({ fault: 'not-json' });
  });
});

describe('the number of items in a text', () => {
  it.each(['0', '[]', '"a"'])('is bounded, whatever they are', (item) => {
    const list = (length: number): string => `[${Array.from({ length }, () => item).join(',')}]`;
    expect(parseJson(list(MAX_JSON_ITEMS))).toHaveProperty('value');
    expect(parseJson(list(MAX_JSON_ITEMS + 2))).toEqual({ fault: 'too-many' });
  });

  it('does not count what stands in a string', () => {
    expect(parseJson(JSON.stringify([','.repeat(100_000)]))).toHaveProperty('value');
  });
});
