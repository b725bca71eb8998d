import { useSignal } from '@preact/signals';
import type { Hex, Market } from '@diamond-gateway/client/api';
import { scaled } from '../ui/format.js';
import { Tabs } from '../ui/tabs.js';
import { Address } from '../ui/values.js';
import { API_NAMES, type Desk, type Api } from './desk.js';
import { linesOf } from './lines.js';
import { collateralFor, takesDollars } from './order-amounts.js';
import { placeHyperliquid, placeNative, type OrderWish, type Passed } from './place-order.js';
import { StepNote, useAction } from './steps.js';
import { agentFromKey } from '@diamond-gateway/client/agent';

const APIS: readonly Api[] = ['native', 'hyperliquid'];
const KEY = /^0x[0-9a-fA-F]{64}$/;

/** A market order with the agent's key, each step shown as it passes. */
export function FirstOrderCard({ desk }: { readonly desk: Desk }) {
  const api = desk.api.value;
  return (
    <section class="panel" aria-labelledby="order-title" id="order-card" data-state="ready">
      <div class="panel-head">
        <h2 id="order-title">4 · First order</h2>
      </div>
      <Tabs
        label="API of the order"
        tabs={APIS.map((name) => ({ name, title: API_NAMES[name] }))}
        chosen={api}
        onChoose={(name) => void (desk.api.value = name)}
      >
        <OrderSteps key={`${api} ${desk.session.address}`} desk={desk} api={api} />
      </Tabs>
    </section>
  );
}

function OrderSteps({ desk, api }: { readonly desk: Desk; readonly api: Api }) {
  const found = desk.readiness.load.value.data;
  const key = desk.keys.value[api];
  const missing = found === null ? [] : linesOf(found, api).filter(({ ok }) => !ok);
  const markets = desk.markets.filter(({ isOpen }) => isOpen);
  const [first] = markets;
  return (
    <div class="card-body">
      <p>
        {api === 'native'
          ? 'The gateway prepares a transaction. This page checks it against your order and against your wallet’s node, the agent signs it, and it goes to the chain through that node.'
          : 'This page signs the order with the agent’s key as every Hyperliquid bot does. The relayer sends it to the chain and pays the gas.'}
      </p>
      {key === null ? (
        <PasteKey onKey={(pasted) => void (desk.keys.value = { ...desk.keys.value, [api]: pasted })} />
      ) : (
        <KeyHeld secret={key} />
      )}
      {missing.length === 0 ? null : (
        <p class="warn">
          Not ready yet. Still marked ✗ above, under {API_NAMES[api]}: {missing.length}.
        </p>
      )}
      {first === undefined ? (
        <p>No market is open now. Orders can be placed when one opens.</p>
      ) : (
        <OrderForm
          desk={desk}
          api={api}
          markets={markets}
          usual={usualOf(markets) ?? first}
          secret={key}
          isReady={missing.length === 0 && found !== null}
        />
      )}
    </div>
  );
}

const usualOf = (markets: readonly Market[]): Market | undefined => markets.find(({ symbol }) => symbol === 'BTC/USD');

/** Only the address is shown: the key itself was shown once. */
function KeyHeld({ secret }: { readonly secret: Hex }) {
  return (
    <p class="muted">
      Agent <Address value={agentFromKey(secret).address} label="Copy agent" /> signs. Its key is in the memory of this tab only; it can
      trade, and it cannot withdraw.
    </p>
  );
}

function PasteKey({ onKey }: { readonly onKey: (key: Hex) => void }) {
  const text = useSignal('');
  const isKey = KEY.test(text.value);
  const use = (event: Event): void => {
    event.preventDefault();
    if (isKey) onKey(text.value as Hex);
  };
  return (
    <form class="inline-form" onSubmit={use} noValidate>
      <p class="form-note">Make an agent above, or use one that you stored. The key stays in the memory of this tab; it is not sent.</p>
      <label class="field grow">
        Agent key
        <input
          type="password"
          autoComplete="off"
          spellcheck={false}
          placeholder="0x…"
          value={text.value}
          onInput={({ currentTarget }) => void (text.value = currentTarget.value.trim())}
        />
      </label>
      <button type="submit" class="button" disabled={!isKey}>
        Use this key
      </button>
    </form>
  );
}

interface OrderFormProps {
  readonly desk: Desk;
  readonly api: Api;
  readonly markets: readonly Market[];
  readonly usual: Market;
  readonly secret: Hex | null;
  readonly isReady: boolean;
}

const NUMBER = /^(?:0|[1-9]\d{0,11})(?:\.\d{1,8})?$/;
const CENTS = 2;
const LEVERAGE = '10';
/** Play-sized, and so far above the least position and the least collateral that a move of the price does not fall below them. */
const ROOM = { over: 6n, under: 5n } as const;
const USUAL_USD = 100n;

function smallest(market: Market): string {
  const least = [
    scaled(market.minPositionUsd, 0) + 1n,
    (scaled(market.minCollateralUsd, CENTS) * scaled(leverageFor(market), 0)) / 100n + 1n,
  ];
  return String(least.reduce((most, one) => ((one * ROOM.over) / ROOM.under > most ? (one * ROOM.over) / ROOM.under : most), USUAL_USD));
}

function leverageFor({ minLeverage, maxLeverage }: Market): string {
  const [least, most, usual] = [minLeverage, maxLeverage, LEVERAGE].map((text) => scaled(text, CENTS)) as [bigint, bigint, bigint];
  return usual < least ? minLeverage : usual > most ? maxLeverage : LEVERAGE;
}

function OrderForm({ desk, api, markets, usual, secret, isReady }: OrderFormProps) {
  const wish = useSignal<OrderWish>({ market: usual.symbol, side: 'long', usd: smallest(usual), leverage: leverageFor(usual) });
  const passed = useSignal<readonly Passed[]>([]);
  const action = useAction();
  const { market, side, usd, leverage } = wish.value;
  const chosen = markets.find(({ symbol }) => symbol === market) ?? usual;
  const set = (part: Partial<OrderWish>): void => void (wish.value = { ...wish.value, ...part });
  const isComplete = [usd, leverage].every((text) => NUMBER.test(text) && /[1-9]/.test(text));
  const place = (event: Event): void => {
    event.preventDefault();
    if (secret === null || !isComplete || !isReady) return;
    passed.value = [];
    const note = (one: Passed): void => void (passed.value = [...passed.value, one]);
    action.start((report) =>
      api === 'native'
        ? placeNative(desk, chosen, wish.value, secret, note, report)
        : placeHyperliquid(desk, wish.value, secret, note, report),
    );
  };
  return (
    <>
      <form class="inline-form" onSubmit={place} noValidate>
        <label class="field">
          Market
          <select
            value={market}
            onChange={({ currentTarget: { value } }) => {
              const next = markets.find(({ symbol }) => symbol === value) ?? usual;
              set({ market: next.symbol, usd: smallest(next), leverage: leverageFor(next) });
            }}
          >
            {markets.map(({ symbol }) => (
              <option key={symbol} value={symbol}>
                {symbol}
              </option>
            ))}
          </select>
        </label>
        <label class="field">
          Side
          <select value={side} onChange={({ currentTarget: { value } }) => set({ side: value === 'short' ? 'short' : 'long' })}>
            <option value="long">long (buy)</option>
            <option value="short">short (sell)</option>
          </select>
        </label>
        <label class="field">
          Position in USD
          <input
            value={usd}
            inputMode="decimal"
            autoComplete="off"
            onInput={({ currentTarget }) => set({ usd: currentTarget.value.trim() })}
          />
        </label>
        {api === 'hyperliquid' ? null : (
          <label class="field">
            Leverage
            <input
              value={leverage}
              inputMode="decimal"
              autoComplete="off"
              onInput={({ currentTarget }) => set({ leverage: currentTarget.value.trim() })}
            />
          </label>
        )}
        <button type="submit" class="button main" disabled={secret === null || !isReady || !isComplete || action.isBusy}>
          Place the order
        </button>
      </form>
      {api === 'native' && isComplete && takesDollars(chosen) ? (
        <p class="muted">
          Takes about ${collateralFor(usd, leverage)} of collateral from the wallet, and never more than a tenth above that.
        </p>
      ) : null}
      {passed.value.length === 0 ? null : (
        <ol class="passed" aria-label="Steps of the order">
          {passed.value.map(({ title, detail }) => (
            <li key={title} data-passed={title}>
              <strong>{title}</strong> <span class="muted">{detail}</span>
            </li>
          ))}
        </ol>
      )}
      <StepNote step={action.step.value} />
    </>
  );
}
