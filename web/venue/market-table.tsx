import { useComputed, useSignal, type ReadonlySignal, type Signal } from '@preact/signals';
import type { RefObject } from 'preact';
import type { Load } from '../api/resource.js';
import { formatShortUsd, formatSigned, formatUpTo } from '../ui/format.js';
import { Panel } from '../ui/panel.js';
import { showPrice } from '../ui/price-digits.js';
import { Table, type Column } from '../ui/table.js';
import { Chip } from '../ui/values.js';
import type { LivePrices } from './live-prices.js';
import { Change, changeOf, type Days } from './market-bar.js';
import type { Market } from './types.js';

interface MarketTableProps {
  readonly load: Load<readonly Market[]>;
  readonly onRetry: () => void;
  readonly prices: LivePrices;
  readonly days: ReadonlySignal<Days>;
  readonly chosen: string | null;
  readonly onChoose: (symbol: string) => void;
  readonly isCut: boolean;
  readonly searchBox: RefObject<HTMLInputElement | null>;
}

const ALL = 'all';

export function MarketTable({ load, onRetry, prices, days, chosen, onChoose, isCut, searchBox }: MarketTableProps) {
  const search = useSignal('');
  const group = useSignal(ALL);
  const groups = [ALL, ...new Set((load.data ?? []).map((market) => market.group))];
  const wanted = search.value.trim().toUpperCase();
  const rows = (load.data ?? []).filter(
    (market) =>
      (group.value === ALL || market.group === group.value) && market.symbol.replace('/', '').includes(wanted.replace(/[/-]/g, '')),
  );
  return (
    <Panel
      title="Markets"
      class="markets-panel"
      load={load}
      rows={17}
      isCut={isCut}
      onRetry={onRetry}
      isEmpty={(markets) => markets.length === 0}
      empty="The contract lists no market. The operator finds the reason in /ready."
      tools={<MarketTools groups={groups} group={group} search={search} searchBox={searchBox} />}
    >
      {() =>
        rows.length === 0 ? (
          <div class="empty">
            No market fits.{' '}
            <button type="button" class="button small" onClick={() => ((search.value = ''), (group.value = ALL))}>
              Show all
            </button>
          </div>
        ) : (
          <Table
            label="Markets"
            columns={columnsOf(prices, days)}
            rows={rows}
            keyOf={({ symbol }) => symbol}
            isChosen={({ symbol }) => symbol === chosen}
            onChoose={({ symbol }) => onChoose(symbol)}
          />
        )
      }
    </Panel>
  );
}

interface ToolsProps {
  readonly groups: readonly string[];
  readonly group: Signal<string>;
  readonly search: Signal<string>;
  readonly searchBox: RefObject<HTMLInputElement | null>;
}

function MarketTools({ groups, group, search, searchBox }: ToolsProps) {
  return (
    <>
      <div class="tabs" role="group" aria-label="Groups of markets">
        {groups.map((name) => (
          <button key={name} type="button" class="button small" aria-pressed={name === group.value} onClick={() => (group.value = name)}>
            {name.charAt(0).toUpperCase() + name.slice(1)}
          </button>
        ))}
      </div>
      <input
        ref={searchBox}
        type="search"
        class="search"
        aria-label="Search markets"
        placeholder="Search  /"
        value={search.value}
        onInput={({ currentTarget }) => (search.value = currentTarget.value)}
        onKeyDown={({ key, currentTarget }) => {
          if (key !== 'Escape') return;
          search.value = '';
          currentTarget.blur();
        }}
      />
    </>
  );
}

const columnsOf = (prices: LivePrices, days: ReadonlySignal<Days>): readonly Column<Market>[] => [
  { name: 'Market', cell: ({ symbol }) => <strong>{symbol}</strong> },
  { name: 'Mark', isNumber: true, cell: (market) => <Mark market={market} prices={prices} /> },
  { name: '24 h', isNumber: true, cell: ({ symbol }) => <DayChange symbol={symbol} prices={prices} days={days} /> },
  { name: 'Funding L, 1 h', isNumber: true, isMinor: true, cell: ({ funding }) => formatSigned(funding.fundingRateLongHourly, 4, ' %') },
  { name: 'Volume, 24 h', isNumber: true, isMinor: true, cell: ({ symbol }) => formatShortUsd(days.value.get(symbol)?.volumeUsd ?? '0') },
  { name: 'Leverage', isNumber: true, isMinor: true, cell: ({ maxLeverage }) => `${formatUpTo(maxLeverage, 1)}×` },
  { name: 'State', cell: ({ isOpen }) => <Chip tone={isOpen ? 'good' : 'plain'}>{isOpen ? 'Open' : 'Closed'}</Chip> },
];

/** Bound to the signal itself, so that a price changes one text of the document. */
function Mark({ market, prices }: { readonly market: Market; readonly prices: LivePrices }) {
  const price = prices.of(market.symbol);
  const text = useComputed(() => (price.value === null ? '–' : showPrice(price.value.mark, market.pricePrecision)));
  return <>{text}</>;
}

function DayChange({
  symbol,
  prices,
  days,
}: {
  readonly symbol: string;
  readonly prices: LivePrices;
  readonly days: ReadonlySignal<Days>;
}) {
  const price = prices.of(symbol);
  const change = useComputed(() => changeOf(price.value?.index ?? null, days.value.get(symbol)));
  return <Change percent={change} />;
}
