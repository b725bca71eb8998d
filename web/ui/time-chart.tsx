import { AreaSeries, HistogramSeries, type IChartApi, type UTCTimestamp, type WhitespaceData } from 'lightweight-charts';
import { useMemo } from 'preact/hooks';
import { Chart } from './chart.js';
import { inkOf } from './theme.js';

/** A value at a moment; null is a step without a value, drawn as a gap. */
export interface TimePoint {
  readonly at: number;
  /** A decimal string. */
  readonly value: string | null;
}

export interface TimeChartProps {
  readonly label: string;
  readonly kind: 'bars' | 'area';
  readonly points: readonly TimePoint[];
  /** A level to stay above, drawn as a line. */
  readonly threshold?: { readonly value: string; readonly title: string };
}

const SIGNIFICANT = 6;
/** Binary fractions of the axis that are not quite 0: less than a wei. */
const NOISE = 1e-18;
const format = new Intl.NumberFormat('en-US', { maximumSignificantDigits: SIGNIFICANT });

type Datum = WhitespaceData<UTCTimestamp> | { readonly time: UTCTimestamp; readonly value: number };

/** Numbers are for the drawing alone: a pixel needs no more digits than they have. */
const datumOf = ({ at, value }: TimePoint): Datum => {
  const time = Math.floor(at / 1_000) as UTCTimestamp;
  return value === null ? { time } : { time, value: Number(value) };
};

export function TimeChart({ label, kind, points, threshold }: TimeChartProps) {
  const setUp = useMemo(
    () =>
      (chart: IChartApi): (() => void) => {
        const priceFormat = {
          type: 'custom' as const,
          formatter: (value: number) => format.format(Math.abs(value) < NOISE ? 0 : value),
          minMove: 1e-12,
        };
        const series = chart.addSeries(kind === 'bars' ? HistogramSeries : AreaSeries, {
          priceFormat,
          lastValueVisible: kind === 'area',
          priceLineVisible: false,
        });
        series.setData(points.map(datumOf));
        if (kind === 'bars') series.priceScale().applyOptions({ scaleMargins: { top: 0.1, bottom: 0 } });
        const line =
          threshold === undefined
            ? null
            : series.createPriceLine({ price: Number(threshold.value), title: threshold.title, lineWidth: 1, axisLabelVisible: true });
        chart.timeScale().fitContent();
        return () => {
          const colour = inkOf('accent');
          series.applyOptions(
            kind === 'bars' ? { color: colour } : { lineColor: colour, topColor: `${colour}55`, bottomColor: `${colour}05`, lineWidth: 2 },
          );
          line?.applyOptions({ color: inkOf('warn') });
        };
      },
    [kind, points, threshold?.value, threshold?.title],
  );
  return <Chart label={label} setUp={setUp} />;
}
