import { useResource } from '../api/resource.js';
import { formatUpTo, formatUtc } from '../ui/format.js';
import { ProblemNote, Skeleton } from '../ui/panel.js';
import { Address } from '../ui/values.js';
import type { AccountModel } from './account-model.js';
import { useDigits } from './digits.js';
import type { Order, Refusal, TimelineStep } from './types.js';

const QUANTITIES: Readonly<Record<string, string>> = {
  executionPrice: 'execution price',
  oraclePrice: "oracle's price",
  positionSize: 'position size in collateral',
  lossPercent: 'loss at the opening in percent',
  leverage: 'leverage',
};

/** Blocks know whole seconds only; what this service saw within a minute of them is more exact. */
const SEEN_LATE_MS = 60_000;
const momentOf = ({ at, seenAt }: TimelineStep): number => (seenAt !== null && Math.abs(seenAt - at) < SEEN_LATE_MS ? seenAt : at);

const wordOf = (step: string): string => step.replaceAll('_', ' ');

/** Every step of an order: when, how long after the one before, in which transaction. */
export function Timeline({ order, model }: { readonly order: Order; readonly model: AccountModel }) {
  const { load, refresh } = useResource(order.id, (abort) => model.readTimeline(order.id, abort));
  const { data, problem } = load.value;
  if (problem !== null) return <ProblemNote problem={problem} onRetry={refresh} />;
  if (data === null) return <Skeleton rows={4} />;
  return (
    <div class="timeline">
      {data.refusal === null ? null : <RefusalNote refusal={data.refusal} market={order.market} />}
      <ol>
        {data.steps.map((step, at) => (
          <Step key={at} step={step} isFirst={at === 0} />
        ))}
      </ol>
      {data.repeatOf === null ? null : <p class="muted">The same transaction data as order {data.repeatOf} was mined again.</p>}
      {data.repeats.length === 0 ? null : <p class="muted">Mined again as order {data.repeats.join(', ')}.</p>}
    </div>
  );
}

function Step({ step, isFirst }: { readonly step: TimelineStep; readonly isFirst: boolean }) {
  return (
    <li class={step.isTakenBack ? 'taken-back' : ''}>
      <span class="stage">{wordOf(step.step)}</span>
      <time
        dateTime={new Date(step.at).toISOString()}
        title={step.block === null ? formatUtc(step.at) : `block time ${formatUtc(step.at)}`}
      >
        {new Date(momentOf(step)).toISOString().slice(11, 23)}
      </time>
      <span class="since">{isFirst ? 'start' : `+${step.sincePreviousMs.toLocaleString('en-US')} ms`}</span>
      <span class="where">
        {step.txHash === null ? null : <Address value={step.txHash} label="Copy hash" />}
        {step.block === null ? null : <small class="muted"> block {step.block}</small>}
        {step.isTakenBack ? <small class="warn"> undone by a reorganisation</small> : null}
      </span>
    </li>
  );
}

/** The two numbers that disagreed. */
function RefusalNote({ refusal, market }: { readonly refusal: Refusal; readonly market: string }) {
  const digits = useDigits();
  const { reason, quantity, actual, bound, oraclePrice, isEstimate } = refusal;
  const isPrice = quantity === 'executionPrice' || quantity === 'oraclePrice';
  const show = (text: string): string => (isPrice ? digits.price(market, text) : formatUpTo(text, 6));
  return (
    <div class="refusal">
      <p>
        Refused: <code>{reason}</code>
        {oraclePrice === null ? null : <span class="muted"> · the oracle said {digits.price(market, oraclePrice)}</span>}
      </p>
      {quantity === null || actual === null || bound === null ? (
        <p class="muted">The contract names no numbers for this reason.</p>
      ) : (
        <p class="disagreed">
          {QUANTITIES[quantity] ?? quantity} <strong>{show(actual)}</strong> against a bound of <strong>{show(bound)}</strong>
          {isEstimate ? <small class="muted"> (one of them is computed with the market's current parameters)</small> : null}
        </p>
      )}
    </div>
  );
}
