import fc from 'fast-check';
import { decodeCursor, encodeCursor, type PageScope } from '../../../core/account/list-orders.js';
import { GatewayError } from '../../../core/errors.js';

const address = fc.bigInt({ min: 0n, max: 2n ** 160n - 1n }).map((value) => `0x${value.toString(16).padStart(40, '0')}`);
const scope: fc.Arbitrary<PageScope> = fc.record({
  kind: fc.constantFrom('orders' as const, 'fills' as const),
  chain: fc.constantFrom('arbitrum', 'arbitrum-sepolia', 'base'),
  trader: address,
});
const mark = fc.array(fc.bigInt({ min: 0n, max: 2n ** 53n }), { minLength: 1, maxLength: 2 });

function codeOf(attempt: () => unknown): string {
  try {
    attempt();
  } catch (error) {
    if (error instanceof GatewayError) return String(error.code);
    throw error;
  }
  return 'accepted';
}

describe('a cursor', () => {
  it('brings back the place it was made for', () => {
    fc.assert(
      fc.property(scope, mark, (own, place) => {
        expect(decodeCursor(own, encodeCursor(own, place), place.length)).toEqual(place);
      }),
    );
  });

  it('is refused by every other list, chain and account', () => {
    fc.assert(
      fc.property(scope, scope, mark, (own, other, place) => {
        fc.pre(JSON.stringify(own) !== JSON.stringify(other));
        expect(codeOf(() => decodeCursor(other, encodeCursor(own, place), place.length))).toBe('VALIDATION_ERROR');
      }),
    );
  });

  it('that the gateway did not issue is refused, whatever it contains', () => {
    fc.assert(
      fc.property(scope, fc.string({ unit: 'binary' }), (own, text) =>
        expect(codeOf(() => decodeCursor(own, text, 1))).toBe('VALIDATION_ERROR'),
      ),
    );
  });
});
