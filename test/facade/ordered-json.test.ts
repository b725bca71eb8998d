import fc from 'fast-check';
import { GatewayError } from '../../core/errors.js';
import { plainOf } from '../../facade/signing/read-body.js';
import { isOddNumber, readOrderedJson, writeOrderedJson, type Json } from '../../facade/signing/ordered-json.js';

const read = (text: string | Uint8Array): Json => readOrderedJson(typeof text === 'string' ? Buffer.from(text) : text);

/** Null when it was read; otherwise the refusal, which is all that may happen. */
function refusalOf(text: string | Uint8Array): string | null {
  try {
    read(text);
    return null;
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'VALIDATION_ERROR') return error.message;
    throw error;
  }
}

const isRead = (text: string): boolean => refusalOf(text) === null;
const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

describe('the reader of signed bodies', () => {
  const key = fc.stringMatching(/^[a-z0-9]{1,8}$/);
  const leaf = fc.oneof(fc.string({ unit: 'grapheme' }), fc.boolean(), fc.constant(null), fc.maxSafeInteger());
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof({ maxDepth: 4 }, leaf, fc.array(tie('tree'), { maxLength: 5 }), fc.dictionary(key, tie('tree'), { maxKeys: 5 })),
  }));
  const written = tree.chain((value) => fc.constantFrom(JSON.stringify(value), JSON.stringify(value, null, 2)));
  const isPlain = (text: string): boolean => !/\\u0000|\\ud[89a-f]|-0[,\]}\n]|-0$/i.test(text);

  it('reads what JSON.parse reads', () => {
    fc.assert(fc.property(written.filter(isPlain), (text) => expect(plainOf(read(text))).toEqual(JSON.parse(text))));
  });

  it('writes what it read, key by key', () => {
    fc.assert(
      fc.property(written.filter(isPlain), (text) => {
        expect(writeOrderedJson(read(writeOrderedJson(read(text))))).toBe(writeOrderedJson(read(text)));
        expect(JSON.parse(writeOrderedJson(read(text)))).toEqual(JSON.parse(text));
      }),
    );
    expect(writeOrderedJson(read(' { "b" : 1.50 , "2" : 9007199254740993 , "1" : [ ] } '))).toBe('{"b":1.50,"2":9007199254740993,"1":[]}');
  });

  it('never reads what is no JSON, and never fails with anything but a refusal', () => {
    const noise = fc.string({
      unit: fc.constantFrom('{', '}', '[', ']', '"', ',', ':', '\\', 'u', 'e', '0', '1', '-', '.', ' ', 'a', 'true', 'null'),
    });
    fc.assert(
      fc.property(noise, (text) => {
        if (isRead(text)) expect(isJson(text)).toBe(true);
      }),
    );
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => void refusalOf(bytes)));
  });

  it('knows integers from everything else that is equal to one', () => {
    for (const text of ['10.0', '1e3', '1E+2', '-0', '0.0', '1'.repeat(21)]) expect([text, isOddNumber(read(text))]).toEqual([text, true]);
    for (const text of ['0', '-1', '18446744073709551615', '9007199254740993']) expect(read(text)).toBe(BigInt(text));
  });

  it('refuses a key twice at any depth and in any spelling, __proto__, broken text and endless nesting', () => {
    expect(refusalOf('{"a":{"b":1,"b":2}}')).toContain('appears twice');
    expect(refusalOf('[{"a":1,"\\u0061":2}]')).toContain('appears twice');
    expect(refusalOf('{"__proto__":1}')).toContain('is not a field');
    expect(refusalOf('"\\ud800"')).toContain('surrogate');
    expect(refusalOf('"\\u0000"')).toContain('NUL');
    expect(refusalOf(Uint8Array.of(0x22, 0xff, 0x22))).toContain('UTF-8');
    expect(refusalOf('['.repeat(40) + ']'.repeat(40))).toContain('nested');
  });

  it('reads long bodies whole', () => {
    const text = `[${`{"a":"${'x'.repeat(50)}\\n","b":[1,2,3]},`.repeat(3_900)}0]`;
    expect(read(text)).toHaveLength(3_901);
  });
});
