import { decodeEventLog, type Hex } from 'viem';
import { diamondAbi } from '../../../core/adapters/evm/diamond-abi.js';
import { haltOfOpenings, venueOf } from '../../../core/gateway.js';
import { topicOf, laterTopic } from '../../harness/diamond/cut-diamond.js';
import type { ClientRequest } from '../clients/surroundings.js';
import type { Span } from './contract-watch.js';
import { SLUG, type Evidence, type Invariant } from './evidence.js';

const EXECUTED = topicOf('MarketExecuted');

/** The requests that the contract executed, as `trader request:index`, from the logs of the chain as it is, under either topic. */
async function executedRequests({ world, bots }: Evidence): Promise<ReadonlySet<string>> {
  const [chain] = world.venue.sandbox.controls.chains;
  const fromBlock: Hex = `0x${(bots.relayerWallets[0]?.block ?? 0).toString(16)}`;
  const topics = [[EXECUTED, laterTopic(EXECUTED)]];
  const filter = { address: chain?.definition.diamond, fromBlock, toBlock: 'latest', topics };
  const logs = (await chain?.request('eth_getLogs', [filter])) as { readonly topics: [Hex, ...Hex[]]; readonly data: Hex }[];
  return new Set(
    logs.map(({ topics: [, ...more], data }) => {
      const { args } = decodeEventLog({ abi: diamondAbi, eventName: 'MarketExecuted', topics: [EXECUTED, ...more], data });
      return `${args.orderId.user.toLowerCase()} request:${args.orderId.index}`;
    }),
  );
}

const REQUESTED = `select id::text, trader, order_key, status from orders where order_key like 'request:%' order by id`;
const PUBLISHED = `
  select fact -> 'id' ->> '$n' as id, fact -> 'order' ->> 'status' as status, at::float8 as at from journal where kind = 'order' order by at, cursor`;
const REFUSED: ReadonlySet<string> = new Set(['rejected', 'canceled']);
/** A replica's clock may be so far ahead. */
const CLOCK_MS = 5_000;

/** An order whose request the contract executed is filled, and was never published or answered as refused. */
export const executedIsNeverRefused: Invariant = async (evidence) => {
  const { world, faults, bots } = evidence;
  if (faults.contract() === null) return [];
  const executed = await executedRequests(evidence);
  const rows = await world.gate.read<{ id: string; trader: string; order_key: string; status: string }>(REQUESTED);
  const own = rows.filter(({ trader, order_key }) => executed.has(`${trader} ${order_key}`));
  const ids = new Set(own.map(({ id }) => id));
  const published = await world.gate.read<{ id: string; status: string; at: number }>(PUBLISHED);
  return [
    ...own
      .filter(({ status }) => status !== 'filled')
      .map(({ id, order_key, status }) => `order ${id} is ${status}, and its ${order_key} was executed on chain`),
    ...published
      .filter(({ id, status, at }) => ids.has(id) && REFUSED.has(status) && at > faults.lastTakenBackAt() + CLOCK_MS)
      .map(({ id, status }) => `order ${id} was executed on chain, and published as ${status}`),
    ...bots.record.requests
      .filter(({ api }) => api === 'native')
      .flatMap(({ id, answers }) =>
        answers
          .filter(({ at, orderId, status }) => ids.has(orderId ?? '') && REFUSED.has(status) && at > faults.lastTakenBackAt())
          .map(({ status }) => `the order of ${id} was executed on chain, and answered as ${status}`),
      ),
  ];
};

/** Every replica has looked by then. */
const KNOWN_AFTER_MS = 6_000;
/** A replica that hears nothing of the database, or late, does not know yet. */
const DELAYS = /^database|^replica/;
const HALTED = 'no position is opened';
const OPENING: ReadonlySet<string> = new Set(['open', 'rest']);
const REDUCING: ReadonlySet<string> = new Set(['close', 'guard']);
const OPENED = `
  select coalesce(bot.cloid, orders.client_id) as id, orders.id::text as "order" from orders
  left join exchange_legs leg on leg.chain = orders.chain and leg.order_id = orders.id
  left join exchange_orders bot on bot.chain = leg.chain and bot.oid = leg.oid
  where state ->> 'action' = 'open'`;

const isWithin = ({ askedAt, answers }: ClientRequest, spans: readonly Span[]): boolean =>
  spans.some(({ from, to }) => askedAt > from + KNOWN_AFTER_MS && answers.length > 0 && answers.every(({ at }) => at < to));

/** While the outcome of an order is unknown, nothing is opened; everything else goes on. */
export const onlyOpeningsWait: Invariant = async ({ world, bots, faults }) => {
  const watch = faults.contract();
  if (watch === null) return [];
  const { requests, cancels } = bots.record;
  const waited = [
    ...requests
      .filter(({ kind, answers }) => REDUCING.has(kind) && answers.some(({ status }) => status.includes(HALTED)))
      .map(({ client, kind, id }) => `${client} ${kind} ${id} was refused because nothing is opened`),
    ...cancels
      .filter(({ by, status }) => by === null && status.includes(HALTED))
      .map(({ of }) => `the cancel of ${of.id} was refused because nothing is opened`),
  ];
  if (faults.applied().some((kind) => DELAYS.test(kind))) return waited;
  const opened = new Map((await world.gate.read<{ id: string; order: string }>(OPENED)).map(({ id, order }) => [id, order]));
  return [
    ...waited,
    ...requests
      .filter((request) => OPENING.has(request.kind) && isWithin(request, watch.doubts()) && opened.has(request.id))
      .map(({ client, kind, id }) => `${client} ${kind} ${id} made order ${opened.get(id)} while an outcome was unknown`),
  ];
};

/** Nothing is signed on what was known before a change of the contract, once its block was seen. */
export const nothingSignedUnchecked: Invariant = ({ faults }) => faults.contract()?.early() ?? [];

const LEFT = `
  select tx_hash as what from unread_transactions where settled_at is null
  union all select 'order ' || id from orders where state ->> 'unexplained' is not null`;

/** Once the facets are as before, every outcome is known and positions are opened again. */
export const contractIsSettled: Invariant = async ({ world, faults }) => {
  if (faults.contract() === null) return [];
  const left = await world.gate.read<{ what: string }>(LEFT);
  const halts = [...world.replicas.values()].flatMap((replica) => {
    const gateway = replica.isAlive() ? replica.gateway() : null;
    const halt = gateway === null ? null : haltOfOpenings(venueOf(gateway, SLUG));
    return halt === null ? [] : [`${replica.name} opens nothing: ${halt}`];
  });
  return [...left.map(({ what }) => `the outcome of ${what} is still unknown`), ...halts];
};
