import path from 'node:path';
import fc from 'fast-check';

interface Module {
  readonly sizeFor: (usd: string, price: string, precision: number) => string;
  readonly boundPrice: (price: string, isBuy: boolean, szDecimals: number) => string;
  readonly collateralFor: (usd: string, leverage: string) => string;
  readonly withTenth: (amount: string) => string;
  readonly takesDollars: (market: { readonly collaterals: readonly { readonly symbol: string }[] }) => boolean;
}

/** Named at run time: the types of a browser, which the module brings, do not go with those of Node. */
const amounts = (await import(path.resolve(import.meta.dirname, '../../web/connect/order-amounts.ts'))) as Module;
const { sizeFor, boundPrice, collateralFor, withTenth, takesDollars } = amounts;

/** With all digits, times 10^8. */
const exact = (text: string): bigint => {
  const [whole = '0', part = ''] = text.split('.');
  return BigInt(whole) * 10n ** 8n + BigInt(part.padEnd(8, '0'));
};

describe('the size of the first order', () => {
  it.each([
    ['100', '60000', 5, '0.00167'],
    ['100', '50000', 3, '0.002'],
    ['150', '0.00001', 0, '15000000'],
    ['1500', '3000', 8, '0.5'],
  ])('of $%s at %s with %i digits is %s', (usd, price, digits, size) => expect(sizeFor(usd, price, digits)).toBe(size));

  it('is worth at least what was asked for, and less than one step more', () => {
    const cents = fc.integer({ min: 1, max: 100_000_000 }).map((value) => (value / 100).toFixed(2));
    fc.assert(
      fc.property(cents, cents, fc.integer({ min: 0, max: 8 }), (usd, price, digits) => {
        const [size, step] = [exact(sizeFor(usd, price, digits)), 10n ** BigInt(8 - digits)];
        const wanted = exact(usd) * 10n ** 8n;
        expect(size % step).toBe(0n);
        expect(size * exact(price)).toBeGreaterThanOrEqual(wanted);
        expect((size - step) * exact(price)).toBeLessThan(wanted);
      }),
    );
  });

  it('does not exist without a price', () => expect(() => sizeFor('100', '0', 3)).toThrow('no price'));
});

describe('the bound of a Hyperliquid order', () => {
  it.each([
    ['60000', true, 5, '63000'],
    ['60001', false, 5, '57000'],
    ['1.23456', true, 0, '1.2962'],
    ['0.0000123456', true, 0, '0.000012'],
    ['123456', true, 5, '129620'],
  ])('of a price of %s (buy: %s, %i digits of size) is %s', (price, isBuy, digits, bound) =>
    expect(boundPrice(price, isBuy, digits)).toBe(bound),
  );
});

describe('the collateral of the first order', () => {
  it.each([
    ['100', '10', '10'],
    ['100', '3', '33.34'],
    ['150', '150', '1'],
  ])('of $%s at %sx is $%s, rounded up', (usd, leverage, collateral) => expect(collateralFor(usd, leverage)).toBe(collateral));

  it('may be a tenth more than shown', () => expect([withTenth('10'), withTenth('33.34')]).toEqual(['11', '36.674']));
  it('does not exist without leverage', () => expect(() => collateralFor('100', '0')).toThrow('leverage'));

  it.each([
    [['USDC', 'WETH'], true],
    [['DAI'], true],
    [['WETH'], false],
    [['WETH', 'DAI'], false],
    [[], false],
  ])('in a market of %j is in dollars: %s', (symbols, isInDollars) =>
    expect(takesDollars({ collaterals: symbols.map((symbol) => ({ symbol })) })).toBe(isInDollars),
  );
});
