import { directoryOf, type MarketConfig, type Pair } from '../../../core/domain/market.js';
import { goldenMarket } from './pricing/fixture.js';

describe('pairs that share a public symbol', () => {
  const { pair } = goldenMarket;
  const DELISTED = { customMaxLeverage: 1n };

  it.each<[string, Partial<Pair>, Partial<Pair>, 'older' | 'newer']>([
    ['the tradable one, although it is older', {}, DELISTED, 'older'],
    ['the tradable one, although its suffix is lower', {}, { ...DELISTED, from: 'BTC_9' }, 'older'],
    ['the tradable one, although its index is lower', DELISTED, {}, 'newer'],
    ['the one with the higher suffix, although it is older', { from: 'BTC_2' }, { from: 'BTC_1' }, 'older'],
    ['the newer one of equals', {}, {}, 'newer'],
  ])('are listed as %s', (_which, older, newer, expected) => {
    const pairs = [
      { ...pair, index: 0, ...older },
      { ...pair, index: 1, ...newer },
    ];
    const { bySymbol, pairs: listed } = directoryOf({ pairs } as unknown as MarketConfig);
    const chosen = pairs[expected === 'older' ? 0 : 1];
    expect([bySymbol.get('BTC/USD'), listed]).toEqual([chosen, [chosen]]);
  });
});
