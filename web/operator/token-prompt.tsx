import { useSignal } from '@preact/signals';
import { request, type Problem } from '../api/request.js';
import { ProblemNote } from '../ui/panel.js';

interface TokenPromptProps {
  readonly isSandbox: boolean;
  /** Why the last token was refused. */
  readonly problem: Problem | null;
  readonly onToken: (token: string) => void;
}

/** Nothing of the relayer is read before the gateway has taken a token. */
export function TokenPrompt({ isSandbox, problem: refused, onToken }: TokenPromptProps) {
  const text = useSignal('');
  const isAsking = useSignal(false);
  const problem = useSignal<Problem | null>(refused);
  const check = async (token: string): Promise<void> => {
    isAsking.value = true;
    const answer = await request<unknown>('/relayer/switches', { headers: { Authorization: `Bearer ${token}` } });
    isAsking.value = false;
    // A gateway without a relayer takes the token and has nothing to switch.
    if (answer.ok || (answer.problem.status !== 401 && answer.problem.status !== 0)) onToken(token);
    else problem.value = answer.problem;
  };
  return (
    <section class="panel prompt" aria-labelledby="token-title">
      <div class="panel-head">
        <h1 id="token-title">Operate the relayer</h1>
      </div>
      <form
        class="prompt-body"
        onSubmit={(event) => {
          event.preventDefault();
          void check(text.value.trim());
        }}
      >
        <p>
          The token is the value of <code>OPERATOR_TOKEN</code>. It opens the relayer's money, lanes, rules and switches. It cannot sign,
          and no key of the relayer can be read with it.
        </p>
        <div class="prompt-row">
          <label class="field grow">
            Operator token
            <input
              type="password"
              autoComplete="off"
              spellcheck={false}
              value={text.value}
              aria-describedby="token-note"
              onInput={({ currentTarget }) => void (text.value = currentTarget.value)}
            />
          </label>
          <button type="submit" class="button main" disabled={isAsking.value || text.value.trim() === ''}>
            {isAsking.value ? 'Asking…' : 'Open'}
          </button>
        </div>
        <p id="token-note" class="muted">
          The token stays in this tab. It is gone when the tab is closed, and it is never part of an address.
        </p>
        {problem.value === null ? null : <ProblemNote problem={problem.value} />}
      </form>
      {isSandbox ? <SandboxToken onToken={check} onProblem={(found) => void (problem.value = found)} /> : null}
    </section>
  );
}

interface SandboxTokenProps {
  readonly onToken: (token: string) => Promise<void>;
  readonly onProblem: (problem: Problem) => void;
}

/** A sandbox that made its own token shows it to every client on its machine. */
function SandboxToken({ onToken, onProblem }: SandboxTokenProps) {
  const isHidden = useSignal(false);
  const use = async (): Promise<void> => {
    const answer = await request<{ operatorToken: string | null }>('/sandbox');
    if (!answer.ok) onProblem(answer.problem);
    else if (answer.data.operatorToken === null) isHidden.value = true;
    else await onToken(answer.data.operatorToken);
  };
  return (
    <div class="sandbox-only">
      <p>
        <span class="network sandbox">SANDBOX ONLY</span>{' '}
        {isHidden.value
          ? 'This sandbox was started with a token of its own: enter it above.'
          : 'The token of this sandbox is public on its own machine.'}
      </p>
      <div>
        <button type="button" class="button" disabled={isHidden.value} onClick={() => void use()}>
          Use the token of this sandbox
        </button>
      </div>
    </div>
  );
}
