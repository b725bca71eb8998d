import type { Load } from '../api/resource.js';
import { formatSigned, signOf, toneOf } from '../ui/format.js';
import { Panel } from '../ui/panel.js';
import { Table, type Column } from '../ui/table.js';
import { Address, Ago } from '../ui/values.js';
import { useDigits, type Digits } from './digits.js';
import { OlderButton } from './older-button.js';
import { useShown } from './use-shown.js';
import type { PagedRows } from './paged-rows.js';
import { Price, Side, Size } from './cells.js';
import type { Fill } from './types.js';

const columns = (digits: Digits): readonly Column<Fill>[] => [
  { name: 'When', cell: ({ timestamp }) => <Ago at={timestamp} /> },
  {
    name: 'Market',
    cell: ({ market, side, action }) => (
      <span class="two">
        <strong>{market ?? 'delisted'}</strong>{' '}
        <small>
          <Side side={side} /> {action.replaceAll('_', ' ').toLowerCase()}
        </small>
      </span>
    ),
  },
  { name: 'Price', isNumber: true, cell: ({ market, price }) => <Price digits={digits} market={market} value={price} /> },
  { name: 'Size', isNumber: true, isMinor: true, cell: ({ market, size }) => <Size digits={digits} market={market} value={size} /> },
  {
    name: 'Realised PnL',
    isNumber: true,
    cell: ({ pnl }) => (signOf(pnl) === 0 ? <span class="muted">–</span> : <span class={toneOf(pnl)}>{formatSigned(pnl, 2)}</span>),
  },
  { name: 'Transaction', isNumber: true, isMinor: true, cell: ({ txHash }) => <Address value={txHash} label="Copy hash" /> },
];

interface FillsProps {
  readonly fills: PagedRows<Fill>;
  readonly load: Load<readonly Fill[]>;
  readonly isCut: boolean;
}

export function Fills({ fills, load, isCut }: FillsProps) {
  const digits = useDigits();
  const shown = useShown(load.data ?? [], fills.hasOlder.value, fills.readOlder);
  return (
    <Panel
      title="Fills"
      load={load}
      rows={8}
      isCut={isCut}
      onRetry={fills.readOlder}
      isEmpty={(rows) => rows.length === 0}
      empty={<p>Nothing has been executed for this account yet. A fill appears here as soon as the oracle has answered an order.</p>}
    >
      {() => (
        <>
          <Table label="Fills" columns={columns(digits)} rows={shown.rows} keyOf={({ id }) => String(id)} />
          <OlderButton hasOlder={shown.hasOlder} isReading={fills.isReading.value} onClick={shown.showOlder} />
        </>
      )}
    </Panel>
  );
}
