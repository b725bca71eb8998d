import type { ComponentChildren } from 'preact';
import type { Load } from '../api/resource.js';
import { formatDecimal, formatSigned, formatUpTo, formatUsd, signOf, toneOf } from '../ui/format.js';
import { Panel } from '../ui/panel.js';
import { Table, type Column } from '../ui/table.js';
import { Price, Side, Size } from './cells.js';
import { useDigits, type Digits } from './digits.js';
import { isSet, liquidationDistance, plus, productOf } from './figures.js';
import type { Position } from './types.js';

/** A position this close to its liquidation is marked. */
const NEAR_PERCENT = 2;

const MARK_NOTE = { live: null, last: 'last price', entry: 'no price yet' } as const;

const columns = (digits: Digits): readonly Column<Position>[] => [
  {
    name: 'Market',
    cell: (row) => (
      <span class="two">
        <strong>{row.market}</strong>{' '}
        <small>
          <Side side={row.side} /> {formatUpTo(row.leverage, 2)}×
        </small>
      </span>
    ),
  },
  {
    name: 'Size',
    isNumber: true,
    cell: (row) => (
      <Two second={formatUsd(productOf(row.size, row.markPrice), 0)}>
        <Size digits={digits} market={row.market} value={row.size} />
      </Two>
    ),
  },
  { name: 'Entry', isNumber: true, isMinor: true, cell: (row) => <Price digits={digits} market={row.market} value={row.entryPrice} /> },
  {
    name: 'Mark',
    isNumber: true,
    isMinor: true,
    cell: (row) => (
      <Two second={MARK_NOTE[row.markSource]} isWarning>
        <Price digits={digits} market={row.market} value={row.markPrice} />
      </Two>
    ),
  },
  {
    name: 'PnL',
    isNumber: true,
    cell: (row) => (
      <span class={`two ${toneOf(row.unrealizedPnl)}`}>
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
      <span title={`funding ${fundingFee}, borrowing ${borrowingFee}`}>{paidText(plus(fundingFee, borrowingFee))}</span>
    ),
  },
  {
    name: 'TP / SL',
    isNumber: true,
    isMinor: true,
    cell: ({ market, tp, sl }) => `${isSet(tp) ? digits.price(market, tp) : '–'} / ${isSet(sl) ? digits.price(market, sl) : '–'}`,
  },
];

/** The API counts what the trader pays as positive; a word says which way the money goes. */
const paidText = (fee: string): string =>
  signOf(fee) === 0 ? '0' : `${signOf(fee) > 0 ? 'paid' : 'received'} ${formatDecimal(fee.replace('-', ''), 4)}`;

function Liquidation({ row, digits }: { readonly row: Position; readonly digits: Digits }) {
  const distance = liquidationDistance(row);
  if (distance === null) return <span class="muted">unknown</span>;
  const isNear = Number(distance) < NEAR_PERCENT;
  return (
    <Two second={`${formatDecimal(distance, 1)} %${isNear ? ' near' : ''}`} isWarning={isNear}>
      <Price digits={digits} market={row.market} value={row.liquidationPrice} />
    </Two>
  );
}

interface TwoProps {
  readonly second: string | null;
  readonly isWarning?: boolean;
  readonly children: ComponentChildren;
}

/** A figure with a smaller one beside it, on a phone beneath it. */
function Two({ second, isWarning = false, children }: TwoProps) {
  return (
    <span class="two">
      {children} {second === null ? null : <small class={isWarning ? 'warn' : 'muted'}>{second}</small>}
    </span>
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
          No position is open. Orders that fill appear here at once. <a href="/docs">Place an order by the API</a>, or point a bot at this
          gateway.
        </p>
      }
    >
      {(rows) => <Table label="Positions" columns={columns(digits)} rows={rows} keyOf={({ id }) => id} />}
    </Panel>
  );
}
