import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import type { ChainInfo, Market } from '@diamond-gateway/client/api';
import type { ChainFacts } from '@diamond-gateway/client/chains';
import { request, type Answer } from '../api/request.js';
import { useResource } from '../api/resource.js';
import { chainName } from '../ui/format.js';
import { Panel } from '../ui/panel.js';
import { mountPage, type PageContext } from '../ui/shell.js';
import { AgentCard } from './agent-card.js';
import { AgentsCard } from './agents-card.js';
import { ApiKeysCard } from './api-keys-card.js';
import { BotSettings } from './bot-settings.js';
import { Columns } from './columns.js';
import { demoWallets, type SandboxFacts } from './demo-wallet.js';
import { chainFacts, readReadiness, type AgentKeys, type Desk, type Door } from './desk.js';
import { FirstOrderCard } from './first-order-card.js';
import { PUBLIC_NODES } from './public-nodes.js';
import { session, type ChainToAdd, type Session } from './session.js';
import { WalletCard } from './wallet-card.js';
import { discoverWallets, wallets } from './wallets.js';

/** What the page reads once. */
interface Facts {
  readonly info: ChainInfo;
  readonly markets: readonly Market[];
  readonly sandbox: SandboxFacts | null;
}

async function readFacts({ base, facts }: PageContext, signal: AbortSignal): Promise<Answer<Facts>> {
  const [info, markets, sandbox] = await Promise.all([
    request<ChainInfo>(base, { signal }),
    request<{ data: readonly Market[] }>(`${base}/markets`, { signal }),
    facts.mode === 'sandbox' ? request<SandboxFacts>('/sandbox', { signal }) : null,
  ]);
  if (!info.ok) return info;
  if (!markets.ok) return markets;
  // A sandbox that is reached from another machine has no demo wallets; everything else works.
  return { ...info, data: { info: info.data, markets: markets.data.data, sandbox: sandbox?.ok === true ? sandbox.data : null } };
}

function Connect(page: PageContext) {
  const chain = useMemo(() => chainFacts(page.chain), [page.chain]);
  const { load, refresh } = useResource(page.chain, (signal) => readFacts(page, signal));
  useEffect(discoverWallets, []);
  return (
    <div class="connect">
      <h1>Connect a wallet and an agent</h1>
      <p class="lead">
        From an empty wallet to the first fill. Your funds stay in your wallet and in the contracts; the gateway holds neither your keys nor
        your money.
      </p>
      {chain === null ? (
        <p>This page does not know the chain {page.chain}.</p>
      ) : load.value.data === null ? (
        <Panel title="1 · Wallet" load={load.value} rows={4} onRetry={refresh}>
          {() => null}
        </Panel>
      ) : (
        <Ready page={page} chain={chain} facts={load.value.data} />
      )}
      <BotSettings page={page} address={session.value?.address ?? null} />
    </div>
  );
}

interface ReadyProps {
  readonly page: PageContext;
  readonly chain: ChainFacts & { readonly slug: string };
  readonly facts: Facts;
}

function Ready({ page, chain, facts }: ReadyProps) {
  const { sandbox } = facts;
  const demo = useMemo(() => (sandbox === null ? [] : demoWallets(sandbox, chain.slug, chain)), [sandbox, chain]);
  const wanted = useMemo(() => chainToAdd(chain, sandbox), [chain, sandbox]);
  const now = session.value;
  return (
    <>
      <WalletCard found={wallets.value} demo={demo} session={now} wanted={wanted} chain={chain.slug} isSandbox={sandbox !== null} />
      {now?.chainId === chain.chainId ? <Cards key={now.address} page={page} chain={chain} facts={facts} now={now} /> : null}
    </>
  );
}

function chainToAdd(chain: ChainFacts & { readonly slug: string }, sandbox: SandboxFacts | null): ChainToAdd {
  const own = sandbox?.chains.find((one) => one.chain === chain.slug);
  return {
    chainId: chain.chainId,
    name: own === undefined ? chainName(chain.slug) : `${chainName(chain.slug)} (sandbox)`,
    nativeSymbol: chain.nativeSymbol,
    rpcUrl: own?.rpcUrl ?? PUBLIC_NODES[chain.slug] ?? null,
  };
}

const READ_MS = 5_000;
const NO_KEYS: AgentKeys = { native: null, hyperliquid: null };

/** Everything that needs an account; begun anew for another one, so that no key outlives its wallet. */
function Cards({ page, chain, facts, now }: ReadyProps & { readonly now: Session }) {
  const keys = useSignal(NO_KEYS);
  const door = useSignal<Door>('native');
  const readiness = useResource(now.address, (signal) => readReadiness(page.base, now.address, signal), READ_MS);
  const desk: Desk = { page, chain, ...facts, session: now, readiness, keys, door };
  return (
    <>
      <h2 class="section-title">2 · What is missing</h2>
      <Columns desk={desk} />
      <AgentCard desk={desk} />
      <FirstOrderCard desk={desk} />
      <div class="two-columns">
        <AgentsCard desk={desk} />
        <ApiKeysCard desk={desk} />
      </div>
    </>
  );
}

mountPage('connect', Connect, { hasStream: false });
