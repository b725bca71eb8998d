import { Refused } from '../../core/adapters/backend/ask-upstream.js';
import { readCandles } from '../../core/adapters/backend/charts.js';
import type { Endpoints } from '../../core/adapters/backend/endpoints.js';
import { HttpFault, type Http } from '../../core/adapters/backend/http.js';
import { createPriceBook } from '../../core/adapters/backend/price-book.js';
import { ShapeError } from '../../core/adapters/backend/wire.js';
import { CHART_HISTORY_SHAPE, CHARTS_SHAPE } from '../../core/adapters/backend/wire-shape.js';
import { CANDLE_INTERVALS, intervalMs, type CandleInterval } from '../../core/domain/candle.js';
import { compareShape, explainFault, shapeOutcome } from './probe-backend.js';
import { differs, few, judge, ok, type Looker, type Outcome, type Probe } from './look.js';

/** Candles per request: enough to see their distance, few enough for every interval. */
const CANDLES = 50;

/** Checks the newest prices of all markets, and the history of one of them in every interval. */
export async function probeCharts(probe: Probe, look: Looker, http: Http, endpoints: Endpoints): Promise<void> {
  const { clock } = probe;
  let pairIndex = 0;
  await look({
    check: 'charts',
    expected: 'a price for every market, by its index',
    run: async (signal) => {
      const body = await http.getJson(`${endpoints.pricingUrl}/charts`, signal).catch(explainFault);
      const outcome = shapeOutcome(CHARTS_SHAPE, body);
      const priced = createPriceBook().seed(body, clock.now(), clock.now());
      pairIndex = priced[0] ?? 0;
      return outcome.verdict === 'ok' ? judge(priced.length > 0, `${priced.length} prices; ${outcome.found}`) : outcome;
    },
  });
  for (const interval of CANDLE_INTERVALS) await lookAtInterval(look, { http, endpoints, interval, pairIndex, now: clock.now() });
}

interface ChartQuestion {
  readonly http: Http;
  readonly endpoints: Endpoints;
  readonly interval: CandleInterval;
  readonly pairIndex: number;
  readonly now: number;
}

const lookAtInterval = (look: Looker, { http, endpoints, interval, pairIndex, now }: ChartQuestion) => {
  const sizeMs = intervalMs(interval);
  const [from, to] = [now - CANDLES * sizeMs, now].map((at) => Math.floor(at / 1000));
  return look({
    check: `candles of ${interval}`,
    expected: `a table of pair ${pairIndex}, one row every ${interval}`,
    run: async (signal) => {
      try {
        const url = `${endpoints.pricingUrl}/charts/${pairIndex}/${from}/${to}/${sizeMs / 60_000}`;
        return candlesOutcome(await http.getJson(url, signal), sizeMs);
      } catch (error) {
        if (error instanceof HttpFault && [400, 404, 422].includes(error.status ?? 0)) return differs(`refused with ${error.message}`);
        return explainFault(error);
      }
    },
  });
};

function candlesOutcome(body: unknown, sizeMs: number): Outcome {
  try {
    const candles = readCandles(body, sizeMs);
    const { unknown } = compareShape(CHART_HISTORY_SHAPE, body);
    const summary = `${candles.length} candles${unknown.length === 0 ? '' : `; new: ${few(unknown)}`}`;
    return isOfAnotherSize(candles, sizeMs) ? differs(`${summary}, none of them next to another`) : ok(summary);
  } catch (error) {
    if (error instanceof ShapeError || error instanceof Refused)
      return differs(`${error.message}; ${shapeOutcome(CHART_HISTORY_SHAPE, body).found}`);
    throw error;
  }
}

/** Longer candles than requested begin at the same times as ours; only their distance differs. */
const isOfAnotherSize = (candles: readonly { readonly time: number }[], sizeMs: number): boolean =>
  candles.length > 2 && candles.every(({ time }, at) => at === 0 || time - (candles[at - 1]?.time ?? 0) > sizeMs);
