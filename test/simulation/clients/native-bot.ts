import { Wallet } from 'ethers';
import type { Hex } from '../../../core/types.js';
import { authorization, signWith } from '../../harness/traders/master-wallet.js';
import { signRequest } from '../../harness/traders/signed-request.js';
import { signingDomain } from '../../../core/access/signature.js';
import { ask, asksForPatience, postJson, type HttpAnswer } from './http-client.js';
import { levelPrice, moved, type Surroundings, type ClientRequest } from './surroundings.js';

/** An agent of the native API: it signs and broadcasts its transactions itself. */
export interface NativeBot {
  readonly name: string;
  readonly trader: string;
  authorise(): Promise<void>;
  open(options: { readonly isLong: boolean; readonly size: string; readonly copies: number; readonly fate?: Fate }): Promise<void>;
  /** Goes on with an order that it prepared and left: prepares it again under the same id, or broadcasts the old transaction. */
  resume(choose: (count: number) => number, isRenewed: boolean): Promise<void>;
  /** A take profit or a stop loss as an order of its own. */
  guard(choose: (count: number) => number, options: { readonly isProfit: boolean; readonly distance: number }): Promise<void>;
  /** `distance`: of a take profit or a stop loss; null moves it a little further. */
  amend(choose: (count: number) => number, price: (isLong: boolean) => string, distance?: number | null): Promise<void>;
  /** Gives its newest order that rests a stop loss, which the contract changes in place. */
  protect(): Promise<void>;
  /** `levels`: how far a take profit and a stop loss are from its price, as a share of it. */
  rest(options: {
    readonly isLong: boolean;
    readonly size: string;
    readonly price: string;
    readonly levels?: number;
    readonly fate?: Fate;
  }): Promise<void>;
  cancel(choose: (count: number) => number): Promise<void>;
  close(choose: (count: number) => number, times: number): Promise<void>;
}

/** `left`: prepared and not sent; `starved`: sent with too little gas, so that it reverts. */
export type Fate = 'sent' | 'left' | 'starved';

interface Prepared {
  readonly to: Hex;
  readonly data: Hex;
  readonly value: string;
  readonly chainId: number;
  readonly gas: string | null;
}

type Json = Readonly<Record<string, unknown>>;

interface PreparedReply {
  readonly order?: { readonly id: string; readonly status: string };
  readonly transaction?: Prepared | null;
  readonly code?: string;
}

interface HeldPosition {
  readonly id: string;
  readonly side: 'long' | 'short';
  readonly size: string;
}

const TRIES = 5;
const PAUSE_MS = 700;
const GWEI = 1_000_000_000n;
const codeOf = ({ body }: HttpAnswer): string | undefined => (body as PreparedReply | null)?.code;
const idsIn = ({ body }: HttpAnswer): readonly string[] => {
  const id = (body as PreparedReply | null)?.order?.id;
  return id === undefined ? [] : [id];
};
/** A transaction with so much is mined and fails. */
const STARVED_GAS = 90_000n;
/** Share of the price at which the stop loss of a resting order lies. */
const STOP_DISTANCE = 0.03;

export function createNativeBot(around: Surroundings, name: string, keys: { readonly trader: Hex; readonly agent: Hex }): NativeBot {
  const { clock, chain, nodeUrl, urls, random, record, arePatient } = around;
  const base = `/v1/${chain.definition.slug}`;
  const trader = new Wallet(keys.trader);
  const agent = new Wallet(keys.agent);
  let nonce = 0n;
  let made = 0;
  const resting: {
    readonly request: ClientRequest;
    readonly id: string;
    readonly isLong: boolean;
    readonly price: string;
    /** Of a take profit or a stop loss. */
    readonly isProfit?: boolean;
  }[] = [];
  const left: { readonly request: ClientRequest; readonly body: Json; readonly reply: PreparedReply }[] = [];

  async function rpc(method: string, params: readonly unknown[]): Promise<unknown> {
    const answer = await postJson(clock, nodeUrl, { jsonrpc: '2.0', id: 1, method, params });
    const { result, error } = (answer?.body ?? {}) as { result?: unknown; error?: { message: string } };
    if (error !== undefined) throw new Error(error.message);
    return result;
  }

  /** A new signature for every try, as the client does: each request has a nonce of its own. */
  async function call(operationId: string, method: string, path: string, body?: unknown): Promise<HttpAnswer | null> {
    for (let attempt = 1; attempt <= TRIES; attempt += 1) {
      const bytes = body === undefined ? new Uint8Array() : new TextEncoder().encode(JSON.stringify(body));
      nonce += 1n;
      const signed = await signRequest(agent, chain.definition, {
        operationId,
        method,
        path: `${base}${path}`,
        body: bytes,
        timestamp: clock.now(),
        nonce: BigInt(clock.now()) * 1_000n + nonce,
      });
      const headers = { ...signed, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) };
      const send = (): Promise<HttpAnswer | null> =>
        ask(clock, { url: `${random.pick(urls())}${base}${path}`, method, headers, ...(body === undefined ? {} : { body: bytes }) });
      const answer = await send();
      const about = `${operationId} of ${name}`;
      if (answer !== null && answer.status < 300 && method !== 'GET') record.replays.add({ about, send, idsIn, ids: idsIn(answer) });
      if (answer?.status === 401 && codeOf(answer) === 'AGENT_UNKNOWN') await authorise().catch(() => record.count('native agent refused'));
      if (answer !== null && answer.status < 500 && answer.status !== 429) return answer;
      record.count(`native ${answer === null ? 'silence' : answer.status}`);
      await clock.sleep(arePatient && answer !== null && asksForPatience(answer) ? (answer.retryAfterMs ?? 0) : PAUSE_MS * attempt);
    }
    return null;
  }

  async function authorise(): Promise<void> {
    const domain = signingDomain({ serviceName: 'Diamond Gateway' }, chain.definition);
    const sign = signWith(trader, domain);
    const body = await authorization(domain, sign, { trader: trader.address, agent: agent.address, timestamp: clock.now() });
    const answer = await postJson(clock, `${random.pick(urls())}${base}/agents`, body);
    if (answer?.status !== 201) throw new Error(`${name} has no agent: ${JSON.stringify(answer)}`);
  }

  function note(request: ClientRequest, answer: HttpAnswer | null): PreparedReply {
    const body = (answer?.body ?? {}) as PreparedReply;
    const status = answer === null ? 'silence' : (body.order?.status ?? `error: ${body.code ?? answer.status}`);
    request.answers.push({ at: clock.now(), orderId: body.order?.id ?? null, status });
    return body;
  }

  async function broadcast({ to, data, value, chainId, gas }: Prepared, isStarved: boolean): Promise<string | null> {
    try {
      const count = Number(await rpc('eth_getTransactionCount', [agent.address, 'pending']));
      const raw = await agent.signTransaction({
        type: 2,
        to,
        data,
        value: BigInt(value),
        chainId,
        nonce: count,
        gasLimit: isStarved ? STARVED_GAS : gas === null ? 3_000_000n : BigInt(gas),
        maxFeePerGas: 100n * GWEI,
        maxPriorityFeePerGas: GWEI,
      });
      return (await rpc('eth_sendRawTransaction', [raw])) as string;
    } catch {
      record.count('native broadcast refused');
      return null;
    }
  }

  async function send(prepared: Prepared | null | undefined, orderId: string | undefined, isStarved = false): Promise<void> {
    if (prepared === null || prepared === undefined) return;
    const hash = await broadcast(prepared, isStarved);
    if (hash === null || orderId === undefined) return;
    await call('submitOrder', 'POST', `/orders/${orderId}/submit`, { txHash: hash });
  }

  async function place(kind: string, body: Json, copies = 1, fate: Fate = 'sent'): Promise<{ request: ClientRequest; id: string | null }> {
    const clientId = `${name}-${(made += 1)}`;
    const request = record.request({ client: name, api: 'native', trader: trader.address.toLowerCase(), id: clientId, kind });
    const replies = await Promise.all(Array.from({ length: copies }, () => call('createOrder', 'POST', '/orders', { ...body, clientId })));
    const bodies = replies.map((reply) => note(request, reply));
    const good = bodies.find((reply) => reply.order !== undefined);
    if (fate === 'left' && good !== undefined) left.push({ request, body: { ...body, clientId }, reply: good });
    if (fate !== 'left') await send(good?.transaction, good?.order?.id, fate === 'starved');
    return { request, id: good?.order?.id ?? null };
  }

  async function anyPosition(choose: (count: number) => number): Promise<HeldPosition | null> {
    const listed = await call('listPositions', 'GET', `/account/${trader.address}/positions`);
    const positions = (listed?.body as { data?: HeldPosition[] } | undefined)?.data ?? [];
    return positions[choose(positions.length)] ?? null;
  }

  return {
    name,
    trader: trader.address.toLowerCase(),
    authorise,
    async open({ isLong, size, copies, fate }) {
      const order = { market: 'BTC/USD', side: isLong ? 'long' : 'short', type: 'market', size, leverage: '10' };
      await place('open', order, copies, fate);
    },
    async resume(choose, isRenewed) {
      const chosen = left[choose(left.length)];
      if (chosen === undefined) return;
      const reply = isRenewed ? note(chosen.request, await call('createOrder', 'POST', '/orders', chosen.body)) : chosen.reply;
      await send(reply.transaction, reply.order?.id);
    },
    async guard(choose, { isProfit, distance }) {
      const position = await anyPosition(choose);
      if (position === null) return;
      const isLong = position.side === 'long';
      const price = levelPrice(isLong, { isProfit, distance });
      const type = isProfit ? 'limit' : 'stop';
      const order = { market: 'BTC/USD', side: isLong ? 'short' : 'long', type, size: position.size, price, reduceOnly: true };
      const { request, id } = await place('guard', order);
      if (id !== null) resting.push({ request, id, isLong: !isLong, price, isProfit });
    },
    async amend(choose, price, distance = null) {
      const chosen = resting[choose(resting.length)];
      if (chosen === undefined) return;
      const { isLong, isProfit } = chosen;
      // The order has the other side than the position.
      const level = (): string =>
        distance === null ? moved(chosen.price) : levelPrice(!isLong, { isProfit: isProfit === true, distance });
      const next = isProfit === undefined ? price(isLong) : level();
      const answer = await call('updateOrder', 'PATCH', `/orders/${chosen.id}`, { price: next });
      await send(note(chosen.request, answer).transaction, undefined);
    },
    async protect() {
      const chosen = resting.findLast(({ request }) => request.kind === 'rest');
      if (chosen === undefined) return;
      const sl = String(Math.round(Number(chosen.price) * (chosen.isLong ? 1 - STOP_DISTANCE : 1 + STOP_DISTANCE)));
      const answer = await call('updateOrder', 'PATCH', `/orders/${chosen.id}`, { sl });
      await send(note(chosen.request, answer).transaction, undefined);
    },
    async rest({ isLong, size, price, levels, fate }) {
      const at = (share: number): string => String(Math.round(Number(price) * (isLong ? 1 + share : 1 - share)));
      const order = {
        market: 'BTC/USD',
        side: isLong ? 'long' : 'short',
        type: 'limit',
        size,
        price,
        leverage: '10',
        ...(levels && { tp: at(levels), sl: at(-levels) }),
      };
      const { request, id } = await place('rest', order, 1, fate);
      if (id !== null) resting.push({ request, id, isLong, price });
    },
    async cancel(choose) {
      const chosen = resting[choose(resting.length)];
      if (chosen === undefined) return;
      const answer = await call('cancelOrder', 'DELETE', `/orders/${chosen.id}`);
      await send(note(chosen.request, answer).transaction, chosen.id);
    },
    async close(choose, times) {
      const chosen = await anyPosition(choose);
      if (chosen === null) return;
      const closeOnce = async (): Promise<void> => {
        // A closing has no client id: its answer alone names the order.
        const id = `${name}-close-${(made += 1)}`;
        const request = record.request({ client: name, api: 'native', trader: trader.address.toLowerCase(), id, kind: 'close' });
        const reply = note(request, await call('closePosition', 'POST', `/positions/${chosen.id}/close`, {}));
        await send(reply.transaction, reply.order?.id);
      };
      await Promise.all(Array.from({ length: times }, closeOnce));
    },
  };
}
