import type { Load } from '../api/resource.js';
import type { AccountModel } from './account-model.js';
import { isOpen } from './account-model.js';
import { Panel } from '../ui/panel.js';
import { UnfoldingTable } from '../ui/unfolding-table.js';
import type { Column } from '../ui/table.js';
import { Ago, Chip } from '../ui/values.js';
import { formatUpTo } from '../ui/format.js';
import { useDigits, type Digits } from './digits.js';
import { OlderButton } from './older-button.js';
import { useShown } from './use-shown.js';
import { Price, Side, Size } from './cells.js';
import { statusWord } from './status-word.js';
import { Timeline } from './timeline.js';
import type { Order, OrderStatus } from './types.js';

const TONES: Readonly<Record<OrderStatus, 'good' | 'bad' | 'warn' | 'plain'>> = {
  prepared: 'warn',
  pending: 'warn',
  open: 'plain',
  filled: 'good',
  rejected: 'bad',
  timed_out: 'warn',
  canceled: 'plain',
  expired: 'plain',
};
export function StatusChip({ status }: { readonly status: OrderStatus }) {
  return <Chip tone={TONES[status]}>{statusWord(status)}</Chip>;
}

const columns = (digits: Digits): readonly Column<Order>[] => [
  { name: 'Order', cell: ({ id }) => <code>{id}</code> },
  { name: 'Status', cell: ({ status }) => <StatusChip status={status} /> },
  {
    name: 'Market',
    cell: ({ market, side, type, reduceOnly }) => (
      <span class="two">
        <strong>{market}</strong>{' '}
        <small>
          <Side side={side} /> {type}
          {reduceOnly ? <span class="muted"> reduces only</span> : null}
        </small>
      </span>
    ),
  },
  { name: 'Size', isNumber: true, cell: ({ market, size }) => <Size digits={digits} market={market} value={size} /> },
  { name: 'Leverage', isNumber: true, isMinor: true, cell: ({ leverage }) => `${formatUpTo(leverage, 2)}×` },
  {
    name: 'Price',
    isNumber: true,
    isMinor: true,
    cell: ({ market, price }) => (price === null ? 'market' : <Price digits={digits} market={market} value={price} />),
  },
  {
    name: 'Filled at',
    isNumber: true,
    isMinor: true,
    cell: ({ market, fill }) => (fill === null ? '–' : <Price digits={digits} market={market} value={fill.price} />),
  },
  { name: 'Why', isMinor: true, cell: ({ reason }) => (reason === null ? '' : <code>{reason}</code>) },
  { name: 'Changed', isNumber: true, cell: ({ updatedAt }) => <Ago at={updatedAt} /> },
];

interface OrdersProps {
  readonly model: AccountModel;
  readonly load: Load<readonly Order[]>;
  readonly isCut: boolean;
}

export function Orders({ model, load, isCut }: OrdersProps) {
  const digits = useDigits();
  const { hasOlder, isReading, readOlder } = model.orders;
  const shown = useShown(load.data ?? [], hasOlder.value, readOlder);
  return (
    <Panel
      title="Orders"
      load={load}
      rows={8}
      isCut={isCut}
      onRetry={readOlder}
      isEmpty={(rows) => rows.length === 0}
      empty={
        <p>
          This account has made no order yet. <a href="/docs">Place one by the API</a>, or point a bot at this gateway.
        </p>
      }
    >
      {() => (
        <>
          <UnfoldingTable
            label="Orders"
            columns={columns(digits)}
            rows={shown.rows}
            keyOf={({ id }) => id}
            unfoldLabel={({ id }) => `Timeline of order ${id}`}
            classOf={(row) => (isOpen(row) ? 'is-open' : '')}
            detail={(row) => <Timeline key={`${row.id} ${row.status} ${row.updatedAt}`} order={row} model={model} />}
          />
          <OlderButton hasOlder={shown.hasOlder} isReading={isReading.value} onClick={shown.showOlder} />
        </>
      )}
    </Panel>
  );
}
