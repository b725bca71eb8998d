import type { Resource } from '../api/resource.js';
import { Panel } from '../ui/panel.js';
import { Address, Ago, Chip } from '../ui/values.js';
import { SWITCH_WORDS, type SwitchRequest } from './switch-dialog.js';
import type { ChainStatus, Mode, Status } from './types.js';
import { MODE_TONES } from './wallets.js';

interface SwitchesProps {
  readonly status: Resource<Status>;
  readonly onSwitch: (request: SwitchRequest) => void;
}

const MODES: readonly Mode[] = ['paused', 'draining', 'running'];

/** Pause, drain and resume, for a chain or for one wallet. */
export function Switches({ status, onSwitch }: SwitchesProps) {
  return (
    <Panel
      title="Pause, drain, resume"
      load={status.load.value}
      rows={3}
      onRetry={status.refresh}
      isEmpty={({ chains }) => chains.every(({ wallets }) => wallets.length === 0)}
      empty={<p>There is no wallet to switch.</p>}
    >
      {({ chains }) => (
        <div class="switchboard">
          {chains
            .filter(({ wallets }) => wallets.length > 0)
            .map((chain) => (
              <ChainSwitches key={chain.chain} chain={chain} onSwitch={onSwitch} />
            ))}
        </div>
      )}
    </Panel>
  );
}

function ChainSwitches({ chain, onSwitch }: { readonly chain: ChainStatus; readonly onSwitch: (request: SwitchRequest) => void }) {
  return (
    <>
      <div class="switch-row">
        <strong>{chain.name}</strong>
        <span class="muted">every wallet</span>
        <Buttons label={chain.name} onSwitch={(mode) => onSwitch({ chain, wallet: null, mode })} current={null} />
      </div>
      {chain.wallets.map(({ address, switch: standing }) => {
        const mode = standing?.mode ?? 'running';
        return (
          <div key={address} class="switch-row">
            <Address value={address} label="Copy address" />
            <span>
              <Chip tone={MODE_TONES[mode]}>{mode}</Chip> {mode === 'running' ? null : (standing?.reason ?? '')}{' '}
              {standing?.changedAt == null ? null : (
                <small class="muted">
                  changed <Ago at={standing.changedAt} />
                </small>
              )}
            </span>
            <Buttons label={address} onSwitch={(next) => onSwitch({ chain, wallet: address, mode: next })} current={mode} />
          </div>
        );
      })}
    </>
  );
}

interface ButtonsProps {
  readonly label: string;
  /** Null for a chain, whose wallets may differ. */
  readonly current: Mode | null;
  readonly onSwitch: (mode: Mode) => void;
}

function Buttons({ label, current, onSwitch }: ButtonsProps) {
  return (
    <span class="tabs" role="group" aria-label={`Switch ${label}`}>
      {MODES.map((mode) => (
        <button
          key={mode}
          type="button"
          class={`button small ${mode === 'running' ? '' : 'danger'}`}
          disabled={mode === current}
          onClick={() => onSwitch(mode)}
        >
          {SWITCH_WORDS[mode].verb}…
        </button>
      ))}
    </span>
  );
}
