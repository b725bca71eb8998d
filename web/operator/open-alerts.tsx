import type { Resource } from '../api/resource.js';
import { chainName } from '../ui/format.js';
import { Panel } from '../ui/panel.js';
import { Ago } from '../ui/values.js';
import type { Alerts } from './types.js';

const STALE_MS = 30_000;

/** What is wrong now, before anything else. */
export function OpenAlerts({ alerts }: { readonly alerts: Resource<Alerts> }) {
  const count = alerts.load.value.data?.open.length ?? 0;
  return (
    <Panel
      title={count === 0 ? 'Open alerts' : `Open alerts (${count})`}
      load={alerts.load.value}
      rows={2}
      staleAfterMs={STALE_MS}
      onRetry={alerts.refresh}
      class={count > 0 ? 'alarming' : ''}
      isEmpty={({ open }) => open.length === 0}
      empty={
        <p>
          <span class="up">✓</span> Nothing is wrong. Wallets, lanes and nodes are checked every five seconds.
        </p>
      }
    >
      {({ open }) => (
        <ul class="alerts">
          {open.map(({ id, kind, chain, message, openedAt }) => (
            <li key={id}>
              <strong>{kind.replaceAll('-', ' ')}</strong>
              <span class="muted">{chain === 'all' ? 'all chains' : chainName(chain)}</span>
              <span class="message">{message}</span>
              <span class="muted">
                <Ago at={openedAt} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
