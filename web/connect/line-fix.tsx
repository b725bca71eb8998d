import { useSignal } from '@preact/signals';
import type { TraderReadiness } from '@diamond-gateway/client/api';
import { request } from '../api/request.js';
import { shortAddress } from '../ui/format.js';
import { AllowanceForm } from './allowance-form.js';
import { agentsOf, checkAgain, lineOk, sameAddress, sendAndCheck, transactionOf, type Desk, type Api } from './desk.js';
import { GasForm } from './gas-form.js';
import type { Line } from './lines.js';
import { StepNote, take, useAction } from './steps.js';

interface LineFixProps {
  readonly desk: Desk;
  readonly api: Api;
  readonly line: Line;
  readonly found: TraderReadiness;
}

/** The button that mends a line. */
export function LineFix(props: LineFixProps) {
  const { line } = props;
  switch (line.check) {
    case 'balance':
      return line.ok && props.desk.sandbox === null ? null : <Fund {...props} />;
    case 'allowance':
      return <Allowance {...props} />;
    case 'agent':
      return <AgentStep {...props} />;
    case 'delegation':
    case 'relayer':
      return line.ok ? null : <Delegate {...props} />;
    case 'gas':
      return <Gas {...props} />;
    case 'market':
    case 'referrer':
      return line.ok || line.step === null ? null : <p>{line.step}</p>;
  }
}

const FUNDS = { usdc: '10000', eth: '1' } as const;

function Fund({ desk, line }: LineFixProps) {
  const action = useAction();
  const { sandbox, session, page } = desk;
  if (sandbox === null) return <p>{line.step}</p>;
  if (line.ok) return null;
  const fund = (): void =>
    action.start(async (report) => {
      report({ kind: 'working', text: 'The faucet sends play money…' });
      const body = { chain: page.chain, address: session.address, ...FUNDS };
      const { txHashes } = take(await request<{ txHashes: string[] }>('/sandbox/faucet', { method: 'POST', body }));
      const [hash = ''] = txHashes;
      report({ kind: 'mined', hash });
      await checkAgain(desk, lineOk('balance'));
      return { text: 'Funded, and the line was checked again.' };
    });
  return (
    <>
      <button type="button" class="button main" disabled={action.isBusy} onClick={fund}>
        Fund with 10,000 USDC and 1 ETH
      </button>{' '}
      <span class="network sandbox">SANDBOX ONLY</span>
      <StepNote step={action.step.value} />
    </>
  );
}

function Allowance({ desk, line }: LineFixProps) {
  const isOpen = useSignal(false);
  if (line.ok && !isOpen.value)
    return (
      <button type="button" class="button small" onClick={() => void (isOpen.value = true)}>
        Change the allowance
      </button>
    );
  return <AllowanceForm desk={desk} />;
}

function AgentStep({ desk, api, line }: LineFixProps) {
  if (line.ok) return null;
  const open = (): void => {
    desk.api.value = api;
    const card = document.getElementById('agent-card');
    card?.scrollIntoView({ block: 'start' });
    card?.querySelector<HTMLElement>('input, button')?.focus({ preventScroll: true });
  };
  return (
    <button type="button" class="button main" onClick={open}>
      Make an agent
    </button>
  );
}

/** The address that trades for the trader from then on: the agent itself, or the relayer that serves this trader. */
function delegateFor({ desk, api, found }: LineFixProps): `0x${string}` | null {
  // A delegate can trade on chain whatever its scope says: a key that only reads must not become one.
  const newest = agentsOf(found, api).find(({ scope }) => scope.permissions === 'trade');
  if (newest === undefined) return null;
  if (api === 'native') return newest.agent;
  // The gateway says which of its relayers serves this trader; only one that it publishes is taken.
  const data = found.lines.find(({ check }) => check === 'relayer')?.fix?.transaction?.data;
  const named = data === undefined ? null : (`0x${data.slice(-40)}` as const);
  return desk.info.relayers.find((relayer) => sameAddress(relayer, named)) ?? null;
}

function Delegate(props: LineFixProps) {
  const { desk, api, line, found } = props;
  const action = useAction();
  const agent = delegateFor(props);
  if (agent === null) return <p>{agentsOf(found, api).length === 0 ? 'Make an agent first.' : line.step}</p>;
  const set = (): void =>
    action.start((report) =>
      sendAndCheck({
        desk,
        transaction: transactionOf(desk, { type: 'delegate', agent }),
        ask: `confirm setTradingDelegate(${shortAddress(agent)}).`,
        isDone: lineOk(line.check),
        report,
      }),
    );
  return (
    <>
      <p>
        {api === 'native' ? 'Your agent' : 'The relayer'} <code title={agent}>{shortAddress(agent)}</code> may then open, change and close
        trades for this wallet. It cannot withdraw or transfer anything: what a trade returns always goes to this wallet.
        {found.delegate === null ? '' : ` It replaces ${shortAddress(found.delegate)}, which stops trading.`}
      </p>
      <button type="button" class="button main" disabled={action.isBusy} onClick={set}>
        Set the delegate
      </button>
      <StepNote step={action.step.value} />
    </>
  );
}

function Gas({ desk, line, found }: LineFixProps) {
  if (line.ok) return null;
  const agent = agentsOf(found, 'native').find((one) => sameAddress(one.agent, found.delegate));
  return agent === undefined ? <p>Make an agent and set it as the delegate first.</p> : <GasForm desk={desk} agent={agent.agent} />;
}
