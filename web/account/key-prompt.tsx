import { useSignal } from '@preact/signals';
import type { Problem } from '../api/request.js';
import { ProblemNote } from '../ui/panel.js';
import { DEMO_TRADERS, demoKey, type DemoTrader } from './demo-key.js';

interface KeyPromptProps {
  readonly base: string;
  readonly isSandbox: boolean;
  readonly connectPath: string | null;
  /** Why the last key was refused. */
  readonly problem: Problem | null;
  /** True while the gateway is asked whose key it is. */
  readonly isAsking: boolean;
  readonly onKey: (apiKey: string) => void;
}

const KEY_SHAPE = /^dg_[A-Za-z0-9_-]{43}$/;

/** What a key is, what it cannot do, and where it is kept. */
export function KeyPrompt({ base, isSandbox, connectPath, problem, isAsking, onKey }: KeyPromptProps) {
  const text = useSignal('');
  const isWrong = useSignal(false);
  const submit = (event: Event): void => {
    event.preventDefault();
    const key = text.value.trim();
    isWrong.value = !KEY_SHAPE.test(key);
    if (!isWrong.value) onKey(key);
  };
  return (
    <section class="panel prompt" aria-labelledby="key-title">
      <div class="panel-head">
        <h1 id="key-title">Read an account</h1>
      </div>
      <form class="prompt-body" onSubmit={submit}>
        <p>
          An API key reads one account: balances, positions, orders, fills and the journal. It cannot trade, and it cannot withdraw.{' '}
          {connectPath === null ? 'The master wallet issues it.' : <a href={connectPath}>Make one with your wallet</a>}
        </p>
        <div class="prompt-row">
          <label class="field grow">
            API key
            <input
              type="password"
              autoComplete="off"
              spellcheck={false}
              placeholder="dg_…"
              value={text.value}
              aria-invalid={isWrong.value}
              aria-describedby="key-note"
              onInput={({ currentTarget }) => void (text.value = currentTarget.value)}
            />
          </label>
          <button type="submit" class="button main" disabled={isAsking || text.value.trim() === ''}>
            {isAsking ? 'Asking…' : 'Show account'}
          </button>
        </div>
        <p id="key-note" class={isWrong.value ? 'warn' : 'muted'} role={isWrong.value ? 'alert' : undefined}>
          {isWrong.value
            ? 'This is no API key: a key begins with dg_ and has 46 characters.'
            : 'The key stays in this tab. It is gone when the tab is closed, and it is never part of an address.'}
        </p>
        {problem === null ? null : <ProblemNote problem={problem} />}
      </form>
      {isSandbox ? <DemoKeys base={base} onKey={onKey} /> : null}
    </section>
  );
}

function DemoKeys({ base, onKey }: { readonly base: string; readonly onKey: (apiKey: string) => void }) {
  const busy = useSignal<DemoTrader | null>(null);
  const problem = useSignal<Problem | null>(null);
  const use = async (role: DemoTrader): Promise<void> => {
    busy.value = role;
    const answer = await demoKey(base, role);
    busy.value = null;
    if (answer.ok) onKey(answer.data.apiKey);
    else problem.value = answer.problem;
  };
  return (
    <div class="sandbox-only">
      <p>
        <span class="network sandbox">SANDBOX ONLY</span> The demo traders are public, so this page can make a key for one of them.
      </p>
      <div class="tabs">
        {(Object.keys(DEMO_TRADERS) as DemoTrader[]).map((role) => (
          <button key={role} type="button" class="button" disabled={busy.value !== null} onClick={() => void use(role)}>
            {busy.value === role ? 'Making a key…' : `Show the ${DEMO_TRADERS[role]}`}
          </button>
        ))}
      </div>
      {problem.value === null ? null : <ProblemNote problem={problem.value} />}
    </div>
  );
}
