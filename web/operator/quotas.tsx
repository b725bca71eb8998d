import { Bar } from '../ui/bar.js';
import { formatUsd, scaled, shortAddress } from '../ui/format.js';
import { Panel } from '../ui/panel.js';
import { Table, type Column } from '../ui/table.js';
import { Chip } from '../ui/values.js';
import { share } from './figures.js';
import { useOperatorResource } from './operator-api.js';
import type { ChainStatus, Quotas as QuotasData, Standing } from './types.js';

const EVERY_MS = 30_000;
const USD_DIGITS = 6;
const NEARLY_PERCENT = 80;

/** What of a bound is used; a bound that is absent bounds nothing. */
function Used({ used, bound, show }: { readonly used: bigint; readonly bound: bigint | null; readonly show: (value: bigint) => string }) {
  if (bound === null) return <span>{show(used)}</span>;
  const percent = share(used, bound);
  const tone = percent >= 100 ? 'bad' : percent >= NEARLY_PERCENT ? 'warn' : 'plain';
  return (
    <span class={`used ${tone}`}>
      {show(used)} of {show(bound)} {percent >= 100 ? '(used up)' : ''}
      <Bar percent={percent} tone={tone} />
    </span>
  );
}

const usd = (text: string | null): bigint | null => (text === null ? null : scaled(text, USD_DIGITS));
const showUsd = (value: bigint): string => formatUsd(String(value / 10n ** BigInt(USD_DIGITS)), 0);
const whole = (count: number | null): bigint | null => (count === null ? null : BigInt(count));
const lossOf = (pnl: string): bigint => {
  const value = scaled(pnl, USD_DIGITS);
  return value < 0n ? -value : 0n;
};

const columns: readonly Column<Standing>[] = [
  {
    name: 'Trader',
    cell: ({ trader }) => <code title={trader}>{shortAddress(trader)}</code>,
  },
  {
    name: 'Access',
    cell: ({ rules }) =>
      rules.access === 'blocked' ? (
        <Chip tone="bad">blocked</Chip>
      ) : rules.reduceOnly ? (
        <Chip tone="warn">reduces only</Chip>
      ) : (
        <Chip tone="good">allowed</Chip>
      ),
  },
  {
    name: 'Transactions today',
    isNumber: true,
    cell: ({ rules, use }) => <Used used={BigInt(use.transactions)} bound={whole(rules.dailyTransactions)} show={String} />,
  },
  {
    name: 'Openings in 60 s',
    isNumber: true,
    isMinor: true,
    cell: ({ rules, use }) => <Used used={BigInt(use.ordersInLastMinute)} bound={whole(rules.ordersPerMinute)} show={String} />,
  },
  {
    name: 'Open notional',
    isNumber: true,
    cell: ({ rules, use }) => <Used used={scaled(use.openNotionalUsd, USD_DIGITS)} bound={usd(rules.maxOpenNotionalUsd)} show={showUsd} />,
  },
  {
    name: 'Loss today',
    isNumber: true,
    isMinor: true,
    cell: ({ rules, use }) => <Used used={lossOf(use.realizedPnlUsd)} bound={usd(rules.maxDailyLossUsd)} show={showUsd} />,
  },
  { name: 'Rules from', isMinor: true, cell: ({ from }) => [...new Set(Object.values(from))].join(', ') },
];

/** Traders of today, and those with rules of their own. */
export function Quotas({ chain }: { readonly chain: ChainStatus }) {
  const { load, refresh } = useOperatorResource<QuotasData>(`/quotas?chain=${chain.chain}`, EVERY_MS);
  return (
    <Panel
      title="Rules and quotas used"
      load={load.value}
      rows={3}
      staleAfterMs={3 * EVERY_MS}
      onRetry={refresh}
      isEmpty={({ traders }) => traders.length === 0}
      empty={
        <p>
          The relayer has sent nothing today, and no trader has rules of its own. Rules are set by{' '}
          <code>PUT /relayer/rules/{'{chain}/{trader}'}</code>.
        </p>
      }
    >
      {({ traders, leftOut }) => (
        <>
          <Table label="Rules and quotas used" columns={columns} rows={traders} keyOf={({ trader }) => trader} />
          {leftOut === 0 ? null : <p class="total muted">{leftOut} more traders are not shown.</p>}
        </>
      )}
    </Panel>
  );
}
