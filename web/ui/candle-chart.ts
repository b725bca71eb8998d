import { effect } from '@preact/signals';
import {
  CandlestickSeries,
  createChart,
  type CandlestickData,
  type IChartApi,
  type ISeriesApi,
  type UTCTimestamp,
} from 'lightweight-charts';
import { inkOf, look } from './theme.js';

/** A candle for the picture: here, and only here, prices are binary fractions. */
export interface DrawnCandle {
  /** Epoch milliseconds. */
  readonly time: number;
  readonly open: number;
  readonly high: number;
  readonly low: number;
  readonly close: number;
}

export interface CandleChart {
  /** Replaces everything and shows the newest. */
  show(candles: readonly DrawnCandle[], digits: number): void;
  /** The newest candle changed, or a new one began. */
  update(candle: DrawnCandle): void;
  remove(): void;
}

const SECOND = 1_000;
const VISIBLE = 120;

const drawn = ({ time, ...prices }: DrawnCandle): CandlestickData => ({ time: (time / SECOND) as UTCTimestamp, ...prices });

/** Colours follow the theme. Without the logo, which would need a style that the policy forbids; the link beneath names its makers. */
export function openCandleChart(place: HTMLElement): CandleChart {
  const chart: IChartApi = createChart(place, {
    autoSize: true,
    layout: { attributionLogo: false, fontFamily: 'system-ui, sans-serif', fontSize: 12 },
    timeScale: { timeVisible: true, secondsVisible: false, rightOffset: 4, minBarSpacing: 1 },
    rightPriceScale: { scaleMargins: { top: 0.08, bottom: 0.08 } },
    handleScroll: { vertTouchDrag: false },
  });
  const series: ISeriesApi<'Candlestick'> = chart.addSeries(CandlestickSeries, { borderVisible: false });
  let newest = 0;
  const paint = (): void => {
    const [up, down, line] = [inkOf('up'), inkOf('down'), inkOf('line')];
    chart.applyOptions({
      layout: { background: { color: inkOf('ground') }, textColor: inkOf('muted') },
      grid: { vertLines: { color: line }, horzLines: { color: line } },
      rightPriceScale: { borderColor: line },
      timeScale: { borderColor: line },
    });
    series.applyOptions({ upColor: up, wickUpColor: up, downColor: down, wickDownColor: down });
  };
  let isOver = false;
  // Painted after the style sheet has taken the new theme.
  const stop = effect(() => {
    if (look.value !== '') queueMicrotask(() => isOver || paint());
  });
  return {
    show(candles, digits) {
      newest = candles.at(-1)?.time ?? 0;
      series.applyOptions({ priceFormat: { type: 'price', precision: digits, minMove: 10 ** -digits } });
      series.setData(candles.map(drawn));
      chart.timeScale().setVisibleLogicalRange({ from: candles.length - VISIBLE, to: candles.length + 4 });
    },
    update(candle) {
      if (candle.time < newest) return;
      newest = candle.time;
      series.update(drawn(candle));
    },
    remove() {
      isOver = true;
      stop();
      chart.remove();
    },
  };
}
