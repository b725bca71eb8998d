import { Wallet } from 'ethers';
import type { Hex } from 'viem';
import type { ChainControls } from '../../../sandbox/controls.js';
import { newTrader, receiptOf, type ChainTrader } from './chain-trader.js';
import { eventually } from '../time/eventually.js';
import { agentsOf, authorization, domainOf, EVERYTHING, signWith, type ScopeBody } from './master-wallet.js';
import type { TestVenue } from '../venue/own-venue.js';
import { signRequest } from './signed-request.js';

/** Settings of a sandbox whose agents may poll: what is waited for is asked for often. */
export const BUSY_AGENTS = { RATE_LIMIT_AGENT: '1000000', RATE_LIMIT_AGENT_WRITES: '1000000' };

export type Json = Record<string, unknown>;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Json;
}

/** What an agent signs and broadcasts, as the interface shows it. */
export interface Prepared {
  readonly to: `0x${string}`;
  readonly data: Hex;
  readonly value: string;
  readonly chainId: number;
  readonly gas: string | null;
  readonly expiresAt: number;
}

/** An integrator: a key registered as the agent of a trader. It knows the interface, a node's address, and nothing else of ours. */
export interface AgentTrader {
  readonly wallet: Wallet;
  /** Whom it trades for; holds the funds. */
  readonly trader: ChainTrader;
  /** `path` below `/v1/{chain}`. */
  call(operationId: string, method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  create(body: Json): Promise<Answer>;
  order(id: string): Promise<Json>;
  update(id: string, body: unknown): Promise<Answer>;
  cancel(id: string): Promise<Answer>;
  submit(id: string, txHash: string, waitSeconds?: number): Promise<Answer>;
  close(positionId: string, body?: unknown): Promise<Answer>;
  adjust(positionId: string, body: unknown): Promise<Answer>;
  openOrders(): Promise<Json[]>;
  positions(): Promise<Json[]>;
  /** Signs and broadcasts; the node has it, no block yet. */
  broadcast(prepared: Prepared): Promise<Hex>;
  /** Signs, broadcasts and waits for the block; fails when it reverts. */
  send(prepared: Prepared): Promise<Hex>;
  /** Waits for the order to get there. */
  reaches(id: string, status: string): Promise<Json>;
  /** create → send → the status it comes to rest in. */
  place(body: Json, status: string): Promise<Json>;
  /** The only open position, once there is one. */
  position(): Promise<Json>;
}

export interface AgentOptions {
  readonly scope?: ScopeBody;
  /** The trader's own key signs and broadcasts; no delegation. */
  readonly self?: boolean;
  readonly usdc?: string;
  readonly dai?: string;
}

/** A trader with funds and an agent that is registered and delegated. */
export async function newAgentTrader(sandbox: TestVenue, chain: ChainControls, options: AgentOptions = {}): Promise<AgentTrader> {
  const { scope = EVERYTHING, self = false, usdc = '10000', dai } = options;
  const agentKey = self ? null : (await chain.faucet.createTrader({ eth: '10', approve: false, delegate: null })).privateKey;
  const wallet = agentKey === null ? null : new Wallet(agentKey);
  const trader = await newTrader(chain, { usdc, ...(wallet === null ? {} : { delegate: wallet.address as `0x${string}` }) });
  if (dai !== undefined) await chain.faucet.fund(trader.account.address, { dai });
  const agent = wallet ?? new Wallet(trader.privateKey);
  const { slug } = chain.definition;
  const domain = await domainOf(sandbox, slug);
  const sign = signWith(new Wallet(trader.privateKey), domain);
  const body = await authorization(domain, sign, { trader: trader.account.address, agent: agent.address, scope });
  const created = await agentsOf(sandbox, slug).create(body);
  if (created.status !== 201) throw new Error(`the agent was not registered: ${JSON.stringify(created.body)}`);
  return agentTrader(sandbox, chain, trader, agent);
}

export function agentTrader(sandbox: TestVenue, chain: ChainControls, trader: ChainTrader, wallet: Wallet): AgentTrader {
  const base = `/v1/${chain.definition.slug}`;

  const call: AgentTrader['call'] = async (operationId, method, path, body, headers = {}) => {
    const bytes = body === undefined ? new Uint8Array() : new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body));
    const signature = await signRequest(wallet, chain.definition, { operationId, method, path: `${base}${path}`, body: bytes });
    const type = body === undefined ? {} : { 'Content-Type': 'application/json' };
    const init = { method, headers: { ...type, ...signature, ...headers }, ...(body === undefined ? {} : { body: bytes }) };
    const reply = await sandbox.call(`${base}${path}`, init);
    return { status: reply.status, headers: reply.headers, body: reply.body as Json };
  };

  const list = async (operationId: string, what: string): Promise<Json[]> =>
    ((await call(operationId, 'GET', `/account/${trader.account.address}/${what}`)).body['data'] ?? []) as Json[];

  const order = async (id: string): Promise<Json> => (await call('getOrder', 'GET', `/orders/${id}`)).body;
  const reaches = (id: string, status: string): Promise<Json> =>
    eventually(
      () => order(id),
      (found) => found['status'] === status,
    );
  const create = (body: Json): Promise<Answer> => call('createOrder', 'POST', '/orders', body);

  const broadcast = async ({ to, data, value, chainId, gas }: Prepared): Promise<Hex> => {
    const address = wallet.address as `0x${string}`;
    const [nonce, { maxFeePerGas, maxPriorityFeePerGas }] = await Promise.all([
      trader.client.getTransactionCount({ address, blockTag: 'pending' }),
      trader.client.estimateFeesPerGas(),
    ]);
    const gasLimit = gas ?? (await trader.client.estimateGas({ account: address, to, data }));
    const signed = await wallet.signTransaction({ type: 2, to, data, value, chainId, gasLimit, nonce, maxFeePerGas, maxPriorityFeePerGas });
    return trader.client.sendRawTransaction({ serializedTransaction: signed as Hex });
  };

  const send = async (prepared: Prepared): Promise<Hex> => {
    const hash = await broadcast(prepared);
    if ((await receiptOf(chain, hash)).status !== '0x1') throw new Error(`${hash} reverted`);
    return hash;
  };

  return {
    wallet,
    trader,
    call,
    create,
    order,
    reaches,
    broadcast,
    send,
    update: (id, body) => call('updateOrder', 'PATCH', `/orders/${id}`, body),
    cancel: (id) => call('cancelOrder', 'DELETE', `/orders/${id}`),
    submit: (id, txHash, waitSeconds) =>
      call('submitOrder', 'POST', `/orders/${id}/submit`, { txHash }, waitSeconds === undefined ? {} : { Prefer: `wait=${waitSeconds}` }),
    close: (positionId, body = {}) => call('closePosition', 'POST', `/positions/${positionId}/close`, body),
    adjust: (positionId, body) => call('updatePosition', 'PATCH', `/positions/${positionId}`, body),
    openOrders: () => list('listOpenOrders', 'orders'),
    positions: () => list('listPositions', 'positions'),
    async place(body, status) {
      const { order: made, transaction } = done(await create(body));
      if (transaction === null) throw new Error('the order came without a transaction');
      await send(transaction);
      return reaches(String(made['id']), status);
    },
    async position() {
      const [only] = await eventually(
        () => list('listPositions', 'positions'),
        (found) => found.length === 1,
      );
      return only ?? {};
    },
  };
}

/** The order and its transaction of a write that went well; what was said instead when it did not. */
export function done({ status, body }: Answer): { order: Json; transaction: Prepared | null; position?: Json } {
  if (status !== 200 && status !== 201) throw new Error(`answered ${status}: ${JSON.stringify(body)}`);
  return body as unknown as { order: Json; transaction: Prepared | null; position?: Json };
}

/** The transaction of a write that must have one. */
export function prepared(answer: Answer): Prepared {
  const { transaction } = done(answer);
  if (transaction === null) throw new Error(`there is nothing to send: ${JSON.stringify(answer.body)}`);
  return transaction;
}

/** Status and code of a refusal, side by side. */
export const refusal = ({ status, body }: Answer): [number, unknown] => [status, body['code']];

/** Repeats a request while the answer is 502 or 503, because a node or database is busy: nothing was decided about it yet. */
export const decided = (ask: () => Promise<Answer>): Promise<Answer> => eventually(ask, ({ status }) => status !== 502 && status !== 503);
