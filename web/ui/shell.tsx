import { render, type FunctionComponent } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import { readGateway, type GatewayFacts } from '../api/gateway.js';
import { useResource } from '../api/resource.js';
import { openLink, type Link } from '../api/socket.js';
import { Header } from './header.js';
import { ProblemNote, Skeleton } from './panel.js';

/** What a page is given once the gateway has said what it serves. */
export interface PageContext {
  readonly facts: GatewayFacts;
  /** Slug of the chosen chain. */
  readonly chain: string;
  /** Path of the native API of that chain. */
  readonly base: string;
  /** Path of the facade of that chain. */
  readonly hl: string;
  /** Null on a page without a stream. */
  readonly link: Link | null;
}

type PageBody = FunctionComponent<PageContext>;

/** Mounts a page below the common header. `hasStream` opens the WebSocket of the chosen chain. */
export function mountPage(page: string, body: PageBody, { hasStream = true }: { readonly hasStream?: boolean } = {}): void {
  const root = document.getElementById('page');
  if (root !== null) render(<Shell page={page} body={body} hasStream={hasStream} />, root);
}

const chosenChain = ({ chains }: GatewayFacts): string | null => {
  const asked = new URLSearchParams(location.search).get('chain');
  return chains.find(({ chain }) => chain === asked)?.chain ?? chains[0]?.chain ?? null;
};

function Shell({ page, body, hasStream }: { readonly page: string; readonly body: PageBody; readonly hasStream: boolean }) {
  const { load, refresh } = useResource('gateway', readGateway);
  const { data: facts, problem } = load.value;
  const chain = facts === null ? null : chosenChain(facts);
  if (facts !== null && chain !== null) return <Open page={page} body={body} hasStream={hasStream} facts={facts} chain={chain} />;
  return (
    <>
      <Header page={page} facts={facts} chain={chain} state={null} stateAt={null} />
      <main class="page">{problem === null ? <Skeleton rows={12} /> : <ProblemNote problem={problem} onRetry={refresh} />}</main>
    </>
  );
}

interface OpenProps {
  readonly page: string;
  readonly body: PageBody;
  readonly hasStream: boolean;
  readonly facts: GatewayFacts;
  readonly chain: string;
}

function Open({ page, body: Body, hasStream, facts, chain }: OpenProps) {
  const link = useMemo(() => (hasStream ? openLink(chain) : null), [chain, hasStream]);
  useEffect(() => () => link?.close(), [link]);
  const context = { facts, chain, base: `/v1/${chain}`, hl: `/hl/${chain}`, link };
  return (
    <>
      <Header
        page={page}
        facts={facts}
        chain={chain}
        state={link?.state.value ?? null}
        stateAt={link?.changedAt.value ?? null}
        silentMs={link?.silentMs.value}
      />
      <main class="page">
        <Body {...context} />
      </main>
    </>
  );
}
