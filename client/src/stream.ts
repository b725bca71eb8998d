import { PRIVATE_CHANNELS, type Channel, type ErrorCode, type Messages, type Subscriptions } from './api.js';
import { ClientError, GatewayError } from './errors.js';
import { openLine, type SocketConstructor, type StreamState } from './line.js';

/** How far a consumer has come in the journal of the account; kept by the caller, it survives a restart. */
export interface Cursors {
  readonly orders?: number | undefined;
  readonly fills?: number | undefined;
}

export interface StreamOptions {
  /** The platform's by default; Node 20 has none: pass that of the package `ws`. */
  readonly WebSocket?: SocketConstructor | undefined;
  /** Continue behind these instead of beginning with a snapshot. */
  readonly cursors?: Cursors | undefined;
  readonly onState?: ((state: StreamState) => void) | undefined;
  /** A refused subscription or login, or what a handler threw or rejected with. */
  readonly onError?: ((error: unknown) => void) | undefined;
  readonly pingMs?: number | undefined;
  readonly staleMs?: number | undefined;
}

export interface Stream {
  /** Answers what ends the subscription. One subscription per channel, market and interval. */
  subscribe<Name extends Channel>(
    asked: Subscriptions[Name] & { readonly channel: Name },
    /** An order or fill counts as handled when this returns, or what it returns resolves. If it fails, the message comes again. */
    onMessage: (message: Messages[Name]) => unknown,
  ): () => void;
  /** Of the last messages that handlers have finished with. */
  cursors(): Cursors;
  state(): StreamState;
  close(): void;
}

export interface StreamSource {
  readonly url: string;
  readonly WebSocket: SocketConstructor | undefined;
  /** The message that logs in; null where the client has no credentials. */
  readonly login: () => Promise<object | null>;
  /** Follows the gateway's clock after a refused timestamp; throws where that is too far away. */
  readonly adoptClock: (serverTime: unknown) => void;
}

type Asked = Subscriptions[Channel];
type Message = Messages[Channel];

interface Subscription {
  readonly asked: Asked;
  readonly handle: (message: never) => unknown;
  /** Number of its last message on this connection. */
  seq: number | null;
  /** Orders and fills that came while the handler was at work on one. */
  waiting: Message[];
  isBusy: boolean;
  /** The handler failed: until the subscription begins again behind the cursor, nothing is given to it. */
  isFailed: boolean;
}

const DEFAULT_PING_MS = 5_000;
const DEFAULT_STALE_MS = 12_000;
/** After a refusal that passes by itself, everything is asked for again. */
const AGAIN_MS = 2_000;
const PASSING: readonly unknown[] = ['RATE_LIMITED', 'NOT_READY', 'UPSTREAM_UNAVAILABLE', 'INTERNAL'];

const isPrivate = (channel: string): boolean => PRIVATE_CHANNELS.some((name) => name === channel);
const isResumed = (channel: string): channel is keyof Cursors => channel === 'orders' || channel === 'fills';

function keyOf(topic: { readonly channel?: unknown; readonly market?: unknown; readonly interval?: unknown }): string {
  const market = typeof topic.market === 'string' ? topic.market.toUpperCase().replace('-', '/') : '';
  return [topic.channel, market, topic.interval ?? ''].join(' ');
}

export function openStream(source: StreamSource, options: StreamOptions = {}): Stream {
  const WebSocket = options.WebSocket ?? source.WebSocket ?? (globalThis as { readonly WebSocket?: SocketConstructor }).WebSocket;
  if (WebSocket === undefined)
    throw new ClientError('This platform has no WebSocket: pass the constructor of the package ws as WebSocket.');
  const held = new Map<string, Subscription>();
  const reached: Record<keyof Cursors, number | null> = { orders: options.cursors?.orders ?? null, fills: options.cursors?.fills ?? null };
  /** Fills of a snapshot may come again when the stream continues behind its cursor. */
  const shown = new Set<number>();
  let login: 'none' | 'asked' | 'again' | 'done' | 'failed' = 'none';

  let again: ReturnType<typeof setTimeout> | null = null;

  const report = (error: unknown): void => options.onError?.(error);

  /** A new connection begins every subscription behind its cursor. */
  const beginLater = (): void => {
    again ??= setTimeout(() => {
      again = null;
      line.restart();
    }, AGAIN_MS);
  };
  const forget = (): void => {
    if (again !== null) clearTimeout(again);
    again = null;
  };

  const enter = async (): Promise<void> => {
    const message = await source.login();
    if (message === null) throw new ClientError('Channels of an account need an agent or an API key.');
    line.say(message);
  };

  const begin = (subscription: Subscription): void => {
    const { channel } = subscription.asked;
    if (isPrivate(channel) && login !== 'done') {
      if (login !== 'none') return;
      login = 'asked';
      return void enter().catch((error: unknown) => {
        report(error);
        if (!(error instanceof ClientError) || error.cause !== undefined) beginLater();
      });
    }
    Object.assign(subscription, { seq: null, waiting: [], isFailed: false });
    const cursor = isResumed(channel) ? (reached[channel] ?? undefined) : undefined;
    line.say({ op: 'subscribe', ...subscription.asked, after: cursor });
  };

  const beginAll = (): void => [...held.values()].forEach(begin);

  const onRefused = (message: Readonly<Record<string, unknown>>): void => {
    const { code, channel, details = {} } = message;
    const error = new GatewayError('The stream', 0, {
      code: code as ErrorCode,
      message: String(message['message']),
      details: details as Readonly<Record<string, unknown>>,
    });
    const isLogin = channel === undefined && (login === 'asked' || login === 'again');
    if (isLogin && login === 'asked' && code === 'TIMESTAMP_OUT_OF_WINDOW') return loginAgain(error);
    if (isLogin) login = 'failed';
    report(error);
    const refused = held.get(keyOf(message));
    if (PASSING.includes(code) && (isLogin || refused !== undefined)) return beginLater();
    if (refused === undefined || typeof channel !== 'string' || !isResumed(channel) || code !== 'VALIDATION_ERROR') return;
    // Without a cursor there is nothing left to give up.
    if (reached[channel] === null) return;
    // The journal does not have this cursor: a snapshot is all that can be given.
    reached[channel] = null;
    begin(refused);
  };

  const loginAgain = (error: GatewayError): void => {
    try {
      source.adoptClock(error.details['serverTime']);
      login = 'again';
      enter().catch(report);
    } catch (reason) {
      report(reason);
    }
  };

  const onMessage = (message: Readonly<Record<string, unknown>>): void => {
    if (message['op'] === 'authenticated') {
      login = 'done';
      [...held.values()].filter(({ asked }) => isPrivate(asked.channel)).forEach(begin);
    } else if (message['op'] === 'error') onRefused(message);
    else if (message['op'] === undefined) deliver(message as unknown as Message);
  };

  const deliver = (message: Message): void => {
    const subscription = held.get(keyOf(message));
    if (subscription === undefined || subscription.isFailed) return;
    // A message that was skipped is asked for again, behind the cursor.
    if (subscription.seq !== null && message.seq !== subscription.seq + 1) return line.restart();
    subscription.seq = message.seq;
    if (isResumed(message.channel)) {
      subscription.waiting.push(message);
      work(subscription);
    } else void attempt(subscription, message).catch(report);
  };

  const attempt = async ({ handle }: Subscription, message: Message): Promise<void> => {
    await handle(message as never);
  };

  /** One after the other, so that the cursor never passes a message that is not done. */
  const work = (subscription: Subscription): void => {
    if (subscription.isBusy) return;
    let message = subscription.waiting.shift();
    while (message !== undefined && isKnown(message)) message = subscription.waiting.shift();
    if (message === undefined) return;
    const { channel, cursor } = message as Messages[keyof Cursors];
    subscription.isBusy = true;
    const finish = (): void => {
      reached[channel] = cursor;
    };
    const fails = (error: unknown): void => fail(subscription, error);
    void attempt(subscription, message)
      .then(finish, fails)
      .finally(() => {
        subscription.isBusy = false;
        work(subscription);
      });
  };

  const fail = (subscription: Subscription, error: unknown): void => {
    Object.assign(subscription, { waiting: [], isFailed: true });
    if (held.get(keyOf(subscription.asked)) === subscription && line.state() !== 'closed') beginLater();
    report(error);
  };

  const isKnown = (message: Message): boolean => {
    if (message.channel !== 'orders' && message.channel !== 'fills') return false;
    const last = reached[message.channel];
    if (!message.snapshot && last !== null && message.cursor <= last) return true;
    return message.channel === 'fills' && isShown(message);
  };

  const isShown = ({ snapshot, data, correction, id }: Messages['fills']): boolean => {
    if (snapshot && Array.isArray(data)) (data as readonly { readonly id: number }[]).forEach((fill) => shown.add(fill.id));
    if (correction === true && id !== undefined) shown.delete(id);
    return !snapshot && correction !== true && data !== null && !Array.isArray(data) && 'id' in data && shown.has(data.id);
  };

  const line = openLine({
    url: source.url,
    WebSocket,
    pingMs: options.pingMs ?? DEFAULT_PING_MS,
    staleMs: options.staleMs ?? DEFAULT_STALE_MS,
    onState: (state) => options.onState?.(state),
    onUp() {
      forget();
      login = 'none';
      beginAll();
    },
    onMessage,
  });

  return {
    subscribe(asked, handle) {
      const key = keyOf(asked);
      if (held.has(key)) throw new ClientError(`There is a subscription to ${key.trim()} already.`);
      const subscription: Subscription = { asked, handle, seq: null, waiting: [], isBusy: false, isFailed: false };
      if ('after' in asked && asked.after !== undefined && isResumed(asked.channel)) reached[asked.channel] = asked.after;
      held.set(key, subscription);
      if (line.state() === 'live' || line.state() === 'stale') begin(subscription);
      return () => {
        if (!held.delete(key)) return;
        subscription.waiting = [];
        line.say({ op: 'unsubscribe', ...asked, after: undefined });
      };
    },
    cursors: () => ({
      ...(reached.orders === null ? {} : { orders: reached.orders }),
      ...(reached.fills === null ? {} : { fills: reached.fills }),
    }),
    state: () => line.state(),
    close() {
      for (const subscription of held.values()) subscription.waiting = [];
      forget();
      line.close();
    },
  };
}
