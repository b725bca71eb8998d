import type { Link } from '../api/socket.js';
import { formatClock, formatUsd, formatUtc } from '../ui/format.js';
import { Panel } from '../ui/panel.js';
import { showPrice } from '../ui/price-digits.js';
import { Table, type Column } from '../ui/table.js';
import type { Market, MarketTrade } from './types.js';
import { useStream } from './use-stream.js';

const SHOWN = 30;

interface TradesProps {
  readonly market: Market;
  readonly link: Link;
  readonly isCut: boolean;
  readonly isSandbox: boolean;
}

export function TradesPanel({ market, link, isCut, isSandbox }: TradesProps) {
  const load = useStream<readonly MarketTrade[], readonly MarketTrade[]>(
    link,
    { channel: 'trades', market: market.symbol },
    (before, { snapshot, data }) => (snapshot ? data : [...data, ...(before ?? [])]).slice(0, SHOWN),
  );
  return (
    <Panel
      title="Recent trades"
      class="trades-panel"
      load={load.value}
      rows={8}
      isCut={isCut}
      isEmpty={(trades) => trades.length === 0}
      empty={
        <>
          No trades of {market.symbol} in the last day.{' '}
          {isSandbox ? (
            <>
              Run <code>npm run demo</code> beside the sandbox and watch its trades arrive here.
            </>
          ) : (
            'The next execution appears here by itself.'
          )}
        </>
      }
    >
      {(trades) => <Table label={`Recent trades of ${market.symbol}`} columns={columnsOf(market)} rows={trades} keyOf={keyOf} />}
    </Panel>
  );
}

const keyOf = ({ txHash, timestamp, action, sizeUsd }: MarketTrade): string => [txHash, timestamp, action, sizeUsd].join(' ');

const columnsOf = ({ pricePrecision }: Market): readonly Column<MarketTrade>[] => [
  { name: 'UTC', cell: ({ timestamp }) => <time title={formatUtc(timestamp)}>{formatClock(timestamp)}</time> },
  { name: 'Side', cell: ({ side }) => <span class={side === 'long' ? 'up' : 'down'}>{side === 'long' ? 'Long' : 'Short'}</span> },
  { name: 'Action', isMinor: true, cell: ({ action, txHash }) => <span title={txHash}>{action}</span> },
  { name: 'Price', isNumber: true, cell: ({ price }) => <span title={price}>{showPrice(price, pricePrecision)}</span> },
  { name: 'Value', isNumber: true, cell: ({ sizeUsd }) => formatUsd(sizeUsd) },
];
