import type { Order } from './api.js';
import type { Api } from './methods.js';
import { ChainError, ClientError, GatewayError, requireSame } from './errors.js';
import type { WriteOperation } from './verify-context.js';

export interface WaitOptions {
  /** 60,000 by default. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

interface Waited {
  readonly api: Api;
  readonly operation: WriteOperation | null;
  readonly order: Pick<Order, 'id'> | Order | null;
  /** Null where nothing was sent. */
  readonly isMined: (() => Promise<true | null>) | null;
}

const DEFAULT_TIMEOUT_MS = 60_000;
const PAUSE_MS = 150;
/** The gateway holds a reply back for at most so many seconds. */
const HELD_SECONDS = 8;

const FINAL: readonly Order['status'][] = ['filled', 'rejected', 'canceled', 'expired'];
const MOVING: readonly Order['status'][] = ['prepared', 'pending'];

const isSettled = ({ status }: Order): boolean => !MOVING.includes(status);
const isFinal = ({ status }: Order): boolean => FINAL.includes(status);

/** Of the API's codes, those that pass by themselves. */
const PASSING: readonly string[] = ['RATE_LIMITED', 'NOT_READY', 'UPSTREAM_UNAVAILABLE', 'INTERNAL'];
const isPassing = (error: unknown): boolean =>
  error instanceof GatewayError
    ? PASSING.includes(error.code) || error.status >= 502
    : (error instanceof ClientError || error instanceof ChainError) && error.cause !== undefined;

const CHANGEABLE = ['price', 'size', 'sl', 'tp', 'slippage'] as const;
const isAs = (wanted: Order) => (order: Order) => isFinal(order) || CHANGEABLE.every((name) => order[name] === wanted[name]);

/** The order once it has come to where the operation leads, or the change is mined. */
export async function waitForOrder({ api, operation, order, isMined }: Waited, options: WaitOptions): Promise<Order | null> {
  const { signal, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const until = Date.now() + timeoutMs;
  const rest = async (): Promise<void> => {
    signal?.throwIfAborted();
    if (Date.now() >= until)
      throw new ClientError(`Waited ${timeoutMs} ms${order === null ? '' : ` for order ${order.id}`}; it goes on without this client.`);
    await new Promise((done) => setTimeout(done, PAUSE_MS));
  };

  /** The transaction is sent: an outage must not look as if it were not. */
  const patiently = async <Value>(act: (signal: AbortSignal) => Promise<Value>): Promise<Value> => {
    for (;;) {
      const time = AbortSignal.timeout(Math.max(1, until - Date.now()));
      try {
        return await act(signal === undefined ? time : AbortSignal.any([time, signal]));
      } catch (error) {
        if (!time.aborted && !isPassing(error)) throw error;
      }
      await rest();
    }
  };
  /** Of an order whose transaction this client sent, the gateway's word counts once the client's own node has it. */
  const isMinedFor = async ({ status }: Order): Promise<boolean> =>
    isMined === null || status === 'rejected' || ((await patiently(isMined)) === true && status !== 'expired');

  const changes = operation === 'cancelOrder' || operation === 'updateOrder' || order === null;
  if (isMined !== null && changes) while ((await patiently(isMined)) === null) await rest();
  if (order === null) return null;
  const reached = operation === 'cancelOrder' ? isFinal : operation === 'updateOrder' && 'status' in order ? isAs(order) : isSettled;
  for (;;) {
    const held = changes ? {} : { wait: Math.max(0, Math.min(HELD_SECONDS, Math.floor((until - Date.now()) / 1000))) };
    const found = await patiently((bounded) => api.getOrder({ id: order.id }, { ...held, signal: bounded }));
    requireSame('ORDER', 'the reply is about another order', order.id, found.id);
    if (reached(found) && (await isMinedFor(found))) return found;
    await rest();
  }
}
