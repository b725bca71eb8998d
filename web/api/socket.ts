import { openLine, type Line } from '@diamond-gateway/client/line';
import { signal, type ReadonlySignal } from '@preact/signals';

/** LIVE: the gateway answers. STALE: connected, but silent. LOST: no connection. */
export type LinkState = 'CONNECTING' | 'LIVE' | 'STALE' | 'LOST';

export interface Topic {
  readonly channel: 'prices' | 'book' | 'trades' | 'candles' | 'orders' | 'fills' | 'positions' | 'account';
  readonly market?: string;
  readonly interval?: string;
}

/** A message of a subscription, as the gateway sends it. */
export interface StreamMessage<Data = unknown> extends Topic {
  readonly snapshot: boolean;
  readonly seq: number;
  /** The position in the account's journal. */
  readonly cursor?: number;
  readonly correction?: true;
  readonly id?: string | number;
  readonly data: Data;
}

export interface StreamProblem {
  readonly code: string;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

export interface Listener<Data> {
  readonly onMessage: (message: StreamMessage<Data>) => void;
  readonly onProblem?: (problem: StreamProblem) => void;
}

export interface Link {
  readonly state: ReadonlySignal<LinkState>;
  /** When the state changed, by this browser's clock. */
  readonly changedAt: ReadonlySignal<number>;
  /** How long nothing had arrived when the state changed. */
  readonly silentMs: ReadonlySignal<number>;
  /** The account of the last login, or why it was refused; a refusal that passes is asked again by itself. */
  readonly login: ReadonlySignal<{ readonly trader: string | null; readonly problem: StreamProblem | null }>;
  /** Subscribed again by itself after a cut; orders and fills go on from their cursor. */
  subscribe<Data>(topic: Topic, listener: Listener<Data>): () => void;
  /** An API key for the channels of an account; null forgets it. The key is sent in a message, never in a URL. */
  authenticate(apiKey: string | null): void;
  close(): void;
}

/** The page asks twice a second and takes the silence of three questions for a cut: known within two seconds, also where nothing is closed. */
const ASK_MS = 500;
const SILENT_MS = 1_500;
/** Some market moves every second: a gateway that answers without a new price has lost its own feed. */
const PRICES_OLD_MS = 5_000;
const CHECK_MS = 200;
/** A subscription that was refused (nothing is loaded yet, too many requests, the node is away) is asked for again after this long. */
const AGAIN_MS = 2_000;
const LONGEST_AGAIN_MS = 60_000;
/** A connection that is being opened has not fallen silent yet. */
const OPENING_MS = 15_000;
const LONGEST_PAUSE_MS = 3_000;
/** The first attempt may come too early for a gateway that starts; after this long there is none. */
const STARTING_MS = 500;
const RESUMED: ReadonlySet<string> = new Set(['orders', 'fills']);
const PRIVATE: ReadonlySet<string> = new Set(['orders', 'fills', 'positions', 'account']);

interface Held {
  readonly topic: Topic;
  readonly listeners: Set<Listener<unknown>>;
  cursor: number | null;
  /** Of this connection: numbers begin anew with each. */
  seq: number | null;
  /** The gateway has refused or ended it; it is asked for again. */
  isRefused: boolean;
}

/** Refusals that say nothing about the key. */
const PASSING: ReadonlySet<string> = new Set(['INTERNAL', 'RATE_LIMITED', 'NOT_READY', 'UPSTREAM_UNAVAILABLE']);
export const isPassing = ({ code }: Pick<StreamProblem, 'code'>): boolean => PASSING.has(code);

const againAfter = ({ details }: StreamProblem): number =>
  Math.min(Math.max(AGAIN_MS, Number(details['retryAfterSeconds'] ?? 0) * 1_000), LONGEST_AGAIN_MS);

const keyOf = ({ channel, market, interval }: Topic): string => [channel, market, interval].join(' ');
const PRICES_KEY = keyOf({ channel: 'prices' });
const NOBODY = { trader: null, problem: null } as const;

/** The WebSocket of one chain's native API. It connects for as long as it is open. */
export function openLink(chain: string): Link {
  const state = signal<LinkState>('CONNECTING');
  const changedAt = signal(Date.now());
  const silentMs = signal(0);
  const login = signal<{ trader: string | null; problem: StreamProblem | null }>(NOBODY);
  const held = new Map<string, Held>();
  const openedAt = Date.now();
  /** Counts connections: what was asked on a former one is over. */
  let connection = 0;
  let apiKey: string | null = null;
  let pricedAt = 0;

  const become = (next: LinkState): void => {
    if (state.peek() === next) return;
    changedAt.value = Date.now();
    silentMs.value = line.silentMs();
    state.value = next;
  };
  const ask = ({ topic, cursor }: Held): void =>
    line.say({ op: 'subscribe', ...topic, ...(cursor !== null && RESUMED.has(topic.channel) ? { after: cursor } : {}) });
  const askAll = (isPrivate: boolean): void =>
    [...held.values()].filter(({ topic }) => PRIVATE.has(topic.channel) === isPrivate).forEach(ask);

  /** Refusals pass: the gateway has just started, its node is away, an address asked for too much. */
  const askAgain = (known: Held, problem: StreamProblem): void => {
    known.isRefused = true;
    if (problem.code === 'VALIDATION_ERROR') known.cursor = null; // a cursor that the gateway does not know: begin with a snapshot
    const asked = connection;
    setTimeout(() => {
      const mayAsk = !PRIVATE.has(known.topic.channel) || login.peek().trader !== null;
      if (connection === asked && known.isRefused && mayAsk && held.get(keyOf(known.topic)) === known) ask(known);
    }, againAfter(problem));
  };

  const logIn = (): void => {
    if (apiKey !== null) line.say({ op: 'auth', apiKey });
  };
  /** An error without a topic is of the login, or of a message that has nothing to do with it. */
  const onRefusedLogin = (problem: StreamProblem): void => {
    if (apiKey === null) return void (login.value = NOBODY);
    if (!isPassing(problem)) return void (login.value = { trader: null, problem });
    if (login.peek().trader !== null) return;
    login.value = { trader: null, problem };
    const [asked, shown] = [connection, apiKey];
    setTimeout(() => connection === asked && apiKey === shown && login.peek().trader === null && logIn(), againAfter(problem));
  };

  /** Whether what is shown is of now. */
  const judge = (): void => {
    const current = line.state();
    const now = Date.now();
    if (current === 'lost' && (state.peek() !== 'CONNECTING' || now - openedAt > STARTING_MS)) become('LOST');
    if (current !== 'live' && current !== 'stale') return;
    const isOld = held.has(PRICES_KEY) && now - pricedAt > PRICES_OLD_MS;
    // A closed market has no book: only what is always there makes the page stale.
    const isRefused = [...held.values()].some((one) => one.isRefused && (PRIVATE.has(one.topic.channel) || one.topic.channel === 'prices'));
    const { problem } = login.peek();
    const isLoginLate = problem !== null && isPassing(problem);
    become(current === 'stale' || isOld || isRefused || isLoginLate ? 'STALE' : 'LIVE');
  };

  const onAnswer = (op: string, said: Record<string, unknown> & Partial<Topic>): void => {
    if (op === 'subscribed') {
      const known = held.get(keyOf(said as Topic));
      // A state shows with its first message that it is read; entries may not come for hours.
      if (known !== undefined && RESUMED.has(known.topic.channel)) known.isRefused = false;
    } else if (op === 'authenticated') {
      login.value = { trader: String(said['trader']), problem: null };
      askAll(true);
    } else if (op === 'error') {
      const problem = said as unknown as StreamProblem;
      const shown = {
        code: problem.code,
        message: problem.message,
        details: (problem.details as StreamProblem['details'] | undefined) ?? {},
      };
      if (said.channel === undefined) onRefusedLogin(shown);
      else {
        const known = held.get(keyOf(said as Topic));
        if (known === undefined) return;
        known.listeners.forEach((listener) => listener.onProblem?.(shown));
        askAgain(known, shown);
      }
    }
  };

  const onData = (message: StreamMessage): void => {
    const known = held.get(keyOf(message));
    if (known === undefined) return;
    // A number that is missing means a message that is missing: a new connection begins with snapshots, or at the cursor.
    if (known.seq !== null && message.seq !== known.seq + 1) return line.restart();
    known.seq = message.seq;
    known.isRefused = false;
    // A snapshot is what the gateway knows, however old that is.
    if (message.channel === 'prices' && !message.snapshot) pricedAt = Date.now();
    known.cursor = message.cursor ?? known.cursor;
    for (const listener of known.listeners) listener.onMessage(message);
  };

  const line: Line = openLine({
    url: `${location.origin.replace(/^http/, 'ws')}/v1/${chain}/ws`,
    WebSocket,
    pingMs: ASK_MS,
    staleMs: SILENT_MS,
    openingMs: OPENING_MS,
    longestPauseMs: LONGEST_PAUSE_MS,
    onState: (next) => {
      if (next === 'lost') login.value = NOBODY;
      // What follows the greeting is judged with it.
      if (next !== 'live') judge();
    },
    onUp() {
      connection += 1;
      for (const one of held.values()) Object.assign(one, { seq: null, isRefused: false });
      login.value = NOBODY;
      pricedAt = Date.now();
      judge();
      askAll(false);
      logIn();
    },
    onMessage(said) {
      if (typeof said['op'] === 'string') onAnswer(said['op'], said);
      else onData(said as unknown as StreamMessage);
      judge();
    },
  });
  const timer = setInterval(judge, CHECK_MS);
  const onOnline = (): void => line.retryNow();
  addEventListener('online', onOnline);

  return {
    state,
    changedAt,
    silentMs,
    login,
    subscribe(topic, listener) {
      const key = keyOf(topic);
      const known = held.get(key) ?? { topic, listeners: new Set(), cursor: null, seq: null, isRefused: false };
      const isNew = !held.has(key);
      held.set(key, known);
      known.listeners.add(listener as Listener<unknown>);
      const mayAsk = !PRIVATE.has(topic.channel) || login.peek().trader !== null;
      if (key === PRICES_KEY) pricedAt = Date.now();
      // Before the gateway's first word the answer to it asks for everything.
      if (isNew && mayAsk && (state.peek() === 'LIVE' || state.peek() === 'STALE')) ask(known);
      return () => {
        if (!known.listeners.delete(listener as Listener<unknown>) || known.listeners.size > 0) return;
        held.delete(key);
        line.say({ op: 'unsubscribe', ...topic });
      };
    },
    authenticate(next) {
      const before = apiKey;
      apiKey = next;
      login.value = NOBODY;
      if (before !== next) for (const one of held.values()) if (PRIVATE.has(one.topic.channel)) one.cursor = null;
      if (before === null || before === next) return logIn();
      line.restart();
    },
    close() {
      clearInterval(timer);
      removeEventListener('online', onOnline);
      line.close();
    },
  };
}
