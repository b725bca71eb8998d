import { useSignal, type Signal } from '@preact/signals';
import { newAgentKey } from '@diamond-gateway/client/agent';
import type { Hex } from '@diamond-gateway/client/api';
import { Tabs } from '../ui/tabs.js';
import { allows, faultOf, FORBIDS, nameFor, NEW_WISH, registerAgent, type AgentWish } from './agent-wish.js';
import { API_NAMES, type Desk, type Api } from './desk.js';
import { KeyCard } from './key-card.js';
import { StepNote, useAction } from './steps.js';

const APIS: readonly Api[] = ['native', 'hyperliquid'];

/** A key made here, shown once, and registered with a signature of the wallet. */
export function AgentCard({ desk }: { readonly desk: Desk }) {
  const api = desk.api.value;
  return (
    <section class="panel" id="agent-card" aria-labelledby="agent-title" data-state="ready">
      <div class="panel-head">
        <h2 id="agent-title">3 · Agent</h2>
      </div>
      <Tabs
        label="API of the agent"
        tabs={APIS.map((name) => ({ name, title: API_NAMES[name] }))}
        chosen={api}
        onChoose={(name) => void (desk.api.value = name)}
      >
        <AgentSteps key={api} desk={desk} api={api} />
      </Tabs>
    </section>
  );
}

type Stage = { readonly kind: 'form' } | { readonly kind: 'key' | 'sign'; readonly key: Hex };

function AgentSteps({ desk, api }: { readonly desk: Desk; readonly api: Api }) {
  const wish = useSignal<AgentWish>(NEW_WISH);
  const stage = useSignal<Stage>({ kind: 'form' });
  const now = stage.value;
  const hold = (key: Hex): void => {
    desk.keys.value = { ...desk.keys.value, [api]: key };
    stage.value = { kind: 'sign', key };
  };
  if (api === 'hyperliquid' && desk.info.relayer === null)
    return <p class="card-body">No relayer serves this chain, so its Hyperliquid API takes no orders. Use the native API.</p>;
  return (
    <div class="card-body">
      <p>
        An agent is a second key that trades for your wallet. The key is made in this browser and sent nowhere; the gateway learns its
        address alone.
      </p>
      {now.kind === 'form' ? (
        <WishForm api={api} wish={wish} onMake={() => void (stage.value = { kind: 'key', key: newAgentKey() })} />
      ) : now.kind === 'key' ? (
        <KeyCard secret={now.key} file={`agent-${api}-${desk.chain.slug}.txt`} onStored={() => hold(now.key)} />
      ) : (
        <Signing desk={desk} api={api} wish={wish.value} secret={now.key} onAgain={() => void (stage.value = { kind: 'form' })} />
      )}
    </div>
  );
}

interface WishFormProps {
  readonly api: Api;
  readonly wish: Signal<AgentWish>;
  readonly onMake: () => void;
}

const EXPIRIES: readonly (readonly [label: string, days: number | null])[] = [
  ['1 day', 1],
  ['7 days', 7],
  ['30 days', 30],
  ['90 days', 90],
  ['no expiry', null],
];

function WishForm({ api, wish, onMake }: WishFormProps) {
  const { name, days, markets, maxLeverage, dailyCapUsd, permissions } = wish.value;
  const set = (part: Partial<AgentWish>): void => void (wish.value = { ...wish.value, ...part });
  const fault = faultOf(api, wish.value);
  const make = (event: Event): void => {
    event.preventDefault();
    if (fault === null) onMake();
  };
  return (
    <form class="inline-form" onSubmit={make} noValidate>
      <label class="field">
        Name
        <input
          value={name}
          maxLength={api === 'native' ? 32 : 8}
          autoComplete="off"
          onInput={({ currentTarget }) => set({ name: currentTarget.value })}
        />
      </label>
      <label class="field">
        Expires after
        <select value={String(days)} onChange={({ currentTarget: { value } }) => set({ days: value === 'null' ? null : Number(value) })}>
          {EXPIRIES.map(([label, value]) => (
            <option key={label} value={String(value)}>
              {label}
            </option>
          ))}
        </select>
      </label>
      {api === 'hyperliquid' ? (
        <p class="form-note muted">
          An agent of the Hyperliquid API may trade every market: its approval has no field for narrower bounds.
        </p>
      ) : (
        <>
          <label class="field">
            May
            <select
              value={permissions}
              onChange={({ currentTarget: { value } }) => set({ permissions: value === 'read' ? 'read' : 'trade' })}
            >
              <option value="trade">trade and read</option>
              <option value="read">read only</option>
            </select>
          </label>
          <label class="field">
            Markets
            <input
              value={markets}
              placeholder="all"
              autoComplete="off"
              onInput={({ currentTarget }) => set({ markets: currentTarget.value })}
            />
          </label>
          <label class="field">
            Highest leverage
            <input
              value={maxLeverage}
              placeholder="no bound"
              inputMode="decimal"
              autoComplete="off"
              onInput={({ currentTarget }) => set({ maxLeverage: currentTarget.value.trim() })}
            />
          </label>
          <label class="field">
            USD a day
            <input
              value={dailyCapUsd}
              placeholder="no bound"
              inputMode="decimal"
              autoComplete="off"
              onInput={({ currentTarget }) => set({ dailyCapUsd: currentTarget.value.trim() })}
            />
          </label>
        </>
      )}
      {fault === null ? null : (
        <p class="form-note warn" role="alert">
          {fault}
        </p>
      )}
      <button type="submit" class="button main" disabled={fault !== null}>
        Make a key in this browser
      </button>
    </form>
  );
}

interface SigningProps {
  readonly desk: Desk;
  readonly api: Api;
  readonly wish: AgentWish;
  readonly secret: Hex;
  readonly onAgain: () => void;
}

function Signing({ desk, api, wish, secret, onAgain }: SigningProps) {
  const action = useAction();
  const isDone = action.step.value.kind === 'done';
  const sign = (): void => action.start((report) => registerAgent(desk, api, wish, secret, report));
  return (
    <>
      {isDone ? null : <PlainWords desk={desk} api={api} wish={wish} />}
      <div class="button-row">
        {isDone ? null : (
          <button type="button" class="button main" disabled={action.isBusy} onClick={sign}>
            Sign in the wallet
          </button>
        )}
        <button type="button" class="button" disabled={action.isBusy} onClick={onAgain}>
          {isDone ? 'Make another agent' : 'Start over with another key'}
        </button>
      </div>
      <StepNote step={action.step.value} />
    </>
  );
}

function PlainWords({ desk, api, wish }: Pick<SigningProps, 'desk' | 'api' | 'wish'>) {
  return (
    <div class="plain-words">
      <h3>What your wallet is about to sign</h3>
      <p>
        {api === 'native' ? 'An AgentAuthorization' : 'An approveAgent'} for the agent “{nameFor(desk, api, wish)}”. A signature, no
        transaction: it costs no gas.
      </p>
      <ul>
        {allows(api, wish).map((sentence) => (
          <li key={sentence} class="can">
            {sentence}
          </li>
        ))}
        <li class="cannot">{FORBIDS}</li>
      </ul>
      <p>You can revoke it at any time, on this page or on the chain.</p>
    </div>
  );
}
