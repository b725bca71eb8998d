import { useSignal } from '@preact/signals';
import { request } from '../api/request.js';
import { scaled, shortAddress } from '../ui/format.js';
import { checkAgain, lineOk, sendAndCheck, type Desk } from './desk.js';
import { StepNote, take, useAction } from './steps.js';

const SANDBOX_ETH = '0.1';
const AMOUNT = /^(?:0|[1-9]\d{0,4})(?:\.\d{1,18})?$/;
const DECIMALS = 18;

/** The agent sends its own transactions, so it needs a little of the chain's coin; a stolen agent key could spend that much. */
export function GasForm({ desk, agent }: { readonly desk: Desk; readonly agent: `0x${string}` }) {
  const { sandbox, chain } = desk;
  const amount = useSignal('');
  const action = useAction();
  const drip = (): void =>
    action.start(async (report) => {
      report({ kind: 'working', text: 'The faucet sends gas…' });
      const body = { chain: chain.slug, address: agent, eth: SANDBOX_ETH };
      take(await request('/sandbox/faucet', { method: 'POST', body }));
      await checkAgain(desk, lineOk('gas'));
      return { text: 'Funded, and the line was checked again.' };
    });
  const isAmount = AMOUNT.test(amount.value) && /[1-9]/.test(amount.value);
  const send = (event: Event): void => {
    event.preventDefault();
    if (!isAmount) return;
    const transaction = { to: agent, value: scaled(amount.value, DECIMALS) };
    const ask = `confirm ${amount.value} ${chain.nativeSymbol} to ${shortAddress(agent)}.`;
    action.start((report) => sendAndCheck({ desk, transaction, ask, isDone: lineOk('gas'), report }));
  };
  return (
    <>
      {sandbox === null ? (
        <form class="inline-form" onSubmit={send} noValidate>
          <label class="field">
            {chain.nativeSymbol} for the agent
            <input
              inputMode="decimal"
              autoComplete="off"
              placeholder="0.005"
              value={amount.value}
              onInput={({ currentTarget }) => void (amount.value = currentTarget.value.trim())}
            />
          </label>
          <button type="submit" class="button main" disabled={action.isBusy || !isAmount}>
            Send gas to the agent
          </button>
        </form>
      ) : (
        <>
          <button type="button" class="button main" disabled={action.isBusy} onClick={drip}>
            Send {SANDBOX_ETH} {chain.nativeSymbol} to the agent
          </button>{' '}
          <span class="network sandbox">SANDBOX ONLY</span>
        </>
      )}
      <StepNote step={action.step.value} />
    </>
  );
}
