import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { Problem } from '../api/request.js';
import { mountPage, type PageContext } from '../ui/shell.js';
import { keepInTab, keptInTab } from '../ui/tab-storage.js';
import { Adoptions } from './adoptions.js';
import { Deliveries, PastAlerts } from './deliveries.js';
import { Gas } from './gas.js';
import { History } from './history.js';
import { Lanes } from './lanes.js';
import { OpenAlerts } from './open-alerts.js';
import { createOperatorApi, OperatorContext, useOperatorResource } from './operator-api.js';
import { Quotas } from './quotas.js';
import { SwitchDialog, type SwitchRequest } from './switch-dialog.js';
import { Switches } from './switches.js';
import { TokenPrompt } from './token-prompt.js';
import type { Alerts, ChainStatus, Status } from './types.js';
import { Wallets, type WalletChoice } from './wallets.js';

const SLOT = 'operator token';
const STATUS_MS = 5_000;
const ALERTS_MS = 10_000;

const REFUSED: Problem = {
  status: 401,
  code: 'UNAUTHENTICATED',
  message: 'The gateway does not take this token any more.',
  details: {},
  requestId: null,
  retryAfterSeconds: null,
};

function OperatorPage({ facts, chain }: PageContext) {
  const token = useSignal(keptInTab(SLOT));
  const problem = useSignal<Problem | null>(null);
  const setToken = (next: string | null, why: Problem | null): void => {
    keepInTab(SLOT, next);
    problem.value = why;
    token.value = next;
  };
  const given = token.value;
  const api = useMemo(() => (given === null ? null : createOperatorApi(given, () => setToken(null, REFUSED))), [given]);
  if (api === null)
    return <TokenPrompt isSandbox={facts.mode === 'sandbox'} problem={problem.value} onToken={(next) => setToken(next, null)} />;
  return (
    <OperatorContext.Provider value={api}>
      <Opened firstChain={chain} isReal={facts.mode !== 'sandbox'} onForget={() => setToken(null, null)} />
    </OperatorContext.Provider>
  );
}

interface OpenedProps {
  readonly firstChain: string;
  readonly isReal: boolean;
  readonly onForget: () => void;
}

function Opened({ firstChain, isReal, onForget }: OpenedProps) {
  const status = useOperatorResource<Status>('/status', STATUS_MS);
  const alerts = useOperatorResource<Alerts>('/alerts', ALERTS_MS);
  const asked = useSignal<WalletChoice | null>(null);
  const switching = useSignal<SwitchRequest | null>(null);
  const chains = status.load.value.data?.chains ?? [];
  const chosen = asked.value ?? firstWallet(chains, firstChain);
  const chain = chains.find((one) => one.chain === chosen?.chain) ?? null;
  return (
    <>
      <div class="page-title">
        <h1>Operator</h1>
        <button type="button" class="button small" onClick={onForget}>
          Forget this token
        </button>
      </div>
      <OpenAlerts alerts={alerts} />
      <Adoptions />
      <Wallets
        status={status}
        chosen={chosen}
        onChoose={(choice) => void (asked.value = choice)}
        onSwitch={(where, wallet, mode) => void (switching.value = { chain: where, wallet: wallet.address, mode })}
      />
      {chain === null || chosen === null ? null : <History key={chosen.address} chain={chain} address={chosen.address} />}
      <Lanes status={status} />
      {chain === null ? null : (
        <>
          <Gas key={`gas ${chain.chain}`} chain={chain} />
          <Quotas key={`quotas ${chain.chain}`} chain={chain} />
        </>
      )}
      <Deliveries alerts={alerts} />
      <PastAlerts alerts={alerts} />
      <Switches status={status} onSwitch={(request) => void (switching.value = request)} />
      {switching.value === null ? null : (
        <SwitchDialog
          request={switching.value}
          isReal={isReal}
          onClose={() => void (switching.value = null)}
          onDone={() => {
            switching.value = null;
            status.refresh();
          }}
        />
      )}
    </>
  );
}

/** A wallet of the chain in the header, else of any. */
function firstWallet(chains: readonly ChainStatus[], slug: string): WalletChoice | null {
  const served = chains.filter(({ wallets }) => wallets.length > 0);
  const chain = served.find((one) => one.chain === slug) ?? served[0];
  const wallet = chain?.wallets[0];
  return chain === undefined || wallet === undefined ? null : { chain: chain.chain, address: wallet.address };
}

mountPage('operator', OperatorPage);
