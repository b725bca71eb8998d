import { chainTrader } from '../../harness/traders/chain-trader.js';
import { compareView } from '../../harness/diamond/chain-checker.js';
import { GatewayError } from '../../../core/errors.js';
import type { ClientRequest } from '../clients/surroundings.js';
import type { Bots } from '../run.js';
import { isFinal, livingGateway, show, SLUG, type Invariant } from './evidence.js';

interface OrderRow {
  readonly id: string;
  readonly trader: string;
  readonly status: string;
  readonly action: string | null;
  readonly client_id: string | null;
  readonly agent: string | null;
  readonly cloid: string | null;
  readonly oid: string | null;
}

const ORDERS = `
  select orders.id::text, orders.trader, status, state ->> 'action' as action, client_id, orders.agent, bot.cloid, bot.oid::text
  from orders left join exchange_legs leg on leg.chain = orders.chain and leg.order_id = orders.id
  left join exchange_orders bot on bot.chain = leg.chain and bot.oid = leg.oid
  order by orders.id, bot.oid`;

/** Every open position, resting order and pending request of the chain is shown, and nothing else; journal, fold and rows are equal. */
export const viewEqualsChain: Invariant = async ({ world, bots }) => {
  const [chain] = world.venue.sandbox.controls.chains;
  if (chain === undefined) return ['the sandbox has no chain'];
  const complaints: string[] = [];
  for (const { address, privateKey } of bots.traders) {
    const look = () => whenReady(async () => (await compareView(livingGateway(world), SLUG, chainTrader(chain, privateKey))).differences);
    // Blocks do not come any more, but an unsent order may expire between two reads of one look. What is wrong stays wrong.
    const differences = (await look()).length > 0 ? await look() : [];
    for (const { name, left, right } of differences) complaints.push(`${address}: ${name} differ: ${show(left)} and ${show(right)}`);
  }
  return complaints;
};

const READY_TRIES = 5;

/** As a client does: a connection to the database that was cut is noticed by the first request that gets it. */
async function whenReady<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof GatewayError) || error.code !== 'NOT_READY' || tries === READY_TRIES) throw error;
    }
  }
}

/**
 * What must hold for the orders of a request after the client has been given this answer, while no block was taken back. `resting` and `open`
 * are also answered for an order that is on its way, so it may still end in any state. Several orders can belong to one request, and none to one
 * that became a trigger of a position.
 */
const LATER: Readonly<Record<string, (states: readonly string[]) => boolean>> = {
  filled: (states) => states.includes('filled'),
  resting: (states) => !states.includes('prepared'),
  open: (states) => !states.includes('prepared'),
  canceled: (states) => states.every((state) => !['open', 'pending', 'prepared'].includes(state)),
  rejected: (states) => states.every((state) => !['open', 'pending', 'filled'].includes(state)),
};
const EXECUTED: ReadonlySet<string> = new Set(['filled', 'open', 'pending', 'timed_out']);
const REPEATED = /nonce/i;
const GONE = /never placed, already canceled, or filled|Cannot modify canceled or filled order/;
const LEVEL_KINDS: ReadonlySet<string> = new Set(['guard', 'level', 'change', 'modify']);

export const answersHold: Invariant = async ({ world, bots, faults }) => {
  const rows = await world.gate.read<OrderRow>(ORDERS);
  // What became of an order whose row is gone is judged on chain, and by what is said of the loss.
  const lost = new Set((faults.losses()?.swaps ?? []).flatMap((swap) => [...swap.lost]));
  const isLost = ({ api, answers }: ClientRequest): boolean =>
    answers.some(({ orderId }) => orderId !== null && lost.has(`${api === 'facade' ? 'oid' : 'order'} ${orderId}`));
  const exchange = new Set((await world.gate.read<{ oid: string }>('select oid::text from exchange_orders')).map(({ oid }) => oid));
  const shared = sharedIds(bots);
  return bots.record.requests
    .filter((request) => !isLost(request))
    .flatMap((request) => judge(request, rows, { exchange, shared, areBlocksFinal: isFinal(faults, request.askedAt) }));
};

/** A cloid that a change kept means several orders. */
function sharedIds({ record }: Bots): ReadonlySet<string> {
  const ids = record.requests.map(({ id }) => id);
  return new Set(ids.filter((id, at) => ids.indexOf(id) !== at));
}

interface JudgeParts {
  readonly exchange: ReadonlySet<string>;
  readonly shared: ReadonlySet<string>;
  readonly areBlocksFinal: boolean;
}

function judge(request: ClientRequest, rows: readonly OrderRow[], { exchange, shared, areBlocksFinal }: JudgeParts): string[] {
  const complaints: string[] = [];
  const isShared = shared.has(request.id);
  const named = new Set(request.answers.flatMap(({ orderId }) => orderId ?? []));
  const own = rows.filter((row) =>
    request.api === 'facade'
      ? (!isShared && row.cloid === request.id) || named.has(row.oid ?? '')
      : row.client_id === request.id || named.has(row.id),
  );
  const asked = `${request.client} ${request.kind} ${request.id} (${request.answers.map(({ status, orderId }) => `${status} ${orderId ?? ''}`).join(', ')})`;
  if (named.size > 1 && !isShared) complaints.push(`${asked} was answered with several orders`);
  for (const id of named)
    if (request.api === 'facade' ? !exchange.has(id) : !rows.some((row) => row.id === id))
      complaints.push(`${asked}: order ${id} does not exist`);
  const states = own.map(({ status }) => status);
  for (const { status } of request.answers) {
    const holds = request.api === 'facade' ? LATER[status] : undefined;
    // A level that closed its trade is filled without an order of ours.
    const isLevel = states.length === 0 && LEVEL_KINDS.has(request.kind);
    if (areBlocksFinal && !isLevel && holds?.(states) === false)
      complaints.push(`${asked}: after ${status} its orders are ${states.join(', ')}`);
  }
  const last = request.answers.at(-1)?.status ?? 'silence';
  const isRefused =
    request.answers.length > 0 && request.answers.every(({ status }) => status.startsWith('error:') && !REPEATED.test(status));
  // A refusal by the oracle is taken back with its block.
  if (areBlocksFinal && isRefused && request.api === 'facade' && states.some((state) => EXECUTED.has(state)))
    complaints.push(`${asked}: refused with ${last}, but its orders are ${states.join(', ')}`);
  return complaints;
}

/** An order that rests, or may still be filled. */
const LIVES: ReadonlySet<string> = new Set(['prepared', 'pending', 'open', 'timed_out']);

/** Every transaction of the action that placed the order is in a block, and has done what it should. */
const MADE = `
  select exists (
    select from exchange_orders o join relay_jobs job on job.chain = o.chain and job.parent = o.action where o.cloid = $1)
  and not exists (
    select from exchange_orders o join relay_jobs job on job.chain = o.chain and job.parent = o.action
    where o.cloid = $1 and job.state <> 'mined') as is_made`;

/**
 * An order that was canceled or replaced with success is over and was not filled. One that was answered as gone does not rest, if it did when
 * that was asked for. A change that is still under way is also answered with success.
 */
export const cancelsHold: Invariant = async ({ world, bots, faults }) => {
  const rows = await world.gate.read<OrderRow>(ORDERS);
  const shared = sharedIds(bots);
  const complaints: string[] = [];
  for (const { of, by, askedAt, status } of bots.record.cancels) {
    if (shared.has(of.id) || !isFinal(faults, of.askedAt)) continue;
    const states = rows.filter(({ cloid }) => cloid === of.id).map((row) => row.status);
    const about = `${of.client}: order ${of.id}`;
    if (status === 'success' && states.some((state) => LIVES.has(state) || state === 'filled')) {
      const [made] = by === null ? [{ is_made: true }] : await world.gate.read<{ is_made: boolean }>(MADE, [by.id]);
      if (made?.is_made === true)
        complaints.push(`${about} was answered as ${by === null ? 'canceled' : `replaced by ${by.id}`}, but is ${states.join(', ')}`);
    }
    const rested = of.answers.some(({ at, status: answered }) => answered === 'resting' && at <= askedAt);
    if (GONE.test(status) && rested && states.includes('open'))
      complaints.push(`${about} was answered as gone, but is ${states.join(', ')}`);
  }
  return complaints;
};

/** Every order was asked for by a client, or came from the chain itself. */
export const noOrderWithoutRequest: Invariant = async ({ world, bots }) => {
  const { requests } = bots.record;
  const ids = new Set(requests.map(({ id }) => id));
  const answered = new Set(
    requests.filter(({ api }) => api === 'native').flatMap(({ answers }) => answers.flatMap(({ orderId }) => orderId ?? [])),
  );
  // Neither a close by the native API nor a change of the margin has an id of the client.
  const silentClosers = new Set(
    requests
      .filter(({ kind, api, answers }) => api === 'native' && kind === 'close' && answers.some(({ status }) => status === 'silence'))
      .map(({ trader }) => trader),
  );
  const changers = new Set(requests.filter(({ kind }) => kind === 'margin').map(({ trader }) => trader));
  const isExplained = ({ trader, client_id, cloid, action }: OrderRow): boolean =>
    client_id === null &&
    cloid === null &&
    ((silentClosers.has(trader) && action === 'close') || (changers.has(trader) && action !== 'open'));
  const rows = await world.gate.read<OrderRow>(ORDERS);
  return (
    rows
      // A request that failed half-way may leave an order that was never sent and expires.
      .filter(({ agent, status }) => agent !== null && status !== 'prepared' && status !== 'expired')
      .filter(({ id, client_id, cloid }) => !(answered.has(id) || ids.has(client_id ?? '') || ids.has(cloid ?? '')))
      .filter((row) => !isExplained(row))
      .map((row) => `order ${row.id} of ${row.trader} (${row.status}) was asked for by no client`)
  );
};

/** One that missed its price may be left to rest as another one: only one of the two lives. */
const OPENED_TWICE = `
  select leg.oid::text, string_agg(orders.status, ', ' order by orders.id) as states
  from exchange_legs leg join orders on orders.chain = leg.chain and orders.id = leg.order_id
  where leg.role = 'open' and orders.status in ('pending', 'open', 'timed_out', 'filled') group by leg.chain, leg.oid having count(*) > 1`;

/** A signed order makes at most one order, however often it is sent. */
export const oneOrderPerRequest: Invariant = async ({ world, bots }) => {
  const asked = (cloid: string): number => bots.record.requests.filter(({ id }) => id === cloid).length;
  const twice = await world.gate.read<{ cloid: string; count: string }>(
    'select cloid, count(*)::text as count from exchange_orders where cloid is not null group by trader, cloid having count(*) > 1',
  );
  const named = await world.gate.read<{ client_id: string; count: string }>(
    `select client_id, count(*)::text as count from orders where client_id is not null and repeat_of is null group by trader, client_id having count(*) > 1`,
  );
  const opened = await world.gate.read<{ oid: string; states: string }>(OPENED_TWICE);
  return [
    ...opened.map(({ oid, states }) => `order ${oid} of the facade opens more than once: ${states}`),
    ...twice
      .filter(({ cloid, count }) => Number(count) > Math.max(1, asked(cloid)))
      .map(({ cloid, count }) => `${count} orders of the facade have the cloid ${cloid}`),
    ...named.map(({ client_id, count }) => `${count} orders have the client id ${client_id}`),
  ];
};
