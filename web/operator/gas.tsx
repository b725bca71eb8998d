import { useSignal } from '@preact/signals';
import { Bar } from '../ui/bar.js';
import { shortAddress } from '../ui/format.js';
import { Panel } from '../ui/panel.js';
import { coin, share } from './figures.js';
import { useOperatorResource } from './operator-api.js';
import type { ChainStatus, CostRow, Costs } from './types.js';

const EVERY_MS = 30_000;
const DAY_MS = 86_400_000;
const ROWS = 8;
const GROUPS = ['trader', 'action', 'outcome'] as const;
const RANGES = { today: 0, '7 days': 6, '30 days': 29 } as const;

const dayBefore = (days: number): string => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10);

/** Where the gas went. */
export function Gas({ chain }: { readonly chain: ChainStatus }) {
  const range = useSignal<keyof typeof RANGES>('today');
  const tools = (
    <div class="tabs" role="group" aria-label="Range">
      {(Object.keys(RANGES) as (keyof typeof RANGES)[]).map((name) => (
        <button key={name} type="button" class="button small" aria-pressed={range.value === name} onClick={() => void (range.value = name)}>
          {name}
        </button>
      ))}
    </div>
  );
  return (
    <section class="gas" aria-label="Gas">
      {GROUPS.map((by, at) => (
        <GasBy key={by} chain={chain} by={by} from={dayBefore(RANGES[range.value])} tools={at === 0 ? tools : null} />
      ))}
    </section>
  );
}

interface GasByProps {
  readonly chain: ChainStatus;
  readonly by: (typeof GROUPS)[number];
  readonly from: string;
  readonly tools: preact.ComponentChildren;
}

function GasBy({ chain, by, from, tools }: GasByProps) {
  const { load, refresh } = useOperatorResource<Costs>(`/costs?chain=${chain.chain}&by=${by}&from=${from}&limit=${ROWS}`, EVERY_MS);
  return (
    <Panel
      title={`Gas by ${by}`}
      load={load.value}
      rows={4}
      staleAfterMs={3 * EVERY_MS}
      onRetry={refresh}
      tools={tools}
      isEmpty={({ rows }) => rows.length === 0}
      empty={<p>No transaction was mined in this range. The first order of a bot costs the first gas.</p>}
    >
      {({ rows, total, leftOut }) => (
        <>
          <ul class="bars">
            {rows.map((row) => (
              <GasRow key={row.key ?? ''} row={row} by={by} totalWei={BigInt(total.costWei)} unit={chain.coin} />
            ))}
          </ul>
          <p class="total">
            {coin(total.cost)} {chain.coin} in {total.transactions.toLocaleString('en-US')} transactions
            {leftOut === 0 ? null : <span class="muted"> · {leftOut} more not shown</span>}
          </p>
        </>
      )}
    </Panel>
  );
}

interface GasRowProps {
  readonly row: CostRow;
  readonly by: string;
  readonly totalWei: bigint;
  readonly unit: string;
}

function GasRow({ row: { key, cost, costWei, transactions }, by, totalWei, unit }: GasRowProps) {
  const name = key === null ? 'no trader' : by === 'trader' ? shortAddress(key) : key;
  const percent = share(BigInt(costWei), totalWei);
  return (
    <li title={key ?? 'transactions that only use up a nonce'}>
      <span class="name">{by === 'trader' ? <code>{name}</code> : name}</span>
      <Bar percent={percent} />
      <span class="number">
        {coin(cost)} {unit}
      </span>
      <small class="muted number">
        {percent.toFixed(0)} % · {transactions} tx
      </small>
    </li>
  );
}
