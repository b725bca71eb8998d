import { request } from '../api/request.js';
import { useResource } from '../api/resource.js';
import { chainName, formatAge } from '../ui/format.js';
import { Panel } from '../ui/panel.js';
import { Chip } from '../ui/values.js';
import type { ChainReady, Ready } from './types.js';

const EVERY_MS = 5_000;
const OLD_MS = 20_000;

/** What `/ready` says, chain by chain. */
export function HealthPanel() {
  const { load, refresh } = useResource<Ready>('ready', (signal) => request('/ready', { signal, accepts: [503] }), EVERY_MS);
  return (
    <Panel title="Health" class="health-panel" load={load.value} rows={4} staleAfterMs={OLD_MS} onRetry={refresh}>
      {(ready) => (
        <>
          {ready.database.ready ? null : <Reasons texts={ready.database.reasons} />}
          {ready.stopping ? <Reasons texts={['This gateway is shutting down.']} /> : null}
          <div class="chains">
            {Object.entries(ready.chains).map(([slug, chain]) => (
              <ChainHealth key={slug} slug={slug} chain={chain} />
            ))}
          </div>
        </>
      )}
    </Panel>
  );
}

function ChainHealth({ slug, chain }: { readonly slug: string; readonly chain: ChainReady }) {
  const { ready, reasons, notes, relayer, block, headAgeMs, priceAgeMs, followed, endpoints } = chain;
  const rows: readonly (readonly [string, string])[] = [
    ['Node', endpoints.map(({ host, state, latencyMs }) => `${host} ${state}${latencyMs === null ? '' : `, ${latencyMs} ms`}`).join('; ')],
    ['Head', block === null ? 'no block yet' : `block ${block}, ${headAgeMs === null ? '–' : formatAge(headAgeMs)} old`],
    [
      'Indexed',
      followed.behind === null
        ? 'not yet'
        : followed.behind === 0
          ? 'up to the head'
          : `${followed.behind} ${followed.behind === 1 ? 'block' : 'blocks'} behind`,
    ],
    ['Prices', priceAgeMs === null ? 'none yet' : `${formatAge(priceAgeMs)} old`],
    ['Relayer', relayer === null ? 'none: bots can read, not trade' : relayer.ready ? 'ready' : 'cannot send'],
  ];
  return (
    <div class="chain-health">
      <h3 class="chain-title">
        {chainName(slug)} <Chip tone={ready ? 'good' : 'bad'}>{ready ? 'Ready' : 'Not ready'}</Chip>
      </h3>
      <dl class="pairs">
        {rows.map(([name, text]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <Reasons texts={[...reasons, ...(relayer?.reasons ?? [])]} />
      {notes.map((note) => (
        <p key={note} class="note">
          Note: {note}
        </p>
      ))}
    </div>
  );
}

function Reasons({ texts }: { readonly texts: readonly string[] }) {
  return texts.length === 0 ? null : (
    <ul class="reasons">
      {texts.map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
  );
}
