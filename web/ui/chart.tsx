import { effect } from '@preact/signals';
import { createChart, type ChartOptions, type DeepPartial, type IChartApi } from 'lightweight-charts';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { inkOf, isDark, palette } from './theme.js';

export interface ChartProps {
  /** What the drawing shows, for those who cannot see it: figures, not a title. */
  readonly label: string;
  /** Gives the drawing its height. */
  readonly class?: string;
  readonly options?: DeepPartial<ChartOptions>;
  /** Adds series and returns what sets their colours, called again when the theme changes. */
  readonly setUp: (chart: IChartApi) => () => void;
  readonly children?: ComponentChildren;
}

/** A chart of lightweight-charts in the colours of the page. The drawing is a table in the DOM: hidden from screen readers, which get the label. */
export function Chart({ label, class: frame = '', options = {}, setUp, children }: ChartProps) {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (host.current === null) return;
    const chart = createChart(host.current, { autoSize: true, ...QUIET, ...options });
    const paint = setUp(chart);
    let isOver = false;
    const repaint = (): void => {
      if (isOver) return;
      chart.applyOptions(coloursOf());
      paint();
    };
    repaint();
    // After the theme has written its colours into the page: effects run in no order that could be relied on.
    const stop = effect(() => {
      const look = `${String(isDark())} ${palette.value}`;
      queueMicrotask(() => look !== '' && repaint());
    });
    return () => {
      isOver = true;
      stop();
      chart.remove();
    };
  }, [setUp]);
  return (
    <figure class="time-chart">
      <div role="img" aria-label={label}>
        <div ref={host} class={`chart-host ${frame}`} aria-hidden="true" />
      </div>
      {children}
      <figcaption class="credit">
        Charts by{' '}
        <a href="https://www.tradingview.com/" rel="noreferrer">
          TradingView
        </a>
      </figcaption>
    </figure>
  );
}

/** The logo would inject a style, which the policy forbids; the link beneath the chart stands in for it. */
const QUIET: DeepPartial<ChartOptions> = {
  layout: { attributionLogo: false, fontSize: 12 },
  timeScale: { timeVisible: true, secondsVisible: false, borderVisible: false, rightOffset: 1 },
  rightPriceScale: { borderVisible: false },
  handleScale: { mouseWheel: false },
  handleScroll: { mouseWheel: false },
};

const coloursOf = (): DeepPartial<ChartOptions> => ({
  layout: { background: { color: inkOf('ground') }, textColor: inkOf('muted') },
  grid: { vertLines: { color: inkOf('line') }, horzLines: { color: inkOf('line') } },
});
