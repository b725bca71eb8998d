import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { scaled, unscaled } from '../ui/format.js';
import { collateralsOf, lineOk, sendAndCheck, transactionOf, type Collateral, type Desk } from './desk.js';
import { rpcOf } from './session.js';
import { StepNote, useAction } from './steps.js';

const AMOUNT = /^(?:0|[1-9]\d{0,14})(?:\.\d{1,18})?$/;
const BALANCE_OF = '0x70a08231';

/** The trader chooses how much the Diamond may take; nothing proposes more than the wallet holds. */
export function AllowanceForm({ desk }: { readonly desk: Desk }) {
  const tokens = collateralsOf(desk);
  const symbol = useSignal(tokens.find((one) => one.symbol === 'USDC')?.symbol ?? tokens[0]?.symbol ?? '');
  const amount = useSignal('');
  const balance = useSignal<string | null>(null);
  const action = useAction();
  const token = tokens.find((one) => one.symbol === symbol.value);
  useEffect(() => {
    balance.value = null;
    if (token === undefined) return;
    let isOver = false;
    void balanceOf(desk, token).then((held) => {
      if (!isOver) balance.value = held;
    });
    return () => void (isOver = true);
  }, [symbol.value, desk.readiness.load.value.at]);
  if (token === undefined) return <p>No market takes a collateral that this page knows by its address.</p>;
  const fault = faultOf(amount.value, token);
  const approve = (event: Event): void => {
    event.preventDefault();
    if (fault !== null || amount.value === '') return;
    const units = scaled(amount.value, token.decimals);
    action.start((report) =>
      sendAndCheck({
        desk,
        transaction: transactionOf(desk, { type: 'approve', token: token.address, amount: units }),
        ask: `confirm that the Diamond may take ${amount.value} ${token.symbol}.`,
        isDone: units === 0n ? () => true : lineOk('allowance'),
        report,
      }),
    );
  };
  return (
    <form class="inline-form" onSubmit={approve} noValidate>
      <p class="form-note">
        The Diamond takes collateral when an order opens a position, up to the amount you allow. Zero takes the permission back.
      </p>
      <label class="field">
        Collateral
        <select value={symbol.value} onChange={({ currentTarget }) => void (symbol.value = currentTarget.value)}>
          {tokens.map((one) => (
            <option key={one.address} value={one.symbol}>
              {one.symbol}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        Amount
        <input
          inputMode="decimal"
          autoComplete="off"
          placeholder="250"
          value={amount.value}
          aria-invalid={fault !== null}
          onInput={({ currentTarget }) => void (amount.value = currentTarget.value.trim())}
        />
      </label>
      {balance.value === null || balance.value === '0' ? null : (
        <button type="button" class="button" onClick={() => void (amount.value = balance.value ?? '')}>
          All I hold: {balance.value} {token.symbol}
        </button>
      )}
      <button type="submit" class="button main" disabled={action.isBusy || amount.value === '' || fault !== null}>
        Approve{amount.value === '' || fault !== null ? '' : ` ${amount.value} ${token.symbol}`}
      </button>
      {fault === null ? null : (
        <p class="form-note warn" role="alert">
          {fault}
        </p>
      )}
      <StepNote step={action.step.value} />
    </form>
  );
}

function faultOf(text: string, { decimals, symbol }: Collateral): string | null {
  if (text === '') return null;
  if (!AMOUNT.test(text)) return 'An amount is a number such as 250 or 99.5.';
  return (text.split('.')[1] ?? '').length > decimals ? `${symbol} has ${decimals} decimals.` : null;
}

async function balanceOf({ session }: Desk, { address, decimals }: Collateral): Promise<string | null> {
  const data = `${BALANCE_OF}${session.address.slice(2).toLowerCase().padStart(64, '0')}`;
  const found = await rpcOf(session)('eth_call', [{ to: address, data }, 'latest']).catch(() => null);
  return typeof found === 'string' && found.length > 2 ? unscaled(BigInt(found), decimals) : null;
}
