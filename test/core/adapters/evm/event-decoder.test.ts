import fc from 'fast-check';
import { decodeEventLog, encodeAbiParameters, encodeEventTopics, type AbiEvent, type AbiParameter, type Hex } from 'viem';
import { diamondAbi } from '../../../../core/adapters/evm/diamond-abi.js';
import { eventDecoder } from '../../../../core/adapters/evm/logs.js';

const EVENTS = diamondAbi.filter((item) => item.type === 'event') as readonly AbiEvent[];

/** Any value that the type can hold. */
function valueOf(parameter: AbiParameter): fc.Arbitrary<unknown> {
  const { type } = parameter;
  const list = /^(.*)\[(\d*)\]$/.exec(type);
  if (list) {
    const [, item = '', count = ''] = list;
    const size = count === '' ? { maxLength: 3 } : { minLength: Number(count), maxLength: Number(count) };
    return fc.array(valueOf({ ...parameter, type: item }), size);
  }
  if (type === 'tuple' && 'components' in parameter)
    return fc.record(Object.fromEntries(parameter.components.map((part) => [part.name ?? '', valueOf(part)])));
  if (type === 'bool') return fc.boolean();
  if (type === 'address') return bytes(20);
  if (type === 'string') return fc.string({ maxLength: 40 });
  if (type === 'bytes') return fc.uint8Array({ maxLength: 70 }).map(hex);
  if (type.startsWith('bytes')) return bytes(Number(type.slice(5)));
  const bits = Number(/\d+/.exec(type)?.[0] ?? 256);
  const [min, max] = type.startsWith('u') ? [0n, 2n ** BigInt(bits) - 1n] : [-(2n ** BigInt(bits - 1)), 2n ** BigInt(bits - 1) - 1n];
  // The library takes and gives numbers where they fit.
  return fc.bigInt({ min, max }).map((value) => (bits <= 48 ? Number(value) : value));
}

const hex = (given: Uint8Array): Hex => `0x${Buffer.from(given).toString('hex')}`;
const bytes = (length: number): fc.Arbitrary<Hex> => fc.uint8Array({ minLength: length, maxLength: length }).map(hex);

describe.each(EVENTS.map((event) => [event.name, event] as const))('a log of %s', (_name, event) => {
  const args = fc.record(Object.fromEntries(event.inputs.map((input) => [input.name ?? '', valueOf(input)])));
  const written = (given: Record<string, unknown>): { readonly topics: [Hex, ...Hex[]]; readonly data: Hex } => {
    const plain = event.inputs.filter((input) => !input.indexed);
    const topics = encodeEventTopics({ abi: [event], eventName: event.name, args: given }) as [Hex, ...Hex[]];
    return {
      topics,
      data: encodeAbiParameters(
        plain,
        plain.map((input) => given[input.name ?? '']),
      ),
    };
  };

  it('is read as the library reads it', () => {
    fc.assert(
      fc.property(args, (given) => {
        const { topics, data } = written(given);
        const expected: unknown = decodeEventLog({ abi: [event], topics, data }).args;
        expect(eventDecoder(event)(topics, data)).toEqual(expected);
      }),
      { numRuns: 20 },
    );
  });

  it('is refused when something is missing', () => {
    fc.assert(
      fc.property(args, (given) => {
        const { topics, data } = written(given);
        if (topics.length > 1) expect(() => eventDecoder(event)(topics.slice(0, -1), data)).toThrow();
        if (data.length > 66) expect(() => eventDecoder(event)(topics, data.slice(0, 66) as Hex)).toThrow();
      }),
      { numRuns: 5 },
    );
  });
});
