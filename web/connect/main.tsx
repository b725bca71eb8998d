import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import type { ChainInfo, Market } from '@diamond-gateway/client/api';
import type { ChainFacts } from '@diamond-gateway/client/chains';
import { request, type Answer, type Problem } from '../api/request.js';
import { useResource } from '../api/resource.js';
import { chainName } from '../ui/format.js';
import { Panel, ProblemNote } from '../ui/panel.js';
import { mountPage, type PageContext } from '../ui/shell.js';
import { AgentCard } from './agent-card.js';
import { AgentsCard } from './agents-card.js';
import { ApiKeysCard } from './api-keys-card.js';
import { BotSettings } from './bot-settings.js';
import { Columns } from './columns.js';
import { demoWallets, type SandboxFacts } from './demo-wallet.js';
import { chainFacts, readReadiness, type AgentKeys, type Desk, type Api } from './desk.js';
import { FirstOrderCard } from './first-order-card.js';
import { useNodeCheck, verdictOf } from './node-check.js';
import { PUBLIC_NODES } from './public-nodes.js';
import { session, type ChainToAdd, type Session } from './session.js';
import { WalletCard } from './wallet-card.js';
import { discoverWallets, wallets } from './wallets.js';

/** What the page reads once. */
interface Facts {
  readonly info: ChainInfo;
  readonly markets: readonly Market[];
  readonly sandbox: SandboxFacts | null;
  /** Why a sandbox does not show its facts to this page. */
  readonly refusal: Problem | null;
}

async function readFacts({ base, facts }: PageContext, signal: AbortSignal): Promise<Answer<Facts>> {
  const [info, markets, sandbox] = await Promise.all([
    request<ChainInfo>(base, { signal }),
    request<{ data: readonly Market[] }>(`${base}/markets`, { signal }),
    facts.mode === 'sandbox' ? request<SandboxFacts>('/sandbox', { signal }) : null,
  ]);
  if (!info.ok) return info;
  if (!markets.ok) return markets;
  const refusal = sandbox === null || sandbox.ok ? null : sandbox.problem;
  return { ...info, data: { info: info.data, markets: markets.data.data, sandbox: sandbox?.ok === true ? sandbox.data : null, refusal } };
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
      ) : load.value.data.refusal === null ? (
        <Ready page={page} chain={chain} facts={load.value.data} />
      ) : (
        <Blocked refusal={load.value.data.refusal} onRetry={refresh} />
      )}
      <BotSettings page={page} address={session.value?.address ?? null} />
    </div>
  );
}

/** Without the sandbox's facts nothing tells its node from one of the real chain. */
function Blocked({ refusal, onRetry }: { readonly refusal: Problem; readonly onRetry: () => void }) {
  return (
    <section class="panel" aria-labelledby="blocked-title" data-state="error">
      <div class="panel-head">
        <h2 id="blocked-title">1 · Wallet</h2>
      </div>
      <div class="card-body">
        <p>
          This gateway is a sandbox, and it shows its node and its demo wallets to pages on its own machine only. A sandbox has the chain
          ids and addresses of real chains, so a wallet that is connected here could act on the real chain. Open this page on the machine
          that runs the sandbox.
        </p>
        <ProblemNote problem={refusal} onRetry={onRetry} />
      </div>
    </section>
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
  const isSandbox = page.facts.mode === 'sandbox';
  const wanted = useMemo(() => chainToAdd(chain, sandbox, isSandbox), [chain, sandbox, isSandbox]);
  const now = session.value;
  const isOnChain = now?.chainId === chain.chainId;
  useNodeCheck(isOnChain ? now : null, chain.slug, isSandbox);
  const mayAct = now !== null && isOnChain && (!isSandbox || verdictOf(now) === false);
  return (
    <>
      <WalletCard found={wallets.value} demo={demo} session={now} wanted={wanted} chain={chain.slug} isSandbox={isSandbox} />
      {mayAct ? <Cards key={now.address} page={page} chain={chain} facts={facts} now={now} /> : null}
    </>
  );
}

/** The public nodes belong to the real chains: in a sandbox a wallet is offered the sandbox's node or none. */
function chainToAdd(chain: ChainFacts & { readonly slug: string }, sandbox: SandboxFacts | null, isSandbox: boolean): ChainToAdd {
  const own = sandbox?.chains.find((one) => one.chain === chain.slug);
  return {
    chainId: chain.chainId,
    name: isSandbox ? `${chainName(chain.slug)} (sandbox)` : chainName(chain.slug),
    nativeSymbol: chain.nativeSymbol,
    rpcUrl: isSandbox ? (own?.rpcUrl ?? null) : (PUBLIC_NODES[chain.slug] ?? null),
  };
}

const READ_MS = 5_000;
const NO_KEYS: AgentKeys = { native: null, hyperliquid: null };

/** Everything that needs an account; begun anew for another one, so that no key outlives its wallet. */
function Cards({ page, chain, facts, now }: ReadyProps & { readonly now: Session }) {
  const keys = useSignal(NO_KEYS);
  const api = useSignal<Api>('native');
  const readiness = useResource(now.address, (signal) => readReadiness(page.base, now.address, signal), READ_MS);
  const desk: Desk = { page, chain, ...facts, session: now, readiness, keys, api };
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
