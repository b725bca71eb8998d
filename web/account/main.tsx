import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { request } from '../api/request.js';
import { useResource, type Load } from '../api/resource.js';
import { isPassing, type Link } from '../api/socket.js';
import { ProblemNote } from '../ui/panel.js';
import { mountPage, type PageContext } from '../ui/shell.js';
import { keepInTab, keptInTab } from '../ui/tab-storage.js';
import { Tabs } from '../ui/tabs.js';
import { isOpen, openAccount, problemOf, type AccountModel, type Reader } from './account-model.js';
import { digitsOf, DigitsContext } from './digits.js';
import { Fills } from './fills.js';
import { Journal } from './journal.js';
import { KeyPrompt } from './key-prompt.js';
import { Orders } from './orders.js';
import { Positions } from './positions.js';
import { Summary } from './summary.js';
import type { MarketDigits } from './types.js';

const slotOf = (chain: string): string => `api-key ${chain}`;

/** A key belongs to one chain. Whose it is, the stream says when it is shown the key. */
function AccountPage({ facts, chain, base, link }: PageContext) {
  const apiKey = useSignal(keptInTab(slotOf(chain)));
  const key = apiKey.value;
  useEffect(() => link?.authenticate(key), [link, key]);
  if (link === null) return null;
  const { trader, problem } = link.login.value;
  const setKey = (next: string | null): void => {
    keepInTab(slotOf(chain), next);
    // The same key again is asked for again: what refused it may have passed.
    if (next !== null && next === apiKey.peek()) link.authenticate(next);
    apiKey.value = next;
  };
  const connectPath = facts.pages['connect'] ?? null;
  if (key === null || (trader === null && problem !== null && !isPassing(problem)))
    return (
      <KeyPrompt
        base={base}
        isSandbox={facts.mode === 'sandbox'}
        connectPath={connectPath}
        problem={problem === null ? null : problemOf(problem)}
        isAsking={false}
        onKey={setKey}
      />
    );
  return (
    <SignedIn
      link={link}
      base={base}
      apiKey={key}
      headerPrefix={facts.headerPrefix}
      connectPath={connectPath}
      onForget={() => setKey(null)}
    />
  );
}

interface SignedInProps extends Omit<Reader, 'trader'> {
  readonly link: Link;
  readonly base: string;
  readonly connectPath: string | null;
  readonly onForget: () => void;
}

/** Stays through a cut of the stream: what was shown is dimmed, not taken away. */
function SignedIn({ link, base, apiKey, headerPrefix, connectPath, onForget }: SignedInProps) {
  const known = useSignal<string | null>(null);
  const { trader, problem } = link.login.value;
  useEffect(() => {
    if (trader !== null) known.value = trader;
  }, [trader]);
  const owner = known.value;
  const model = useMemo(
    () => (owner === null ? null : openAccount(link, base, { trader: owner, apiKey, headerPrefix })),
    [link, base, owner, apiKey],
  );
  useEffect(() => () => model?.close(), [model]);
  const { load } = useResource(base, (abort) => request<{ data: readonly MarketDigits[] }>(`${base}/markets`, { signal: abort }));
  const digits = useMemo(() => digitsOf(load.value.data?.data ?? []), [load.value.data]);
  if (model === null || owner === null)
    return (
      <>
        <p class="muted">Asking whose key this is…</p>
        {problem === null ? null : <ProblemNote problem={problemOf(problem)} onRetry={() => link.authenticate(apiKey)} />}
      </>
    );
  return (
    <DigitsContext.Provider value={digits}>
      <Opened model={model} link={link} trader={owner} connectPath={connectPath} onForget={onForget} />
    </DigitsContext.Provider>
  );
}

interface OpenedProps {
  readonly model: AccountModel;
  readonly link: Link;
  readonly trader: string;
  readonly connectPath: string | null;
  readonly onForget: () => void;
}

type TabName = 'positions' | 'orders' | 'fills' | 'journal';

function Opened({ model, link, trader, connectPath, onForget }: OpenedProps) {
  const chosen = useSignal<TabName>('positions');
  const isCut = link.state.value === 'STALE' || link.state.value === 'LOST';
  /** What was shown was true until the line was cut, however long ago it last changed. */
  const held = <Data,>(load: Load<Data>): Load<Data> =>
    isCut && load.at !== null ? { ...load, at: Math.max(load.at, link.changedAt.value) } : load;
  const { positions, orders, fills, journal } = model;
  const orderRows = orders.load.value.data;
  const fillRows = fills.load.value.data;
  const tabs = [
    { name: 'positions', title: 'Positions', count: countOf(positions.value.data?.length) },
    { name: 'orders', title: 'Orders', count: orderRows === null ? undefined : `${orderRows.filter(isOpen).length} open` },
    { name: 'fills', title: 'Fills', count: fillRows === null ? undefined : `${fillRows.length}${fills.hasOlder.value ? '+' : ''}` },
    { name: 'journal', title: 'Journal', count: countOf(journal.newest.value ?? undefined) },
  ] as const;
  return (
    <>
      <h1 class="offscreen">Account</h1>
      <Summary
        account={held(model.account.value)}
        positions={positions.value}
        trader={trader}
        isCut={isCut}
        onForget={onForget}
        connectPath={connectPath}
      />
      <Tabs label="Of this account" tabs={tabs} chosen={chosen.value} onChoose={(name) => void (chosen.value = name)}>
        {chosen.value === 'positions' ? <Positions load={held(positions.value)} isCut={isCut} /> : null}
        {chosen.value === 'orders' ? <Orders model={model} load={held(orders.load.value)} isCut={isCut} /> : null}
        {chosen.value === 'fills' ? <Fills fills={fills} load={held(fills.load.value)} isCut={isCut} /> : null}
        {chosen.value === 'journal' ? <Journal journal={journal} load={held(journal.load.value)} isCut={isCut} /> : null}
      </Tabs>
    </>
  );
}

const countOf = (count: number | undefined): string | undefined => count?.toLocaleString('en-US');

mountPage('account', AccountPage);
