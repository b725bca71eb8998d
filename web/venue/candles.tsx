import { useComputed, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { createPaced } from '../api/paced.js';
import { LOADING, loaded, type Load } from '../api/resource.js';
import { request } from '../api/request.js';
import type { Link } from '../api/socket.js';
import { openCandleChart, type CandleChart, type DrawnCandle } from '../ui/candle-chart.js';
import { Panel } from '../ui/panel.js';
import { priceDigits, showPrice } from '../ui/price-digits.js';
import { INTERVALS, slugOf, type Candle, type Interval, type Market } from './types.js';

interface CandlesProps {
  readonly market: Market;
  readonly base: string;
  readonly link: Link;
  readonly interval: Interval;
  readonly onInterval: (interval: Interval) => void;
  readonly isCut: boolean;
}

/** Drawing is the dearest part of the page. */
const PAUSE_MS = 500;

const drawn = ({ time, open, high, low, close }: Candle): DrawnCandle => ({
  time,
  open: Number(open),
  high: Number(high),
  low: Number(low),
  close: Number(close),
});

/** History from the charts, then the stream; the newest candle is drawn as it changes. */
export function CandlesPanel({ market, base, link, interval, onInterval, isCut }: CandlesProps) {
  const load = useSignal<Load<readonly Candle[]>>(LOADING);
  const attempt = useSignal(0);
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<CandleChart | null>(null);
  const newest = useSignal<Candle | null>(null);

  useEffect(() => {
    if (place.current !== null) chart.current = openCandleChart(place.current);
    return () => {
      chart.current?.remove();
      chart.current = null;
    };
  }, []);

  useEffect(() => {
    const abort = new AbortController();
    load.value = LOADING;
    newest.value = null;
    void request<{ data: readonly Candle[] }>(`${base}/markets/${slugOf(market.symbol)}/candles?interval=${interval}`, {
      signal: abort.signal,
    }).then((answer) => {
      if (abort.signal.aborted) return;
      if (!answer.ok) return void (load.value = { ...LOADING, problem: answer.problem });
      const { data } = answer.data;
      load.value = loaded(data);
      newest.value = data.at(-1) ?? null;
      chart.current?.show(data.map(drawn), priceDigits(data.at(-1)?.close ?? '0', market.pricePrecision));
    });
    const paced = createPaced<readonly Candle[]>(
      (changed) => {
        const { data } = load.peek();
        if (data === null) return;
        for (const candle of changed) chart.current?.update(drawn(candle));
        newest.value = changed.at(-1) ?? newest.peek();
        load.value = loaded(data);
      },
      PAUSE_MS,
      (waiting, next) => [...new Map([...waiting, ...next].map((candle) => [candle.time, candle])).values()],
    );
    const cancel = link.subscribe<readonly Candle[]>(
      { channel: 'candles', market: market.symbol, interval },
      { onMessage: ({ data }) => paced.push(data) },
    );
    return () => {
      abort.abort();
      cancel();
      paced.stop();
    };
  }, [base, link, market.symbol, interval, attempt.value]);

  const words = useComputed(() => wordsOf(market, interval, newest.value));
  const { data, problem } = load.value;
  return (
    <Panel
      title="Candles"
      class="candles-panel"
      // The chart is made once and stays: its place is there in every state, and a note stands over it.
      load={{ data: [], at: load.value.at, problem }}
      rows={0}
      isCut={isCut && data !== null}
      onRetry={() => (attempt.value += 1)}
      tools={<Intervals chosen={interval} onChoose={onInterval} />}
    >
      {() => (
        <>
          <div class="chart-frame" role="img" aria-label={words.value} data-candles={data?.length ?? ''}>
            <div ref={place} class="chart" aria-hidden="true" inert />
            {data === null && problem === null ? <p class="chart-note">Loading candles …</p> : null}
            {data?.length === 0 ? <p class="chart-note">There are no candles of this interval yet. Choose a shorter one.</p> : null}
          </div>
          <p class="note">
            Charts by{' '}
            <a href="https://www.tradingview.com/" rel="noreferrer" target="_blank">
              TradingView
            </a>{' '}
            Lightweight Charts (<a href="/assets/NOTICE.txt">notice</a>)
          </p>
        </>
      )}
    </Panel>
  );
}

function Intervals({ chosen, onChoose }: { readonly chosen: Interval; readonly onChoose: (interval: Interval) => void }) {
  return (
    <div class="tabs" role="group" aria-label="Interval of a candle">
      {INTERVALS.map((interval, at) => (
        <button
          key={interval}
          type="button"
          class="button small"
          aria-pressed={interval === chosen}
          title={`Key ${at + 1}`}
          onClick={() => onChoose(interval)}
        >
          {interval}
        </button>
      ))}
    </div>
  );
}

/** The picture in words. */
function wordsOf({ symbol, pricePrecision }: Market, interval: Interval, candle: Candle | null): string {
  if (candle === null) return `Candles of ${symbol}, ${interval} each`;
  const [open, high, low, close] = [candle.open, candle.high, candle.low, candle.close].map((price) => showPrice(price, pricePrecision));
  return `Candles of ${symbol}, ${interval} each. The newest opened at ${open}, was between ${low} and ${high}, and stands at ${close}.`;
}
