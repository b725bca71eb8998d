import fc from 'fast-check';
import { GatewayError, type Issue } from '../../core/errors.js';
import { readStrictJson } from '../../http/strict-json.js';

const read = (text: string | Uint8Array): unknown => readStrictJson(typeof text === 'string' ? Buffer.from(text) : text);

function issuesOf(text: string | Uint8Array): Issue[] {
  try {
    read(text);
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'VALIDATION_ERROR')
      return (error as GatewayError<'VALIDATION_ERROR'>).details.issues;
    throw error;
  }
  return [];
}

/** JSON text of any value, with blanks where JSON allows them. */
const jsonText = fc.jsonValue({ maxDepth: 4 }).chain((value) => fc.constantFrom(JSON.stringify(value), JSON.stringify(value, null, 2)));
const isPlain = (text: string): boolean => !/__proto__|\\u0000|\\ud[89a-f]/i.test(text);

describe('the reader of request bodies', () => {
  it('reads what JSON.parse reads', () => {
    fc.assert(fc.property(jsonText.filter(isPlain), (text) => expect(read(text)).toEqual(JSON.parse(text))));
  });

  it('never fails with anything but a refusal, whatever the bytes', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => void issuesOf(bytes)));
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('{', '}', '[', ']', '"', ',', ':', '\\', 'u', 'e', '0', '1', ' ', 'a') }),
        (text) => void issuesOf(text),
      ),
    );
  });

  it('refuses a key that appears twice, at any depth and in any spelling, and names it', () => {
    expect(issuesOf('{"a":1,"a":2}')).toEqual([{ path: 'a', message: 'appears twice' }]);
    expect(issuesOf('{"a":1,"\\u0061":2}')).toEqual([{ path: 'a', message: 'appears twice' }]);
    expect(issuesOf('{"list":[{"x":1},{"y":{"z":1,"b":"z","z":2}}]}')).toEqual([{ path: 'list.1.y.z', message: 'appears twice' }]);
    expect(issuesOf('{"a":{"x":1},"b":{"x":1},"c":["x","x"],"d":"a"}')).toEqual([]);
  });

  it('finds the twin wherever it hides', () => {
    const key = fc.string({ maxLength: 8 }).filter((text) => text !== '__proto__' && !text.includes('\0'));
    fc.assert(
      fc.property(key, fc.jsonValue(), fc.jsonValue(), (name, one, other) => {
        const text = `{"before":[{}],${JSON.stringify(name)}:${JSON.stringify(one)},"x y":{},${JSON.stringify(name)}:${JSON.stringify(other)}}`;
        expect(issuesOf(text).some(({ message }) => message === 'appears twice')).toBe(true);
      }),
    );
  });

  it.each([
    ['{"__proto__":{"admin":true}}', '__proto__', 'is not a field'],
    ['{"a":{"__pro\\u0074o__":1}}', 'a.__proto__', 'is not a field'],
    ['{"name":"a\\u0000b"}', 'name', 'holds a NUL character'],
    ['{"name":"\\ud800"}', 'name', 'holds half of a surrogate pair'],
    ['', '', 'is not JSON'],
    ['{', '', 'is not JSON'],
    ["{'a':1}", '', 'is not JSON'],
    ['{"a":01}', '', 'is not JSON'],
    ['\ufeff{}', '', 'is not JSON'],
    ['NaN', '', 'is not JSON'],
  ])('refuses %j', (text, path, message) => {
    expect(issuesOf(text)).toEqual([{ path, message }]);
  });

  it('refuses bytes that are not UTF-8', () => {
    expect(issuesOf(Uint8Array.of(0x22, 0xff, 0x22))).toEqual([{ path: '', message: 'is not UTF-8' }]);
  });

  it('refuses nesting that no request needs, without running out of stack', () => {
    const depth = 100_000;
    expect(issuesOf('['.repeat(depth) + ']'.repeat(depth))[0]?.message).toBe('is nested deeper than 32 levels');
    expect(issuesOf('['.repeat(32) + ']'.repeat(32))).toEqual([]);
  });

  it('reports only the first faults of a body that has thousands', () => {
    const deep = `{"${'k'.repeat(64)}":`;
    const faults = Array.from({ length: 15_000 }, () => '"\\u0000"').join(',');
    expect(issuesOf(`${deep.repeat(31)}[${faults}]${'}'.repeat(31)}`)).toHaveLength(50);
  });

  it('pollutes no prototype', () => {
    issuesOf('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}');
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});
