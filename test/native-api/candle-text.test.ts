import { aggregate } from '../../core/domain/candle.js';
import { showCandle } from '../../core/markets/get-candles.js';
import { Candles, candlesReply } from '../../native-api/wire/markets.js';
import { textOf } from '../../native-api/wire/codec.js';

const candles = [0, 1, 2].map((n) => ({ time: n * 60_000, open: 600_000n + BigInt(n), high: 10n ** 12n, low: 1n, close: 0n }));

describe('candles as text', () => {
  it('are what their schema writes', () => {
    const bySchema = textOf(Candles)({ data: candles.map(showCandle) });
    expect(candlesReply(candles)).toBe(bySchema);
    expect(candlesReply(candles)).toBe(bySchema);
    expect(candlesReply([])).toBe('{"data":[]}');
  });

  it('stay the same objects in their own length, so that each is written once', () => {
    expect(aggregate(candles, 60_000).every((candle, at) => candle === candles[at])).toBe(true);
    expect(aggregate(candles, 300_000)).toEqual([{ time: 0, open: 600_000n, high: 10n ** 12n, low: 1n, close: 0n }]);
  });
});
