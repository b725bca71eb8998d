import { useComputed, type ReadonlySignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { Load } from '../api/resource.js';
import { changePercent, formatShortUsd, formatSigned, formatUpTo, scaled, signOf, toneOf, unscaled } from '../ui/format.js';
import { showPrice } from '../ui/price-digits.js';
import { Chip } from '../ui/values.js';
import type { LivePrices } from './live-prices.js';
import type { Book, DayFigures, Market } from './types.js';

/** Figures of the last 24 hours by market. */
export type Days = ReadonlyMap<string, DayFigures>;

interface BarProps {
  readonly market: Market;
  readonly prices: LivePrices;
  readonly days: ReadonlySignal<Days>;
  readonly book: ReadonlySignal<Load<Book>>;
  readonly isDimmed: boolean;
}

const WAITING = '–';

export function MarketBar({ market, prices, days, book, isDimmed }: BarProps) {
  const price = prices.of(market.symbol);
  const mark = useComputed(() => (price.value === null ? WAITING : showPrice(price.value.mark, market.pricePrecision)));
  const index = useComputed(() => (price.value === null ? WAITING : showPrice(price.value.index, market.pricePrecision)));
  const change = useComputed(() => changeOf(price.value?.index ?? null, days.value.get(market.symbol)));
  const day = days.value.get(market.symbol);
  const spread = useComputed(() => spreadText(book.value.data));
  const { funding } = market;
  const openInterest = unscaled(scaled(funding.openInterestLongUsd, 6) + scaled(funding.openInterestShortUsd, 6), 6);
  return (
    <section class={`market-bar ${isDimmed ? 'dimmed' : ''}`} aria-label="Chosen market">
      <div class="market-name">
        <h1>{market.symbol}</h1>
        <Chip tone={market.isOpen ? 'good' : 'plain'}>{market.isOpen ? 'Open' : 'Closed'}</Chip>
      </div>
      <div class="mark">
        <span class="offscreen">Mark price</span>
        <strong data-testid="mark">{mark}</strong>
      </div>
      <dl class="figures">
        <Figure name="Index">{index}</Figure>
        <Figure name="24 h change">
          <Change percent={change} />
        </Figure>
        <Figure name="Funding, 1 h" title="Percent of the position that longs and shorts get (−) or pay (+) in an hour">
          L {rate(funding.fundingRateLongHourly)} · S {rate(funding.fundingRateShortHourly)}
        </Figure>
        <Figure name="Borrowing, 1 h">{rate(funding.borrowingRateHourly)}</Figure>
        <Figure name="Spread">{spread}</Figure>
        <Figure name="Leverage">
          {formatUpTo(market.minLeverage, 1)}× – {formatUpTo(market.maxLeverage, 1)}×
        </Figure>
        <Figure name="Open interest">{formatShortUsd(openInterest)}</Figure>
        <Figure name="24 h volume">{day === undefined ? WAITING : formatShortUsd(day.volumeUsd)}</Figure>
      </dl>
    </section>
  );
}

const rate = (percent: string): string => formatSigned(percent, 4, ' %');

function Figure({ name, title, children }: { readonly name: string; readonly title?: string; readonly children: ComponentChildren }) {
  return (
    <div {...(title === undefined ? {} : { title })}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

export const changeOf = (index: string | null, day: DayFigures | undefined): string | null =>
  index === null || day?.priceBefore == null ? null : changePercent(day.priceBefore, index);

/** A sign, an arrow and a colour say the same. */
export function Change({ percent }: { readonly percent: ReadonlySignal<string | null> }) {
  const { value } = percent;
  if (value === null) return <span class="muted">{WAITING}</span>;
  const arrow = { '-1': '▼', '0': '', '1': '▲' }[String(signOf(value)) as '-1' | '0' | '1'];
  return (
    <span class={toneOf(value)}>
      <span aria-hidden="true">{arrow}</span> {formatSigned(value, 2, ' %')}
    </span>
  );
}

const SCALE = 18;
const PERCENT_DIGITS = 4;

/** Between the best two prices of the virtual book, in percent of the mark. */
export function spreadText(book: Book | null): string {
  const [ask, bid] = [book?.asks[0]?.price, book?.bids[0]?.price];
  if (book === null || ask === undefined || bid === undefined) return WAITING;
  const mark = scaled(book.markPrice, SCALE);
  if (mark === 0n) return WAITING;
  const percent = ((scaled(ask, SCALE) - scaled(bid, SCALE)) * 100n * 10n ** 6n) / mark;
  return `${formatUpTo(unscaled(percent, 6), PERCENT_DIGITS)} %`;
}
