import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { formatUtc, scaled, unscaled } from '../ui/format.js';
import { Panel } from '../ui/panel.js';
import { TimeChart, type TimePoint } from '../ui/time-chart.js';
import { coin } from './figures.js';
import { useOperatorResource } from './operator-api.js';
import type { ChainStatus, History as HistoryData } from './types.js';

const EVERY_MS = 60_000;
const WEI_DIGITS = 18;

interface HistoryProps {
  readonly chain: ChainStatus;
  readonly address: string;
}

/** Burn and balance of the chosen wallet. */
export function History({ chain, address }: HistoryProps) {
  const days = useSignal<7 | 30>(7);
  const { load, refresh } = useOperatorResource<HistoryData>(
    `/history?chain=${chain.chain}&wallet=${address}&days=${days.value}`,
    EVERY_MS,
  );
  const tools = (
    <div class="tabs" role="group" aria-label="Days">
      {([7, 30] as const).map((count) => (
        <button
          key={count}
          type="button"
          class="button small"
          aria-pressed={days.value === count}
          onClick={() => void (days.value = count)}
        >
          {count} days
        </button>
      ))}
    </div>
  );
  return (
    <Panel title="Burn and balance" load={load.value} rows={10} staleAfterMs={3 * EVERY_MS} onRetry={refresh} tools={tools}>
      {(data) => <Charts data={data} chain={chain} />}
    </Panel>
  );
}

function Charts({ data, chain }: { readonly data: HistoryData; readonly chain: ChainStatus }) {
  const { coin: unit, threshold } = chain;
  const burn = useMemo(() => burnPoints(data), [data]);
  const balance = useMemo(() => balancePoints(data), [data]);
  const total = unscaled(
    data.burn.reduce((sum, { cost }) => sum + scaled(cost, WEI_DIGITS), 0n),
    WEI_DIGITS,
  );
  const transactions = data.burn.reduce((sum, row) => sum + row.transactions, 0);
  const last = data.balances.at(-1);
  const first = data.balances[0];
  const step = data.stepMs === 86_400_000 ? 'day' : 'hour';
  return (
    <div class="charts">
      <div>
        <h3>
          Burn per {step}: {coin(total)} {unit} in {transactions.toLocaleString('en-US')} transactions
        </h3>
        <TimeChart label={`Gas paid per ${step}, ${coin(total)} ${unit} in all`} kind="bars" points={burn} />
      </div>
      <div>
        <h3>
          Balance: {last === undefined ? 'unknown' : `${coin(last.balance)} ${unit}`}
          {first === undefined || data.balances.length > 2 ? null : <span> · recorded since {formatUtc(first.at)}</span>}
        </h3>
        <TimeChart
          label={`Balance, ${last === undefined ? 'unknown' : `${coin(last.balance)} ${unit}`} now`}
          kind="area"
          points={balance}
          threshold={{ value: threshold.balance, title: 'alert' }}
        />
      </div>
    </div>
  );
}

/** A step without a transaction has no bar. */
function burnPoints({ from, to, stepMs, burn }: HistoryData): TimePoint[] {
  const known = new Map(burn.map(({ at, cost }) => [at, cost]));
  return Array.from({ length: Math.floor((to - from) / stepMs) + 1 }, (_, step) => {
    const at = from + step * stepMs;
    return { at, value: known.get(at) ?? null };
  });
}

const HOUR_MS = 3_600_000;

/** An hour in which nothing was recorded stays empty. */
function balancePoints({ from, to, balances }: HistoryData): TimePoint[] {
  const known = new Map(balances.map(({ at, balance }) => [Math.floor(at / HOUR_MS), balance]));
  const begin = Math.floor(from / HOUR_MS);
  return Array.from({ length: Math.floor(to / HOUR_MS) - begin + 1 }, (_, step) => ({
    at: (begin + step) * HOUR_MS,
    value: known.get(begin + step) ?? null,
  }));
}
