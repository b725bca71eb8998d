import { useSignal } from '@preact/signals';
import type { Problem } from '../api/request.js';
import { Dialog } from '../ui/dialog.js';
import { shortAddress } from '../ui/format.js';
import { ProblemNote } from '../ui/panel.js';
import { useOperator } from './operator-api.js';
import type { ChainStatus, Mode } from './types.js';

export interface SwitchRequest {
  readonly chain: ChainStatus;
  /** Null: every wallet of the chain. */
  readonly wallet: string | null;
  readonly mode: Mode;
}

interface Words {
  readonly verb: string;
  readonly stops: readonly string[];
  readonly goesOn: readonly string[];
}

const ALWAYS = 'Reads, updateLeverage, and taking a schedule away work as always.';
const OWN_WALLET = 'Traders can manage orders and positions from their own wallets.';

export const SWITCH_WORDS: Readonly<Record<Mode, Words>> = {
  paused: {
    verb: 'Pause',
    stops: [
      'New actions of bots are refused, with your reason.',
      'Queued transactions without a nonce are refused.',
      'Reclaims and scheduled cancels wait for resume.',
    ],
    goesOn: ['Transactions with a nonce are finished: sent again, priced higher, filled.', ALWAYS, OWN_WALLET],
  },
  draining: {
    verb: 'Drain',
    stops: ['New actions of bots are refused, with your reason.', 'Reclaims and scheduled cancels wait for resume.'],
    goesOn: ['Everything queued is sent and finished.', ALWAYS, OWN_WALLET],
  },
  running: {
    verb: 'Resume',
    stops: ['Nothing stops.'],
    goesOn: ['New actions of bots are taken and sent.', 'Reclaims and scheduled cancels that waited are sent now.'],
  },
};

interface SwitchDialogProps {
  readonly request: SwitchRequest;
  /** A real network wants the chain's name typed. */
  readonly isReal: boolean;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

const LONGEST_REASON = 200;

/** Says what stops and what goes on, asks for a reason, and switches. */
export function SwitchDialog({ request: { chain, wallet, mode }, isReal, onClose, onDone }: SwitchDialogProps) {
  const api = useOperator();
  const reason = useSignal('');
  const typed = useSignal('');
  const isBusy = useSignal(false);
  const problem = useSignal<Problem | null>(null);
  const { verb, stops, goesOn } = SWITCH_WORDS[mode];
  const isReady = reason.value.trim() !== '' && (!isReal || typed.value.trim() === chain.name);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (!isReady || isBusy.value) return;
    isBusy.value = true;
    const body = { chain: chain.chain, ...(wallet === null ? {} : { wallet }), mode, reason: reason.value.trim() };
    const answer = await api.call('/switches', { method: 'POST', body });
    isBusy.value = false;
    if (answer.ok) onDone();
    else problem.value = answer.problem;
  };
  return (
    <Dialog
      title={`${verb} ${wallet === null ? `every wallet on ${chain.name}` : `${shortAddress(wallet)} on ${chain.name}`}`}
      onClose={onClose}
    >
      <form class="switch-form" onSubmit={(event) => void submit(event)}>
        <div class="effects">
          <Effects title="What stops" items={stops} mark="■" />
          <Effects title="What goes on" items={goesOn} mark="▸" />
        </div>
        <p class="muted">Every replica obeys within a second, and a restart changes nothing.</p>
        <label class="field">
          {mode === 'running' ? 'Reason, for the log' : 'Reason, which bots get as the answer'}
          <input
            required
            maxLength={LONGEST_REASON}
            value={reason.value}
            placeholder={mode === 'running' ? 'the new node answers' : 'maintenance until noon'}
            onInput={({ currentTarget }) => void (reason.value = currentTarget.value)}
          />
        </label>
        {isReal ? (
          <label class="field">
            <span>
              This is a real network. Type <strong>{chain.name}</strong> to go on
            </span>
            <input
              required
              autoComplete="off"
              spellcheck={false}
              value={typed.value}
              onInput={({ currentTarget }) => void (typed.value = currentTarget.value)}
            />
          </label>
        ) : null}
        {problem.value === null ? null : <ProblemNote problem={problem.value} />}
        <div class="dialog-end">
          <button type="button" class="button" onClick={onClose}>
            Leave as it is
          </button>
          <button type="submit" class={`button ${mode === 'running' ? 'main' : 'danger'}`} disabled={!isReady || isBusy.value}>
            {isBusy.value ? 'Switching…' : verb}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function Effects({ title, items, mark }: { readonly title: string; readonly items: readonly string[]; readonly mark: string }) {
  return (
    <div>
      <h3>{title}</h3>
      <ul>
        {items.map((item) => (
          <li key={item}>
            <span aria-hidden="true">{mark}</span> {item}
          </li>
        ))}
      </ul>
    </div>
  );
}
