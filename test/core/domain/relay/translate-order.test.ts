import fc from 'fast-check';
import { floorToLot } from '../../../../core/domain/decimal.js';
import { worstPrice } from '../../../../core/domain/pricing/execution-price.js';
import type { ExchangeOrder, ExchangeStyle, NettedTrade, TranslationContext } from '../../../../core/domain/relay/exchange-order.js';
import { boundBy, slippageTo, translateOrder } from '../../../../core/domain/relay/translate-order.js';

const E18 = 10n ** 18n;
const PRICE = 60_000n * 10n ** 10n;
const STEP = E18 / 100_000n;

const context = (changes: Partial<TranslationContext> = {}): TranslationContext => ({
  block: 1n,
  pairIndex: 0,
  collateralIndex: 3,
  collateral: { precision: 10n ** 6n, precisionDelta: 10n ** 12n, priceUsd: 10n ** 8n },
  oracle: PRICE,
  mark: PRICE,
  predicted: PRICE,
  trades: [],
  leverage: 10_000n,
  sizeStep: STEP,
  cushionP: 100n,
  maxSlippageP: 65_000n,
  tp: 0n,
  sl: 0n,
  ...changes,
});

const trade = (tradeIndex: number, long: boolean, sizeBase: bigint, changes: Partial<NettedTrade> = {}): NettedTrade => ({
  tradeIndex,
  long,
  sizeBase,
  collateralAmount: (sizeBase * 6_000n * 10n ** 6n) / E18,
  minCollateral: 10n ** 6n,
  tp: 0n,
  sl: 0n,
  slippageP: 0n,
  isBusy: false,
  ...changes,
});

const limit = (tif: 'Gtc' | 'Ioc' | 'Alo'): ExchangeStyle => ({ kind: 'limit', tif });
const order = (changes: Partial<ExchangeOrder> = {}): ExchangeOrder => ({
  isBuy: true,
  limit: (PRICE * 105n) / 100n,
  size: E18,
  reduceOnly: false,
  style: limit('Ioc'),
  ...changes,
});
const SELL = { isBuy: false, limit: (PRICE * 95n) / 100n } as const;

const legsOf = (translation: ReturnType<typeof translateOrder>) => (translation.kind === 'legs' ? translation.legs : []);
const kinds = (translation: ReturnType<typeof translateOrder>): string[] => legsOf(translation).map(({ intent }) => intent.kind);
const why = (translation: ReturnType<typeof translateOrder>): string | null => (translation.kind === 'refused' ? translation.why : null);

describe('a market order', () => {
  it('opens when there is nothing to close', () => {
    const [leg] = legsOf(translateOrder(order(), context()));
    expect(leg).toMatchObject({ role: 'open', sizeBase: E18, intent: { kind: 'open', type: 'market', long: true } });
    // 1 BTC at 60,000 and 10x.
    expect(leg?.intent).toMatchObject({ collateralAmount: 6_000n * 10n ** 6n });
  });

  it('names the referrer that was stored with it in every way of opening, and none where none was', () => {
    const referrer = `0x${'ab'.repeat(20)}` as const;
    const resting = order({ style: limit('Gtc'), limit: (PRICE * 9n) / 10n });
    const stop = order({ style: { kind: 'trigger', trigger: (PRICE * 101n) / 100n, tpsl: 'sl' } });
    for (const asked of [order(), resting, stop]) {
      const [named, unnamed] = [context({ referrer }), context()].map((each) => legsOf(translateOrder(asked, each))[0]?.intent);
      expect(named).toEqual({ ...unnamed, referrer });
      expect(unnamed).toMatchObject({ kind: 'open' });
      expect(unnamed).not.toHaveProperty('referrer');
    }
  });

  it('adds to a position with a trade of its own', () => {
    expect(kinds(translateOrder(order(), context({ trades: [trade(1, true, E18)] })))).toEqual(['open']);
  });

  it('closes the oldest trades first, the last one in part', () => {
    const trades = [trade(4, true, E18), trade(7, true, E18), trade(9, true, E18)];
    const translation = translateOrder(order({ ...SELL, size: (E18 * 3n) / 2n }), context({ trades }));
    expect(legsOf(translation).map(({ intent, sizeBase }) => [intent.kind, 'tradeIndex' in intent && intent.tradeIndex, sizeBase])).toEqual(
      [
        ['close', 4, E18],
        ['decrease', 7, E18 / 2n],
      ],
    );
  });

  it('flips: closes what is there and opens the rest', () => {
    const translation = translateOrder(order({ ...SELL, size: 3n * E18 }), context({ trades: [trade(0, true, E18)] }));
    expect(legsOf(translation).map(({ role, sizeBase }) => [role, sizeBase])).toEqual([
      ['close', E18],
      ['open', 2n * E18],
    ]);
    expect(legsOf(translation)[1]?.intent).toMatchObject({ long: false });
  });

  it('never opens when it may only reduce, and is shrunk to the position', () => {
    const trades = [trade(0, true, E18)];
    expect(kinds(translateOrder(order({ ...SELL, size: 3n * E18, reduceOnly: true }), context({ trades })))).toEqual(['close']);
    expect(why(translateOrder(order({ reduceOnly: true }), context({ trades })))).toBe('reduce-only');
    expect(why(translateOrder(order({ reduceOnly: true }), context()))).toBe('reduce-only');
  });

  it('for the shown size closes the whole position, whatever the hidden digits', () => {
    const trades = [trade(0, true, E18 + 7n), trade(1, true, E18 + 999n)];
    expect(kinds(translateOrder(order({ ...SELL, size: 2n * E18, reduceOnly: true }), context({ trades })))).toEqual(['close', 'close']);
    expect(kinds(translateOrder(order({ ...SELL, size: 2n * E18 }), context({ trades })))).toEqual(['close', 'close']);
  });

  it('closes a trade whole when too little would stay', () => {
    const dust = trade(0, true, E18, { minCollateral: 100n * 10n ** 6n });
    expect(kinds(translateOrder(order({ ...SELL, size: (E18 * 99n) / 100n }), context({ trades: [dust] })))).toEqual(['close']);
  });

  it.each([0n, 200n, 10_000n, 65_535n])(
    'closes within its limit and leaves a trade the closing slippage of %s that it has',
    (slippageP) => {
      const held = [trade(0, true, E18, { slippageP })];
      for (const percent of [99n, 95n, 20n]) {
        const tight = order({ isBuy: false, limit: (PRICE * percent) / 100n, size: E18 / 2n });
        const [leg] = legsOf(translateOrder(tight, context({ trades: held })));
        const { expectedPrice, slippageP: kept } = leg?.intent as { expectedPrice: bigint; slippageP: bigint };
        expect(kept).toBe(slippageP === 0n ? 1_000n : slippageP);
        const worst = worstPrice({ expectedPrice, maxSlippageP: kept, long: true, open: false });
        expect(worst).toBeGreaterThanOrEqual(tight.limit);
        expect(worst - tight.limit).toBeLessThan(10n);
      }
    },
  );

  it('waits while everything it could close is busy', () => {
    const trades = [trade(0, true, E18, { isBusy: true })];
    expect(why(translateOrder(order(SELL), context({ trades })))).toBe('busy');
  });

  it('is executed when the price it would get is its limit', () => {
    expect(kinds(translateOrder(order({ limit: PRICE }), context()))).toEqual(['open']);
    expect(kinds(translateOrder(order({ ...SELL, limit: PRICE }), context()))).toEqual(['open']);
  });

  it('is refused when the price it would get is beyond its limit', () => {
    expect(why(translateOrder(order({ ...SELL, limit: PRICE + 1n }), context()))).toBe('no-match');
    expect(why(translateOrder(order({ limit: PRICE - 1n }), context()))).toBe('no-match');
    expect(why(translateOrder(order({ size: STEP - 1n }), context()))).toBe('zero-size');
  });
});

describe('an opening', () => {
  const half = { halfLot: STEP / 2n };
  const collateralOf = (translation: ReturnType<typeof translateOrder>): bigint | null => {
    const intent = legsOf(translation).at(-1)?.intent;
    return intent?.kind === 'open' ? intent.collateralAmount : null;
  };
  /** 10x at 60,000 in USDC. */
  const worth = (base: bigint): bigint => (base * 6_000n * 10n ** 6n) / E18;

  it('is sized for half a lot more than was asked, and recorded for what was asked', () => {
    const translation = translateOrder(order(), context(half));
    expect(collateralOf(translation)).toBe(worth(E18 + STEP / 2n));
    expect(legsOf(translation)[0]?.sizeBase).toBe(E18);
  });

  it('is sized for what was asked where the funds allow no more, and where the context is of a time before half lots', () => {
    expect(collateralOf(translateOrder(order(), context({ halfLot: 0n })))).toBe(worth(E18));
    expect(collateralOf(translateOrder(order(), context()))).toBe(worth(E18));
  });

  it('is never sized for another figure than half a lot, whatever its context says', () =>
    expect(collateralOf(translateOrder(order(), context({ halfLot: E18 })))).toBe(worth(E18)));

  it('counts the digits that earlier trades do not show, so that half lots do not add up', () => {
    const trades = [trade(0, true, E18 + STEP / 2n)];
    expect(collateralOf(translateOrder(order(), context({ ...half, trades })))).toBe(worth(E18));
    const rare = [trade(0, true, E18 + (STEP * 9n) / 10n)];
    expect(collateralOf(translateOrder(order(), context({ ...half, trades: rare })))).toBe(worth(E18 - (STEP * 4n) / 10n));
  });

  it('after a close opens what the shown position leaves of the order', () => {
    const trades = [trade(0, true, E18 + STEP / 2n)];
    const translation = translateOrder(order({ ...SELL, size: 3n * E18 }), context({ ...half, trades }));
    expect(legsOf(translation).map(({ role, sizeBase }) => [role, sizeBase])).toEqual([
      ['close', E18 + STEP / 2n],
      ['open', 2n * E18],
    ]);
    expect(collateralOf(translation)).toBe(worth(2n * E18 + STEP / 2n));
  });

  it('of any order on any position leads to the middle of the lot that was asked for', () => {
    const size = fc.bigInt({ min: STEP, max: 9n * E18 });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(size, fc.boolean()), { maxLength: 3 }),
        fc.integer({ min: 1, max: 900_000 }),
        fc.boolean(),
        (held, lots, isBuy) => {
          const trades = held.map(([base, long], at) => trade(at, long, base));
          const asked = order({ ...(isBuy ? {} : SELL), size: BigInt(lots) * STEP });
          const legs = legsOf(translateOrder(asked, context({ ...half, trades })));
          const net = trades.reduce((sum, { long, sizeBase }) => sum + (long === isBuy ? sizeBase : -sizeBase), 0n);
          const opening = legs.find(({ role }) => role === 'open');
          if (opening?.intent.kind !== 'open') return;
          const closed = legs.filter(({ role }) => role === 'close').reduce((sum, { sizeBase }) => sum + sizeBase, 0n);
          const opened = (opening.intent.collateralAmount * E18) / (6_000n * 10n ** 6n);
          const reached = floorToLot(net + closed + opened, STEP);
          expect(reached).toBe(floorToLot(net, STEP) + asked.size);
          expect(opened).toBeLessThanOrEqual(asked.size + STEP);
        },
      ),
    );
  });
});

describe('a close', () => {
  const half = { halfLot: STEP / 2n };
  const beyond = trade(0, true, (E18 * 30_303n) / 10_000n, { excess: (E18 * 303n) / 10_000n });

  it('that would leave no more than was opened beyond its order closes that along', () => {
    expect(kinds(translateOrder(order({ ...SELL, size: 3n * E18 }), context({ ...half, trades: [beyond] })))).toEqual(['close']);
    expect(kinds(translateOrder(order({ ...SELL, size: (E18 * 29n) / 10n }), context({ ...half, trades: [beyond] })))).toEqual([
      'decrease',
    ]);
    const asked = trade(0, true, (E18 * 30_303n) / 10_000n);
    expect(kinds(translateOrder(order({ ...SELL, size: 3n * E18 }), context({ ...half, trades: [asked] })))).toEqual(['decrease']);
  });

  it('covers it with a stop as well', () => {
    const stop = order({ ...SELL, size: 3n * E18, reduceOnly: true, style: { kind: 'trigger', trigger: (PRICE * 9n) / 10n, tpsl: 'sl' } });
    expect(kinds(translateOrder(stop, context({ ...half, trades: [beyond] })))).toEqual(['protect']);
  });
});

describe('a resting order', () => {
  const resting = { style: limit('Gtc'), limit: (PRICE * 90n) / 100n } as const;

  it('is a limit order whose execution never passes its price', () => {
    const [leg] = legsOf(translateOrder(order(resting), context()));
    expect(leg?.intent).toMatchObject({ kind: 'open', type: 'limit' });
    const { price, slippageP } = leg?.intent as { price: bigint; slippageP: bigint };
    expect(price).toBeLessThan(resting.limit);
    expect(worstPrice({ expectedPrice: price, maxSlippageP: slippageP, long: true, open: true })).toBeLessThanOrEqual(resting.limit);
  });

  it('against a position is the take profit of whole trades', () => {
    const trades = [trade(2, true, E18), trade(3, true, E18)];
    const above = { isBuy: false, limit: (PRICE * 110n) / 100n, style: limit('Gtc'), size: E18 } as const;
    const translation = translateOrder(order(above), context({ trades }));
    expect(legsOf(translation).map(({ intent }) => intent)).toEqual([{ kind: 'protect', tradeIndex: 2, tp: above.limit, sl: null }]);
    expect(why(translateOrder(order({ ...above, size: E18 / 2n }), context({ trades })))).toBe('partial-protection');
    expect(kinds(translateOrder(order({ ...above, size: 3n * E18 }), context({ trades })))).toEqual(['protect', 'protect', 'open']);
  });

  it('against a position covers whole trades only, to the last digit', () => {
    const trades = [trade(0, true, E18), trade(1, true, E18), trade(2, true, E18)];
    const above = { isBuy: false, limit: (PRICE * 110n) / 100n, style: limit('Gtc') } as const;
    const covered = (size: bigint): readonly string[] | string | null => {
      const translation = translateOrder(order({ ...above, size }), context({ trades }));
      return why(translation) ?? kinds(translation);
    };
    expect(covered(2n * E18)).toEqual(['protect', 'protect']);
    expect(covered((E18 * 3n) / 2n)).toBe('partial-protection');
    expect(covered(3n * E18)).toEqual(['protect', 'protect', 'protect']);
    expect(covered(3n * E18 - 1n)).toBe('partial-protection');
  });

  it('accepts every size that a refusal names, also where the trades have more digits than are shown', () => {
    const trades = [0, 1, 2].map((index) => trade(index, true, E18 + (STEP * 2n) / 5n));
    const above = { isBuy: false, limit: (PRICE * 110n) / 100n, style: limit('Gtc') } as const;
    const translate = (size: bigint) => translateOrder(order({ ...above, size }), context({ trades }));
    const refusal = translate((E18 * 3n) / 2n);
    if (refusal.kind !== 'refused') throw new Error('a part of a trade was taken');
    expect(refusal.sizes).toEqual([E18, 2n * E18, 3n * E18 + STEP]);
    expect(refusal.sizes?.map((size) => kinds(translate(size)).length)).toEqual([1, 2, 3]);
  });

  it('that must not take is refused when it would', () => {
    expect(why(translateOrder(order({ style: limit('Alo') }), context()))).toBe('post-only');
    expect(kinds(translateOrder(order({ ...resting, style: limit('Alo') }), context()))).toEqual(['open']);
  });

  it('that could be executed now is executed now', () => {
    expect(translateOrder(order({ style: limit('Gtc') }), context())).toMatchObject({ manner: 'market' });
  });
});

describe('a trigger', () => {
  const trades = [trade(0, true, E18)];
  const trigger = (tpsl: 'tp' | 'sl', percent: bigint): Extract<ExchangeStyle, { kind: 'trigger' }> => ({
    kind: 'trigger',
    tpsl,
    trigger: (PRICE * percent) / 100n,
  });

  it.each([
    ['sl', 90n, { sl: (PRICE * 90n) / 100n, tp: null, slippageP: 5_555n }],
    ['tp', 110n, { sl: null, tp: (PRICE * 110n) / 100n, slippageP: 22_727n }],
  ] as const)('that reduces is the %s of the position', (tpsl, percent, levels) => {
    const protection = order({ isBuy: false, limit: (PRICE * 85n) / 100n, reduceOnly: true, style: trigger(tpsl, percent) });
    expect(legsOf(translateOrder(protection, context({ trades }))).map(({ intent }) => intent)).toEqual([
      { kind: 'protect', tradeIndex: 0, ...levels },
    ]);
    expect(legsOf(translateOrder({ ...protection, size: 0n }, context({ trades })))).toHaveLength(1);
  });

  it('never lowers the closing slippage for the other trigger of the position', () => {
    const wide = [trade(0, true, E18, { slippageP: 9_000n })];
    const protection = order({ isBuy: false, limit: (PRICE * 85n) / 100n, reduceOnly: true, style: trigger('sl', 90n) });
    expect(legsOf(translateOrder(protection, context({ trades: wide })))[0]?.intent).not.toHaveProperty('slippageP');
  });

  it('is followed as far as its limit says, and a market order without a worst price as far as an exchange would', () => {
    const at = (percent: bigint, isMarket: boolean): ExchangeOrder =>
      order({ isBuy: false, reduceOnly: true, limit: (PRICE * percent) / 100n, style: { ...trigger('sl', 90n), isMarket } });
    const intentOf = (asked: ExchangeOrder) => legsOf(translateOrder(asked, context({ trades })))[0]?.intent;
    expect(intentOf(at(90n, true))).toMatchObject({ slippageP: 10_000n });
    expect(intentOf(at(81n, true))).toMatchObject({ slippageP: 10_000n });
    expect(intentOf(at(45n, true))).toMatchObject({ slippageP: 50_000n });
    expect(intentOf(at(90n, false))).not.toHaveProperty('slippageP');
  });

  it('changes nothing under a close that waits for the oracle', () => {
    const busy = [trade(0, true, E18, { isBusy: true })];
    const protection = order({ isBuy: false, limit: (PRICE * 85n) / 100n, reduceOnly: true, style: trigger('sl', 90n) });
    expect(legsOf(translateOrder(protection, context({ trades: busy })))[0]?.intent).not.toHaveProperty('slippageP');
  });

  it('on the wrong side of the mark is refused', () => {
    const wrong = order({ isBuy: false, reduceOnly: true, style: trigger('sl', 110n) });
    expect(why(translateOrder(wrong, context({ trades })))).toBe('bad-trigger');
    expect(why(translateOrder(order({ style: trigger('sl', 90n) }), context()))).toBe('bad-trigger');
  });

  it('is held against the mark of the trade it protects, which another collateral may have', () => {
    const lower = [trade(0, true, E18, { mark: (PRICE * 89n) / 100n })];
    const stop = order({ isBuy: false, reduceOnly: true, style: trigger('sl', 90n) });
    expect(why(translateOrder(stop, context({ trades: lower })))).toBe('bad-trigger');
    expect(
      why(translateOrder(order({ isBuy: false, reduceOnly: true, style: trigger('tp', 95n) }), context({ trades: lower }))),
    ).toBeNull();
  });

  it('that opens is a stop in the direction of the market, a limit against it', () => {
    const stop = order({ limit: (PRICE * 112n) / 100n, style: trigger('sl', 110n) });
    expect(legsOf(translateOrder(stop, context()))[0]?.intent).toMatchObject({ type: 'stop', price: (PRICE * 110n) / 100n });
    const back = order({ limit: (PRICE * 92n) / 100n, style: trigger('tp', 90n) });
    expect(legsOf(translateOrder(back, context()))[0]?.intent).toMatchObject({ type: 'limit' });
  });
});

describe('for every order', () => {
  const sizes = fc.bigInt({ min: 1n, max: 50n }).map((tenths) => (tenths * E18) / 10n);
  const orders = fc.record({
    isBuy: fc.boolean(),
    reduceOnly: fc.boolean(),
    size: sizes,
    limit: fc.bigInt({ min: PRICE / 2n, max: PRICE * 2n }),
    style: fc.constantFrom(limit('Gtc'), limit('Ioc'), limit('Alo')),
  });
  const held = fc.array(fc.record({ long: fc.boolean(), size: sizes, isBusy: fc.boolean() }), { maxLength: 6 });

  it('the worst price of every leg that opens or closes is within the limit, and closes come before opens', () => {
    fc.assert(
      fc.property(orders, held, (asked, trades) => {
        const known = context({ trades: trades.map(({ long, size, isBusy }, at) => trade(at, long, size, { isBusy })) });
        const legs = legsOf(translateOrder(asked, known));
        const bounds = legs.flatMap(({ intent }) => {
          if (intent.kind === 'open') return [{ expectedPrice: intent.price, maxSlippageP: intent.slippageP }];
          if (intent.kind === 'close' || intent.kind === 'decrease')
            return [{ expectedPrice: intent.expectedPrice, maxSlippageP: intent.slippageP ?? 0n }];
          return [];
        });
        for (const bound of bounds) {
          const worst = worstPrice({ ...bound, long: asked.isBuy, open: true });
          expect(asked.isBuy ? worst <= asked.limit : worst >= asked.limit).toBe(true);
        }
        const roles = legs.map(({ role }) => role);
        expect(roles.lastIndexOf('close')).toBeLessThan(roles.includes('open') ? roles.indexOf('open') : Infinity);
        if (asked.reduceOnly) expect(roles).not.toContain('open');
        const opened = legs.filter(({ role }) => role === 'open').reduce((total, { sizeBase }) => total + sizeBase, 0n);
        expect(opened).toBeLessThanOrEqual(asked.size);
      }),
      { numRuns: 2_000 },
    );
  });

  it('a bound with slippage under the limit never lets the contract pass the limit', () => {
    const prices = fc.bigInt({ min: 1n, max: 72_057_594_037_927_935n });
    fc.assert(
      fc.property(prices, fc.boolean(), fc.bigInt({ min: 0n, max: 65_535n }), (price, isBuy, slippage) => {
        const { expectedPrice, slippageP } = boundBy(price, isBuy, slippage);
        const worst = worstPrice({ expectedPrice, maxSlippageP: slippageP, long: isBuy, open: true });
        expect(isBuy ? worst <= price : worst >= price).toBe(true);
        expect(slippageTo(price, price, isBuy, 65_000n)).toBe(0n);
      }),
      { numRuns: 5_000 },
    );
  });
});
