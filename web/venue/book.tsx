import type { ReadonlySignal } from '@preact/signals';
import type { Load } from '../api/resource.js';
import { formatDecimal, formatShortUsd, scaled } from '../ui/format.js';
import { Panel } from '../ui/panel.js';
import { showPrice } from '../ui/price-digits.js';
import { spreadText } from './market-bar.js';
import type { Book, BookLevel, Market } from './types.js';

interface BookProps {
  readonly market: Market;
  readonly load: ReadonlySignal<Load<Book>>;
  readonly isCut: boolean;
}

const LEVELS = 8;
const NOTE = 'What the contract would fill now, made from its depth on chain. No orders rest here.';

export function BookPanel({ market, load, isCut }: BookProps) {
  return (
    <Panel
      title="Virtual book"
      class="book-panel"
      load={load.value}
      rows={LEVELS * 2 + 1}
      isCut={isCut}
      isEmpty={({ asks, bids }) => asks.length + bids.length === 0}
      empty="The contract gives no depth for this market now. Choose another market, or wait until it opens."
    >
      {(book) => <BookTable book={book} market={market} />}
    </Panel>
  );
}

function BookTable({ book, market }: { readonly book: Book; readonly market: Market }) {
  const asks = book.asks.slice(0, LEVELS);
  const bids = book.bids.slice(0, LEVELS);
  const deepest = [asks, bids].map((side) => scaled(side.at(-1)?.cumulativeUsd ?? '0', 2)).reduce((a, b) => (a > b ? a : b), 1n);
  const row = (level: BookLevel, side: 'ask' | 'bid') => (
    <tr key={`${side}${level.cumulativeUsd}`}>
      <td class={`number ${side === 'ask' ? 'down' : 'up'}`} title={level.price}>
        {showPrice(level.price, market.pricePrecision)}
      </td>
      <td class="number" title={level.size}>
        {formatDecimal(level.size, 3)}
      </td>
      <td class="number depth">
        <span class={`depth-bar ${side}`} style={{ width: `${shareOf(level, deepest)}%` }} aria-hidden="true" />
        <span class="depth-text">{formatShortUsd(level.cumulativeUsd)}</span>
      </td>
    </tr>
  );
  return (
    <>
      <table class="table book" aria-label="Virtual book: sells above, buys below">
        <thead>
          <tr>
            <th scope="col" class="number">
              Price
            </th>
            <th scope="col" class="number">
              Size, {market.base}
            </th>
            <th scope="col" class="number">
              Cumulative
            </th>
          </tr>
        </thead>
        <tbody>
          {[...asks].reverse().map((level) => row(level, 'ask'))}
          <tr class="spread-row">
            <td class="number">
              <strong>{showPrice(book.markPrice, market.pricePrecision)}</strong>
            </td>
            <td class="number muted" colSpan={2}>
              mark · spread {spreadText(book)}
            </td>
          </tr>
          {bids.map((level) => row(level, 'bid'))}
        </tbody>
      </table>
      <p class="note">{NOTE}</p>
    </>
  );
}

/** Width of a bar in percent: a picture, so it may be rounded. */
const shareOf = ({ cumulativeUsd }: BookLevel, deepest: bigint): number => Number((scaled(cumulativeUsd, 2) * 1000n) / deepest) / 10;
