import type { Candle as CoreCandle } from '../../core/domain/candle.js';
import { showCandle } from '../../core/markets/get-candles.js';
import { createOnce } from '../../core/stream/shared.js';
import { textOf } from './encoder.js';
import { Candle } from './markets.js';

const encode = textOf(Candle);
/** Past candles are the same objects for as long as the charts keep them, so their text is cached: serialising is most of the cost. */
const candleText = createOnce((candle: CoreCandle) => encode(showCandle(candle)));

export const candlesReply = (candles: readonly CoreCandle[]): string => `{"data":[${candles.map(candleText).join(',')}]}`;
