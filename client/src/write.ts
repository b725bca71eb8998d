import type { Hex, Order, Operations, Position, PreparedTransaction } from './api.js';
import type { Api } from './methods.js';
import type { Signer } from './agent.js';
import type { ChainReader } from './chain-reader.js';
import type { ChainFacts } from './chains.js';
import { ClientError, VerificationError } from './errors.js';
import type { Sender } from './send-transaction.js';
import { verify, verifyOrder, type Verified } from './verify.js';
import { createOwnOrders } from './own-orders.js';
import { verifyNothingToDo } from './verify-nothing.js';
import {
  requireOwnBound,
  symbolOf,
  type Asked,
  type Context,
  type Limits,
  type OrderView,
  type PositionView,
  type WriteOperation,
} from './verify-context.js';
import { NO_REFERRER } from './verify-open.js';
import { waitForOrder, type WaitOptions } from './wait.js';

/** A write as the gateway prepared it, beside what was asked for. Nothing is signed yet. */
export interface Prepared<Id extends WriteOperation = WriteOperation> {
  readonly asked: Asked;
  readonly reply: Operations[Id]['reply'];
  /** Null where nothing has to reach the chain. */
  readonly transaction: PreparedTransaction | null;
  /** Null for a change that is complete with its transaction. */
  readonly order: Order | null;
  /** What the id stood for before. */
  readonly view: OrderView | PositionView | null;
  /** Whether the caller said so, instead of the gateway. */
  readonly isExpected: boolean;
  readonly limits: Limits;
}

export interface Sent {
  readonly operation: WriteOperation;
  /** Null where nothing had to be sent. */
  readonly hash: Hex | null;
  readonly order: Order | null;
}

export interface PrepareOptions {
  /** The order or position as the caller saw it, instead of the gateway's description of now. */
  readonly expect?: OrderView | PositionView | undefined;
  readonly limits?: Limits | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface Writer {
  /** Has the gateway check, simulate and encode a write. */
  prepare<Id extends WriteOperation>(operation: Id, input: Operations[Id]['input'], options?: PrepareOptions): Promise<Prepared<Id>>;
  /** Throws a VerificationError unless the transaction does what was asked for, and nothing else. */
  verify(prepared: Prepared, asked?: Asked): Promise<Verified>;
  /** Verifies, signs and broadcasts. */
  send(prepared: Prepared): Promise<Sent>;
  /** The order once it is final or rests; null where there is none. */
  wait(sent: Sent | string, options?: WaitOptions): Promise<Order | null>;
  /** Prepares, verifies, sends and waits. */
  execute<Id extends WriteOperation>(
    operation: Id,
    input: Operations[Id]['input'],
    options?: PrepareOptions & WaitOptions,
  ): Promise<Order | null>;
}

export interface WriterOptions {
  readonly api: Api;
  readonly chain: ChainFacts;
  readonly trader: () => Promise<Hex>;
  readonly now: () => number;
  readonly limits: Limits;
  readonly referrer: Hex | undefined;
  readonly nodeLagMs: number;
  readonly signing: () => Promise<Signing>;
}

/** What verifying and sending need, once the node is known to be one of the chain. */
export interface Signing {
  readonly agent: Signer;
  readonly reader: ChainReader;
  readonly sender: Sender;
}

export function createWriter({ api, chain, trader, now, limits, referrer, nodeLagMs, signing }: WriterOptions): Writer {
  const own = createOwnOrders();

  /** An opening always names its referrer, so that the gateway's default is never signed by surprise. */
  const complete = ({ operation, input }: Asked): Asked =>
    operation === 'createOrder' && input.reduceOnly !== true && input.referrer === undefined
      ? { operation, input: { ...input, referrer: referrer ?? NO_REFERRER } }
      : ({ operation, input } as Asked);

  const viewOf = async ({ operation, input }: Asked): Promise<OrderView | PositionView | null> => {
    if (operation === 'createOrder') return null;
    if (operation === 'updateOrder' || operation === 'cancelOrder') return api.getOrder({ id: input.id });
    const { data } = await api.listPositions();
    return data.find(({ id }: Position) => id === input.id) ?? null;
  };

  const prepare: Writer['prepare'] = async (operation, input, options = {}) => {
    const asked = complete({ operation, input } as unknown as Asked);
    const bounds = { ...limits, ...given(options.limits) };
    if (asked.operation === 'createOrder' && asked.input.reduceOnly !== true) requireOwnBound(asked.input, bounds);
    if (asked.operation === 'updatePosition' && asked.input.increase !== undefined)
      requireOwnBound({ type: 'market', price: asked.input.increase.price }, bounds);
    const call = api[operation] as (input: unknown, options: unknown) => Promise<Operations[typeof operation]['reply']>;
    const [reply, view] = await Promise.all([call(asked.input, { signal: options.signal }), options.expect ?? viewOf(asked)]);
    if (asked.operation === 'createOrder' && reply.order?.status === 'prepared' && own.viewOf(reply.order.id) === null)
      own.prepared(reply.order, asked.input);
    const { transaction, order } = reply;
    return { asked, reply, transaction, order, view, isExpected: options.expect !== undefined, limits: bounds };
  };

  const contextOf = async ({ view, isExpected, limits: bounds }: Prepared, { reader, agent, sender }: Signing): Promise<Context> => ({
    trader: await trader(),
    sender: agent.address,
    diamond: chain.diamond,
    reader,
    limits: bounds,
    own,
    isReplaced: (hash) => sender.isReplaced(hash),
    nodeLagMs,
    expected: isExpected && view !== null && isOrderView(view) ? view : null,
    async price(market) {
      const { data } = await api.getPrices();
      const found = data.find((price) => price.market === symbolOf(market));
      if (found === undefined) throw new ClientError(`There is no price of ${market} to compare with: pass one as limits.price.`);
      return found.mark;
    },
    order: () => Promise.resolve(requireView(view, isOrderView)),
    position: () => Promise.resolve(requireView(view, isPositionView)),
  });

  const verifyPrepared: Writer['verify'] = async (prepared, asked) => verifyWith(await signing(), prepared, asked);

  const verifyWith = async (tools: Signing, prepared: Prepared, asked = prepared.asked): Promise<Verified> => {
    verifyOrder(asked, prepared.order);
    if (prepared.transaction === null) {
      await verifyNothingToDo(await contextOf(prepared, tools), asked, prepared.order);
      return { calls: [] };
    }
    const envelope = { transaction: prepared.transaction, chain, sender: tools.agent.address, now: now() };
    return verify(asked, envelope, await contextOf(prepared, tools));
  };

  const send: Writer['send'] = async (prepared) => {
    const tools = await signing();
    await verifyWith(tools, prepared);
    const { asked } = prepared;
    const { operation } = asked;
    if (prepared.transaction === null) return { operation, hash: null, order: prepared.order };
    const { id, clientId } = prepared.order?.status === 'prepared' ? prepared.order : { id: null, clientId: null };
    const announce = async (txHash: Hex): Promise<void> => {
      // An order with a name is asked for again after a crash. The gateway gives its transaction out again until it knows a hash, so it
      // gets to know it before the transaction leaves: one that is sent without that could be sent twice.
      if (id !== null && clientId !== null) await api.submitOrder({ id, txHash });
      if (prepared.order === null) return;
      if (asked.operation === 'createOrder') own.sent(prepared.order.id, txHash);
      if (asked.operation === 'updateOrder') own.sent(prepared.order.id, txHash, asked.input);
    };
    const hash = await tools.sender.send(prepared.transaction, announce);
    if (id !== null && clientId === null) await report(id, hash);
    return { operation, hash, order: prepared.order };
  };

  /** The gateway watches the chain anyway: a report only makes it faster. */
  const report = async (id: string, txHash: Hex): Promise<void> => {
    // It is sent: whatever becomes of the report must not look like a failure to send.
    await api.submitOrder({ id, txHash }).catch(() => undefined);
  };

  const wait: Writer['wait'] = async (sent, options = {}) => {
    const { operation, hash, order } = typeof sent === 'string' ? { operation: null, hash: null, order: { id: sent } } : sent;
    const isMined = hash === null ? null : async () => (await signing()).sender.isMined(hash);
    return waitForOrder({ api, operation, order, isMined }, options);
  };

  return {
    prepare,
    verify: verifyPrepared,
    send,
    wait,
    execute: async (operation, input, options = {}) => wait(await send(await prepare(operation, input, options)), options),
  };
}

/** A bound that is undefined is no bound of its own: it must not take that of the client away. */
const given = (own: Limits = {}): Limits => Object.fromEntries(Object.entries(own).filter(([, bound]) => bound !== undefined));

type View = OrderView | PositionView;

const isOrderView = (view: View): view is OrderView => 'reduceOnly' in view;
const isPositionView = (view: View): view is PositionView => 'entryPrice' in view;

function requireView<Kind extends View>(view: View | null, is: (view: View) => view is Kind): Kind {
  if (view === null) throw new VerificationError('INDEX', 'the account has no such order or position');
  if (!is(view)) throw new ClientError('`expect` describes an order where a position is meant, or the other way round.');
  return view;
}
