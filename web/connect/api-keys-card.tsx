import { useSignal } from '@preact/signals';
import type { ApiKey } from '@diamond-gateway/client/api';
import { createClient } from '@diamond-gateway/client';
import { apiKeyRequest, masterTypedData, type MasterWish } from '@diamond-gateway/client/master';
import { request, type Answer } from '../api/request.js';
import { useResource } from '../api/resource.js';
import { formatUtc } from '../ui/format.js';
import { Panel } from '../ui/panel.js';
import { keepInTab, keptInTab } from '../ui/tab-storage.js';
import { clockOffset } from './agent-wish.js';
import type { Desk } from './desk.js';
import { KeyCard } from './key-card.js';
import { signTypedData } from './session.js';
import { problemOf, StepNote, take, useAction } from './steps.js';

const DAY_MS = 86_400_000;
const KEY_DAYS = 30;
/** Where the account page looks for its key. */
const slotOf = (chain: string): string => `api-key ${chain}`;

interface Listed {
  /** Null while the page has no credential that may read it. */
  readonly list: readonly ApiKey[] | null;
}

interface Held {
  readonly trader: string;
  readonly label: string;
  readonly key: string;
}

/** Keys that read the account. Listing them takes a credential, so the page lists them once it has made one. */
export function ApiKeysCard({ desk }: { readonly desk: Desk }) {
  const { page, session } = desk;
  const held = useSignal<Held | null>(null);
  const reader = held.value?.trader === session.address ? held.value.key : null;
  const shown = useSignal<string | null>(null);
  const keys = useResource<Listed>(`${session.address} ${reader}`, () => listKeys(desk, reader));
  /** The key that reads the list may be the one that has ended. */
  const forget = (label: string): void => {
    if (held.value?.label !== label) return keys.refresh();
    keepInTab(slotOf(page.chain), null);
    held.value = null;
  };
  return (
    <Panel title="API keys" load={keys.load.value} rows={2} onRetry={keys.refresh}>
      {({ list }) => (
        <div class="card-body">
          <p>An API key reads this account: balances, positions, orders, fills. It cannot trade, and it cannot withdraw.</p>
          {shown.value === null ? (
            <NewKey
              desk={desk}
              onKey={(key, label) => {
                shown.value = key;
                held.value = { trader: session.address, label, key };
              }}
            />
          ) : (
            <KeyCard
              secret={shown.value}
              file={`api-key-${page.chain}.txt`}
              what="API key"
              onStored={() => {
                keepInTab(slotOf(page.chain), shown.value);
                shown.value = null;
              }}
            />
          )}
          {held.value !== null && keptInTab(slotOf(page.chain)) === held.value.key && page.facts.pages['account'] !== undefined ? (
            <p>
              The account page of this tab uses the key: <a href={page.facts.pages['account']}>open the account</a>.
            </p>
          ) : null}
          {list === null ? (
            <p class="muted">The list of keys is shown once this page has one: it takes a credential to read it.</p>
          ) : (
            <ul class="rows">
              {list.map((key) => (
                <KeyRow key={key.label} desk={desk} apiKey={key} onGone={() => forget(key.label)} />
              ))}
            </ul>
          )}
        </div>
      )}
    </Panel>
  );
}

async function listKeys({ page, chain, session }: Desk, apiKey: string | null): Promise<Answer<Listed>> {
  const done = (list: Listed['list']) => ({ ok: true, status: 200, data: { list }, requestId: null }) as const;
  if (apiKey === null) return done(null);
  try {
    const client = createClient({ url: location.origin, chain, apiKey, trader: session.address, headerPrefix: page.facts.headerPrefix });
    return done((await client.listApiKeys()).data);
  } catch (error) {
    return { ok: false, problem: problemOf(error) };
  }
}

async function signedBy({ page, chain, info, session }: Desk, wishOf: (timestamp: number) => MasterWish) {
  const wish = wishOf(Date.now() + (await clockOffset(page.base)));
  return signTypedData(session, masterTypedData({ serviceName: info.signing.domain.name, chain }, wish)).then((signature) => ({
    wish,
    signature,
  }));
}

function NewKey({ desk, onKey }: { readonly desk: Desk; readonly onKey: (key: string, label: string) => void }) {
  const label = useSignal('account page');
  const action = useAction();
  const issue = (event: Event): void => {
    event.preventDefault();
    action.start(async (report) => {
      report({ kind: 'wallet', text: 'sign the ApiKeyIssue. It costs nothing and moves nothing.' });
      const { wish, signature } = await signedBy(desk, (timestamp) => ({
        type: 'ApiKeyIssue',
        label: label.value,
        timestamp,
        expiresAt: timestamp + KEY_DAYS * DAY_MS,
      }));
      if (wish.type !== 'ApiKeyIssue') throw new Error('Another message was signed.');
      report({ kind: 'working', text: 'Issuing the key…' });
      const body = apiKeyRequest(wish, { trader: desk.session.address, signature });
      const { apiKey } = take(await request<{ apiKey: string }>(`${desk.page.base}/api-keys`, { method: 'POST', body }));
      onKey(apiKey, wish.label);
      return { text: 'Issued.' };
    });
  };
  return (
    <form class="inline-form" onSubmit={issue} noValidate>
      <label class="field">
        Label
        <input
          value={label.value}
          maxLength={64}
          autoComplete="off"
          onInput={({ currentTarget }) => void (label.value = currentTarget.value)}
        />
      </label>
      <button type="submit" class="button" disabled={action.isBusy || label.value === ''}>
        Make a key for {KEY_DAYS} days
      </button>
      <p class="form-note muted">The same label replaces the older key.</p>
      <StepNote step={action.step.value} />
    </form>
  );
}

function KeyRow({ desk, apiKey, onGone }: { readonly desk: Desk; readonly apiKey: ApiKey; readonly onGone: () => void }) {
  const action = useAction();
  const remove = (): void =>
    action.start(async (report) => {
      report({ kind: 'wallet', text: `sign that the key “${apiKey.label}” ends.` });
      const { wish, signature } = await signedBy(desk, (timestamp) => ({ type: 'ApiKeyRevocation', label: apiKey.label, timestamp }));
      const body = { trader: desk.session.address, label: apiKey.label, timestamp: wish.timestamp, signature };
      take(await request(`${desk.page.base}/api-keys`, { method: 'DELETE', body }));
      onGone();
      return { text: 'The key no longer reads anything.' };
    });
  return (
    <li class="row">
      <div class="row-text">
        <strong>{apiKey.label}</strong>{' '}
        <span class="muted">{apiKey.expiresAt === null ? 'no expiry' : `until ${formatUtc(apiKey.expiresAt)}`}</span>
        <StepNote step={action.step.value} />
      </div>
      <button type="button" class="button danger" disabled={action.isBusy} onClick={remove}>
        Revoke
      </button>
    </li>
  );
}
