import type { GatewayFacts } from '../api/gateway.js';
import type { LinkState } from '../api/socket.js';
import { chainName } from './format.js';
import { palette, theme, THEMES } from './theme.js';

export interface HeaderProps {
  readonly page: string;
  readonly facts: GatewayFacts | null;
  readonly chain: string | null;
  /** Null on a page without a stream. */
  readonly state: LinkState | null;
  /** When the state began, and for how long nothing had arrived then. */
  readonly stateAt: number | null;
  readonly silentMs?: number | undefined;
}

const STATE_TEXT: Readonly<Record<LinkState, string>> = {
  CONNECTING: 'The stream is being opened.',
  LIVE: 'Prices and orders arrive as they happen.',
  STALE: 'Nothing new has arrived; what is shown may be old.',
  LOST: 'The connection is cut; the page keeps trying.',
};
const TITLES: Readonly<Record<string, string>> = { venue: 'Venue', connect: 'Connect', account: 'Account', operator: 'Operator' };

/** Chain, state of the stream, and whether this is money: the same on every page. */
export function Header({ page, facts, chain, state, stateAt, silentMs }: HeaderProps) {
  return (
    <header class="header">
      <a class="brand" href="/">
        <span class="gem" aria-hidden="true" />
        Diamond Gateway
      </a>
      <nav class="nav" aria-label="Pages">
        {linksOf(page, facts).map(([name, path]) => (
          <a key={name} href={withChain(path, chain, facts)} {...(name === page ? { 'aria-current': 'page' as const } : {})}>
            {TITLES[name] ?? name}
          </a>
        ))}
        <a href="/docs">API</a>
      </nav>
      <div class="header-end">
        {facts === null ? null : <ChainChoice facts={facts} chain={chain} />}
        {facts === null ? null : <Network facts={facts} chain={chain} />}
        {state === null ? null : (
          <span
            class={`link-state ${state.toLowerCase()}`}
            role="status"
            data-state={state}
            data-state-at={stateAt ?? ''}
            data-silent-ms={silentMs ?? ''}
            title={STATE_TEXT[state]}
          >
            {state}
          </span>
        )}
        <Switches />
      </div>
    </header>
  );
}

/** The operator's page is hidden from the world by the load balancer, so only a sandbox, and the page itself, link to it. */
const linksOf = (page: string, facts: GatewayFacts | null): [string, string][] =>
  Object.entries(facts?.pages ?? {}).filter(([name]) => name !== 'operator' || page === 'operator' || facts?.mode === 'sandbox');

const withChain = (path: string, chain: string | null, facts: GatewayFacts | null): string =>
  chain === null || chain === facts?.chains[0]?.chain ? path : `${path}?chain=${encodeURIComponent(chain)}`;

function ChainChoice({ facts, chain }: { readonly facts: GatewayFacts; readonly chain: string | null }) {
  if (facts.chains.length < 2) return chain === null ? null : <span class="chain-name">{chainName(chain)}</span>;
  const choose = (slug: string): void => location.assign(`${location.pathname}?chain=${encodeURIComponent(slug)}`);
  return (
    <label class="choice">
      <span class="offscreen">Chain</span>
      <select value={chain ?? ''} onChange={({ currentTarget }) => choose(currentTarget.value)}>
        {facts.chains.map(({ chain: slug }) => (
          <option key={slug} value={slug}>
            {chainName(slug)}
          </option>
        ))}
      </select>
    </label>
  );
}

function Network({ facts, chain }: { readonly facts: GatewayFacts; readonly chain: string | null }) {
  if (facts.mode === 'sandbox')
    return (
      <span class="network sandbox" title="A local venue with play money. Nothing here touches a real chain.">
        SANDBOX
      </span>
    );
  const known = facts.chains.find((one) => one.chain === chain);
  if (known === undefined) return null;
  return <span class="network">{known.testnet ? `${chainName(known.chain)} testnet` : chainName(known.chain)}</span>;
}

function Switches() {
  const next = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? 'system';
  const isBlue = palette.value === 'blue-orange';
  return (
    <span class="switches">
      <button type="button" class="button small" onClick={() => (theme.value = next)} title={`Colours: ${theme.value}. Next: ${next}.`}>
        {{ system: '◐', light: '☀', dark: '☾' }[theme.value]}
        <span class="offscreen">Theme: {theme.value}</span>
      </button>
      <button
        type="button"
        class="button small palette"
        aria-pressed={isBlue}
        onClick={() => (palette.value = isBlue ? 'green-red' : 'blue-orange')}
        title="Blue and orange instead of green and red"
      >
        <span class="up" aria-hidden="true">
          ▲
        </span>
        <span class="down" aria-hidden="true">
          ▼
        </span>
        <span class="offscreen">Colours for colour-blind people</span>
      </button>
    </span>
  );
}
