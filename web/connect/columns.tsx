import type { TraderReadiness } from '@diamond-gateway/client/api';
import { Panel } from '../ui/panel.js';
import { Address, Chip } from '../ui/values.js';
import { API_NAMES, type Desk, type Api } from './desk.js';
import { LineFix } from './line-fix.js';
import { linesOf, type Check } from './lines.js';

const TITLES: Readonly<Record<Check, string>> = {
  balance: 'The wallet holds collateral',
  allowance: 'The Diamond may take collateral',
  agent: 'An agent is authorised',
  delegation: 'The agent is the trading delegate',
  gas: 'The agent can pay gas',
  market: 'Markets are open',
  relayer: 'The relayer is the trading delegate',
  referrer: 'Referrer',
};
const SAYS: Readonly<Record<Api, string>> = {
  native: 'Your agent signs and sends its own transactions, and pays their gas.',
  hyperliquid:
    'Your bot signs as on Hyperliquid; the relayer sends the transactions and pays the gas. It can trade for you and cannot move your funds.',
};

const STALE_MS = 30_000;

export function Columns({ desk }: { readonly desk: Desk }) {
  return (
    <>
      <p class="muted">
        A wallet has one trading delegate at a time: your native agent or the relayer. Setting one replaces the other, so use a wallet for
        each API if a bot runs on both.
      </p>
      <div class="two-columns">
        <Column desk={desk} api="native" />
        <Column desk={desk} api="hyperliquid" />
      </div>
    </>
  );
}

function Column({ desk, api }: { readonly desk: Desk; readonly api: Api }) {
  const { load, refresh } = desk.readiness;
  const found = load.value.data;
  const isReady = found?.ready[api === 'native' ? 'native' : 'facade'] === true;
  return (
    <Panel
      title={API_NAMES[api]}
      load={load.value}
      rows={6}
      onRetry={refresh}
      staleAfterMs={STALE_MS}
      class={`column ${api}`}
      tools={found === null ? null : isReady ? <Chip tone="good">✓ ready to trade</Chip> : <Chip tone="warn">not ready yet</Chip>}
    >
      {(data) => (
        <>
          <p class="column-note muted">{SAYS[api]}</p>
          <ul class="lines">
            {linesOf(data, api).map((line) => (
              <li key={line.check} class={line.ok ? 'line ok' : 'line'} data-check={line.check} data-ok={line.ok}>
                <span class={line.ok ? 'mark up' : 'mark down'} aria-hidden="true">
                  {line.ok ? '✓' : '✗'}
                </span>
                <div class="line-text">
                  <strong>{TITLES[line.check]}</strong>
                  <span class="offscreen">{line.ok ? ' – done.' : ' – missing.'}</span>
                  <p class="muted">{line.detail}</p>
                  <LineFix desk={desk} api={api} line={line} found={data} />
                </div>
              </li>
            ))}
          </ul>
          <Referrer found={data} />
        </>
      )}
    </Panel>
  );
}

function Referrer({ found }: { readonly found: TraderReadiness }) {
  const line = found.lines.find(({ check }) => check === 'referrer');
  return (
    <div class="column-foot muted">
      {found.delegate === null ? null : (
        <p>
          Trading delegate now: <Address value={found.delegate} label="Copy delegate" />
        </p>
      )}
      {line === undefined ? null : <p>{line.detail}</p>}
    </div>
  );
}
