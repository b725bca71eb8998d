import fc from 'fast-check';
import { z } from 'zod';
import { decimal } from '../../core/domain/decimal.js';
import { AddressString, DecimalString, encoderOf, EpochMs, textOf } from '../../native-api/wire/codec.js';
import { OPERATIONS } from '../../native-api/operations/index.js';

const Everything = z.object({
  amount: DecimalString,
  amounts: z.array(DecimalString.nullable()),
  byName: z.record(z.string(), z.object({ at: EpochMs, price: DecimalString.optional() })),
  owner: AddressString,
  side: z.enum(['long', 'short']).nullable(),
  tag: z.literal('x'),
  either: z.union([DecimalString, z.object({ amount: DecimalString })]),
  quiet: z.string().toLowerCase(),
  open: z.looseObject({ amount: DecimalString }),
});

const someDecimal = fc
  .tuple(fc.bigInt(-(10n ** 20n), 10n ** 20n), fc.integer({ min: 0, max: 18 }))
  .map(([units, scale]) => decimal(units, scale));
const someValue = fc.record({
  amount: someDecimal,
  amounts: fc.array(fc.option(someDecimal)),
  byName: fc.dictionary(
    fc.string().filter((key) => key !== '__proto__'),
    fc.record({ at: fc.nat(), price: someDecimal }, { requiredKeys: ['at'] }),
  ),
  owner: fc.constant('0x00000000000000000000000000000000000000aa' as const),
  side: fc.option(fc.constantFrom('long' as const, 'short' as const)),
  tag: fc.constant('x' as const),
  either: fc.oneof(someDecimal, fc.record({ amount: someDecimal })),
  quiet: fc.constantFrom('Loud', 'quiet'),
  open: fc.record({ amount: someDecimal, more: fc.string() }),
});

describe('an encoder made from a schema', () => {
  it('writes what the schema writes', () => {
    fc.assert(fc.property(someValue, (value) => expect(encoderOf(Everything)(value)).toEqual(Everything.encode(value))));
  });

  it('writes nothing that the schema does not name', () => {
    const Known = z.object({ id: z.string(), note: z.string().optional() });
    expect(textOf(Known)({ id: '1', note: undefined, secret: 'x' } as never)).toBe('{"id":"1"}');
  });

  it.each([
    ['lacks a field', { at: undefined, side: 'long', isOpen: true, name: 'x' }],
    ['has no number where one belongs', { at: Number.NaN, side: 'long', isOpen: true, name: 'x' }],
    ['has an unknown word', { at: 1, side: 'up', isOpen: true, name: 'x' }],
    ['has a text for a truth', { at: 1, side: 'long', isOpen: 'yes', name: 'x' }],
    ['has nothing for a text', { at: 1, side: 'long', isOpen: true, name: null }],
  ])('writes nothing of what %s, as the schema would not', (_what, value) => {
    const Strict = z.object({ at: EpochMs, side: z.enum(['long', 'short']), isOpen: z.boolean(), name: z.string() });
    expect(() => Strict.encode(value as never)).toThrow();
    expect(() => textOf(Strict)(value as never)).toThrow(TypeError);
  });

  it('writes nothing for any operation that is answered with nothing', () => {
    for (const { reply } of OPERATIONS) expect(() => encoderOf(reply)({})).toThrow();
  });
});
