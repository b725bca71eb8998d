import { formatSigned, formatUpTo, signOf, toneOf } from '../ui/format.js';
import { Panel } from '../ui/panel.js';
import { Address } from '../ui/values.js';
import type { Load } from '../api/resource.js';
import { sumOf, type CollateralSum } from './figures.js';
import type { Account, Balance, Position } from './types.js';

const DIGITS = 2;
const MOST_DIGITS = 6;

interface SummaryProps {
  readonly account: Load<Account>;
  readonly positions: Load<readonly Position[]>;
  readonly trader: string;
  readonly isCut: boolean;
  readonly onForget: () => void;
  readonly connectPath: string | null;
}

/** Balances, allowances, total profit, and collateral in positions and in orders. */
export function Summary({ account, positions, trader, isCut, onForget, connectPath }: SummaryProps) {
  const tools = (
    <>
      <Address value={trader} label="Copy address" />
      <button type="button" class="button small" onClick={onForget}>
        Forget this key
      </button>
    </>
  );
  return (
    <Panel title="Account" load={account} rows={3} isCut={isCut} tools={tools} class="summary">
      {({ balances }) => (
        <div class="tiles">
          <ProfitFigure positions={positions.data} />
          <MarginFigure positions={positions.data} />
          <OrdersFigure balances={balances} />
          {usedFirst(balances, positions.data ?? []).map((balance) => (
            <BalanceFigure key={balance.collateral} balance={balance} connectPath={connectPath} />
          ))}
          {balances.length === 0 ? <p class="muted">The balances cannot be read from the chain right now.</p> : null}
        </div>
      )}
    </Panel>
  );
}

/** The collateral that positions use comes first. */
function usedFirst(balances: readonly Balance[], positions: readonly Position[]): Balance[] {
  const used = new Set(positions.map(({ collateralSymbol }) => collateralSymbol));
  return balances.toSorted((first, second) => Number(used.has(second.collateral)) - Number(used.has(first.collateral)));
}

function ProfitFigure({ positions }: { readonly positions: readonly Position[] | null }) {
  const sums = positions === null ? null : sumOf(positions, ({ unrealizedPnl }) => unrealizedPnl);
  return (
    <Figure title="Unrealised PnL" note={positions === null ? '' : positions.length === 1 ? '1 position' : `${positions.length} positions`}>
      <Sums sums={sums} show={(amount) => <span class={toneOf(amount)}>{formatSigned(amount, DIGITS)}</span>} />
    </Figure>
  );
}

function MarginFigure({ positions }: { readonly positions: readonly Position[] | null }) {
  const sums = positions === null ? null : sumOf(positions, ({ collateral }) => collateral);
  return (
    <Figure title="Margin used" note="collateral inside positions, each isolated">
      <Sums sums={sums} show={(amount) => formatUpTo(amount, DIGITS)} />
    </Figure>
  );
}

function OrdersFigure({ balances }: { readonly balances: readonly Balance[] }) {
  const sums = balances
    .filter(({ inOrders }) => signOf(inOrders) > 0)
    .map(({ collateral, inOrders }) => ({ collateral, amount: inOrders }));
  return (
    <Figure title="In orders" note="collateral of resting orders and of requests, still the trader's">
      <Sums sums={sums} show={(amount) => formatUpTo(amount, DIGITS)} />
    </Figure>
  );
}

function Sums({
  sums,
  show,
}: {
  readonly sums: readonly CollateralSum[] | null;
  readonly show: (amount: string) => preact.ComponentChild;
}) {
  if (sums === null) return <strong>…</strong>;
  if (sums.length === 0) return <strong>0</strong>;
  return (
    <>
      {sums.map(({ collateral, amount }) => (
        <strong key={collateral}>
          {show(amount)} <small>{collateral}</small>
        </strong>
      ))}
    </>
  );
}

/** An allowance beyond all money is as good as none: it is called by its name. */
const UNLIMITED_DIGITS = 20;
const allowanceText = (allowance: string): string =>
  (allowance.split('.')[0] ?? '').length > UNLIMITED_DIGITS ? 'unlimited' : formatUpTo(allowance, MOST_DIGITS);

function BalanceFigure({
  balance: { collateral, balance, allowance },
  connectPath,
}: {
  readonly balance: Balance;
  readonly connectPath: string | null;
}) {
  const isMissing = signOf(allowance) === 0;
  return (
    <Figure
      title={`${collateral} in the wallet`}
      note={
        isMissing ? (
          <>
            <span class="warn">No allowance: an opening in {collateral} would fail.</span>{' '}
            {connectPath === null ? null : <a href={connectPath}>Set one</a>}
          </>
        ) : (
          `allowance ${allowanceText(allowance)}`
        )
      }
    >
      <strong>
        {formatUpTo(balance, DIGITS)} <small>{collateral}</small>
      </strong>
    </Figure>
  );
}

function Figure({
  title,
  note,
  children,
}: {
  readonly title: string;
  readonly note: preact.ComponentChildren;
  readonly children: preact.ComponentChildren;
}) {
  return (
    <div class="tile">
      <h3>{title}</h3>
      {children}
      <p class="tile-note">{note}</p>
    </div>
  );
}
