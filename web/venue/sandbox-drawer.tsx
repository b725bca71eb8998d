import { useSignal, type Signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { request } from '../api/request.js';
import { changeBy } from '../ui/format.js';
import type { LivePrices } from './live-prices.js';
import type { Market } from './types.js';

interface DrawerProps {
  readonly chain: string;
  readonly market: Market | null;
  readonly prices: LivePrices;
}

/** What the last button did. */
type Said = { readonly isFault: boolean; readonly text: string } | null;

const GLIDE_MS = 10_000;
const REORG_DEPTH = 3;
const SLOW_MS = 2_000;

/** Controls of the play venue, visibly apart from what is real elsewhere. */
export function SandboxDrawer({ chain, market, prices }: DrawerProps) {
  const isOpen = useSignal(false);
  const said = useSignal<Said>(null);
  const id = useId();
  const tell = (path: string, body: object, done: string): void =>
    void request(`/sandbox/${path}`, { method: 'POST', body }).then((answer) => {
      said.value = answer.ok
        ? { isFault: false, text: done }
        : { isFault: true, text: `${answer.problem.code}: ${answer.problem.message}` };
    });
  return (
    <aside class={`drawer ${isOpen.value ? 'open' : ''}`} aria-label="Sandbox controls">
      <div class="drawer-head">
        <button type="button" class="button" aria-expanded={isOpen.value} aria-controls={id} onClick={() => (isOpen.value = !isOpen.value)}>
          {isOpen.value ? '▾' : '▴'} Sandbox controls
        </button>
        <span class={`drawer-said ${said.value?.isFault === true ? 'down' : ''}`} role="status">
          {said.value?.text ?? 'Move prices and break things: this venue is play money on your machine.'}
        </span>
        <button type="button" class="button" onClick={() => tell('reset', {}, 'Everything is as it was at the start.')}>
          Reset all
        </button>
      </div>
      <div id={id} class="drawer-body" hidden={!isOpen.value}>
        {market === null ? null : <PriceControls market={market} prices={prices} tell={tell} />}
        <OracleControls tell={tell} />
        <Group title="Feed and node">
          <Button onClick={() => tell('feed', { paused: true }, 'The price feed is silent; prices become stale.')}>Pause feed</Button>
          <Button onClick={() => tell('feed', { paused: false }, 'The price feed goes on.')}>Resume feed</Button>
          <Button onClick={() => tell('chain', { chain, action: 'rpc', mode: 'down' }, 'The gateway cannot reach its node.')}>
            Node down
          </Button>
          <Button
            onClick={() =>
              tell('chain', { chain, action: 'rpc', mode: 'slow', latencyMs: SLOW_MS }, `The node answers after ${SLOW_MS} ms.`)
            }
          >
            Node slow
          </Button>
          <Button onClick={() => tell('chain', { chain, action: 'rpc', mode: 'flaky' }, 'Every other call to the node fails.')}>
            Node flaky
          </Button>
          <Button onClick={() => tell('chain', { chain, action: 'rpc', mode: 'ok' }, 'The node answers again.')}>Node fine</Button>
        </Group>
        <Group title="Chain">
          <Button onClick={() => tell('chain', { chain, action: 'mine', blocks: 10 }, 'Ten blocks were mined.')}>Mine 10</Button>
          <Button onClick={() => tell('chain', { chain, action: 'mining', paused: true }, 'No block is mined any more.')}>
            Stop mining
          </Button>
          <Button onClick={() => tell('chain', { chain, action: 'mining', paused: false }, 'Blocks are mined again.')}>Go on</Button>
          <Button
            onClick={() => tell('chain', { chain, action: 'reorg', depth: REORG_DEPTH }, `The last ${REORG_DEPTH} blocks were replaced.`)}
          >
            Reorganise {REORG_DEPTH}
          </Button>
        </Group>
      </div>
    </aside>
  );
}

type Tell = (path: string, body: object, done: string) => void;

function PriceControls({ market, prices, tell }: { readonly market: Market; readonly prices: LivePrices; readonly tell: Tell }) {
  const wanted = useSignal('');
  const { symbol } = market;
  const move = (price: string, overMs?: number): void =>
    tell(
      'price',
      { market: symbol, price, ...(overMs === undefined ? {} : { overMs }) },
      overMs === undefined ? `${symbol} is at ${price} now.` : `${symbol} moves to ${price} within ${overMs / 1000} s.`,
    );
  const nudge = (percent: bigint): void => {
    const index = prices.of(symbol).peek()?.index;
    if (index !== undefined) move(changeBy(index, percent, market.pricePrecision));
  };
  return (
    <Group title={`Price of ${symbol}`}>
      <TextField label="New price" value={wanted} />
      <Button isOff={wanted.value.trim() === ''} onClick={() => move(wanted.value.trim())}>
        Jump
      </Button>
      <Button isOff={wanted.value.trim() === ''} onClick={() => move(wanted.value.trim(), GLIDE_MS)}>
        Glide
      </Button>
      <Button onClick={() => nudge(1n)}>+1 %</Button>
      <Button onClick={() => nudge(-1n)}>−1 %</Button>
      <Button onClick={() => tell('price', { market: symbol, walk: true }, `${symbol} walks at random again.`)}>Walk</Button>
      <Button onClick={() => tell('market', { market: symbol, isOpen: false }, `${symbol} is closed.`)}>Close market</Button>
      <Button onClick={() => tell('market', { market: symbol, isOpen: true }, `${symbol} is open.`)}>Open market</Button>
    </Group>
  );
}

const REASONS = ['SLIPPAGE', 'PRICE_IMPACT', 'EXPOSURE_LIMITS', 'MAX_LEVERAGE', 'MARKET_CLOSED'] as const;

function OracleControls({ tell }: { readonly tell: Tell }) {
  const reason = useSignal<string>(REASONS[0]);
  return (
    <Group title="Oracle">
      <Button onClick={() => tell('oracle', { mode: 'auto' }, 'The oracle answers.')}>Answer</Button>
      <Button onClick={() => tell('oracle', { mode: 'hold' }, 'The oracle keeps every request waiting.')}>Hold</Button>
      <Button onClick={() => tell('oracle', { mode: 'reject', reason: reason.value }, `The oracle refuses: ${reason.value}.`)}>
        Reject with
      </Button>
      <label class="choice">
        <span class="offscreen">Reason of a rejection</span>
        <select value={reason.value} onChange={({ currentTarget }) => (reason.value = currentTarget.value)}>
          {REASONS.map((word) => (
            <option key={word} value={word}>
              {word}
            </option>
          ))}
        </select>
      </label>
    </Group>
  );
}

function Group({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <fieldset class="control-group">
      <legend>{title}</legend>
      {children}
    </fieldset>
  );
}

interface ButtonProps {
  readonly onClick: () => void;
  readonly isOff?: boolean;
  readonly children: ComponentChildren;
}

function Button({ onClick, isOff = false, children }: ButtonProps) {
  return (
    <button type="button" class="button small" disabled={isOff} onClick={onClick}>
      {children}
    </button>
  );
}

function TextField({ label, value }: { readonly label: string; readonly value: Signal<string> }) {
  return (
    <input
      class="short"
      inputMode="decimal"
      aria-label={label}
      placeholder={label}
      value={value.value}
      onInput={({ currentTarget }) => (value.value = currentTarget.value)}
    />
  );
}
