import { CopyButton } from '../ui/copy.js';
import { chainName } from '../ui/format.js';
import { Panel } from '../ui/panel.js';
import { Address } from '../ui/values.js';
import { useOperatorResource } from './operator-api.js';
import type { Adoptions as Waiting } from './types.js';

const LOOK_MS = 10_000;
const ADOPT = 'npx diamond-gateway relayer adopt';

/** Lost commits, and wallets that the database does not know: both wait for a command, after a comparison with the chain. */
export function Adoptions() {
  const waiting = useOperatorResource<Waiting>('/adoptions', LOOK_MS);
  return (
    <Panel
      title="Lost commits and unknown wallets"
      load={waiting.load.value}
      rows={1}
      onRetry={waiting.refresh}
      isEmpty={({ doubt, loss, wallets }) => doubt === null && loss === null && wallets.length === 0}
      empty={<p>The database has lost nothing, and knows every wallet.</p>}
    >
      {({ doubt, loss, wallets }) => (
        <ul class="alerts">
          {doubt === null ? null : (
            <li>
              <strong>Nothing is signed now</strong>
              <span class="message">{doubt}</span>
            </li>
          )}
          {loss === null ? null : (
            <li>
              <strong>{loss.awaitsOperator ? 'waits for you' : 'lost commits'}</strong>
              <span class="message">{loss.text}</span>
              {loss.awaitsOperator ? <CopyButton text={ADOPT} label="Copy the command" /> : null}
            </li>
          )}
          {wallets.map(({ chain, wallet, reason, command }) => (
            <li key={`${chain} ${wallet}`}>
              <strong>{chainName(chain)}</strong>
              <Address value={wallet} label="Copy address" />
              <span class="message">The database does not know it, and {reason}: nothing is relayed.</span>
              <CopyButton text={command} label="Copy the command" />
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
