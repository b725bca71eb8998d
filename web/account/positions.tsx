import type { Load } from '../api/resource.js';
import { formatDecimal, formatSigned, formatUpTo, formatUsd, toneOf } from '../ui/format.js';
import { Panel } from '../ui/panel.js';
import { Table, type Column } from '../ui/table.js';
import { Side } from './side.js';
import { useDigits, type Digits } from './digits.js';
import { isSet, liquidationDistance, plus, productOf } from './figures.js';
import type { Position } from './types.js';

/** Below this distance from its liquidation a position is marked. */
const NEAR_PERCENT = 10;

const MARK_NOTE = { live: null, last: 'last price', entry: 'no price yet' } as const;

const columns = (digits: Digits): readonly Column<Position>[] => [
  {
    name: 'Market',
    cell: (row) => (
      <>
        <strong>{row.market}</strong> <Side side={row.side} /> {formatUpTo(row.leverage, 2)}×
      </>
    ),
  },
  {
    name: 'Size',
    isNumber: true,
    cell: (row) => <Two first={digits.size(row.market, row.size)} second={formatUsd(productOf(row.size, row.markPrice), 0)} />,
  },
  { name: 'Entry', isNumber: true, isMinor: true, cell: (row) => digits.price(row.market, row.entryPrice) },
  {
    name: 'Mark',
    isNumber: true,
    cell: (row) => <Two first={digits.price(row.market, row.markPrice)} second={MARK_NOTE[row.markSource]} isWarning />,
  },
  {
    name: 'PnL',
    isNumber: true,
    cell: (row) => (
      <span class={toneOf(row.unrealizedPnl)}>
        {formatSigned(row.unrealizedPnl, 2)} <small>{formatSigned(row.unrealizedPnlPercent, 2, ' %')}</small>
      </span>
    ),
  },
  { name: 'Liquidation', isNumber: true, cell: (row) => <Liquidation row={row} digits={digits} /> },
  {
    name: 'Margin',
    isNumber: true,
    isMinor: true,
    cell: (row) => (
      <>
        {formatDecimal(row.collateral, 2)} <small class="muted">{row.collateralSymbol}</small>
      </>
    ),
  },
  {
    name: 'Funding + borrowing',
    isNumber: true,
    isMinor: true,
    cell: ({ fundingFee, borrowingFee }) => (
      <span title={`funding ${fundingFee}, borrowing ${borrowingFee}`}>{formatSigned(plus(fundingFee, borrowingFee), 4)}</span>
    ),
  },
  {
    name: 'TP / SL',
    isNumber: true,
    isMinor: true,
    cell: ({ market, tp, sl }) => `${isSet(tp) ? digits.price(market, tp) : '–'} / ${isSet(sl) ? digits.price(market, sl) : '–'}`,
  },
];

function Liquidation({ row, digits }: { readonly row: Position; readonly digits: Digits }) {
  const distance = liquidationDistance(row);
  if (distance === null) return <span class="muted">unknown</span>;
  const isNear = Number(distance) < NEAR_PERCENT;
  return (
    <Two
      first={digits.price(row.market, row.liquidationPrice)}
      second={`${formatDecimal(distance, 1)} % away${isNear ? ', near' : ''}`}
      isWarning={isNear}
    />
  );
}

function Two({ first, second, isWarning = false }: { readonly first: string; readonly second: string | null; readonly isWarning?: boolean }) {
  return (
    <>
      {first} {second === null ? null : <small class={isWarning ? 'warn' : 'muted'}>{second}</small>}
    </>
  );
}

export function Positions({ load, isCut }: { readonly load: Load<readonly Position[]>; readonly isCut: boolean }) {
  const digits = useDigits();
  return (
    <Panel
      title="Positions"
      load={load}
      rows={4}
      isCut={isCut}
      isEmpty={(rows) => rows.length === 0}
      empty={
        <p>
          No position is open. Orders that fill appear here at once. <a href="/docs">Place an order by the API</a>, or point a bot at this gateway.
        </p>
      }
    >
      {(rows) => <Table label="Positions" columns={columns(digits)} rows={rows} keyOf={({ id }) => id} />}
    </Panel>
  );
}
