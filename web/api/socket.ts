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
const GIVE_UP_MS = 4_000;
/** A connection that is being opened has not fallen silent yet. */
const OPENING_MS = 15_000;
/** Some market moves every second: a gateway that answers without a new price has lost its own feed. */
const PRICES_OLD_MS = 5_000;
const CHECK_MS = 200;
/** A subscription that was refused (nothing is loaded yet, too many requests, the node is away) is asked for again after this long. */
const AGAIN_MS = 2_000;
const LONGEST_AGAIN_MS = 60_000;
const RETRY_MS = [250, 500, 1_000, 2_000, 3_000] as const;
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
  let socket: WebSocket | null = null;
  let apiKey: string | null = null;
  let heardAt = 0;
  let askedAt = 0;
  let pricedAt = 0;
  let failures = 0;
  let retry: ReturnType<typeof setTimeout> | undefined;

  const become = (next: LinkState): void => {
    if (state.peek() === next) return;
    changedAt.value = Date.now();
    silentMs.value = changedAt.peek() - heardAt;
    state.value = next;
  };
  const send = (message: object): void => {
    if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
  };
  const ask = ({ topic, cursor }: Held): void =>
    send({ op: 'subscribe', ...topic, ...(cursor !== null && RESUMED.has(topic.channel) ? { after: cursor } : {}) });
  const askAll = (isPrivate: boolean): void =>
    [...held.values()].filter(({ topic }) => PRIVATE.has(topic.channel) === isPrivate).forEach(ask);

  /** Refusals pass: the gateway has just started, its node is away, an address asked for too much. */
  const askAgain = (known: Held, problem: StreamProblem): void => {
    known.isRefused = true;
    if (problem.code === 'VALIDATION_ERROR') known.cursor = null; // a cursor that the gateway does not know: begin with a snapshot
    const asked = socket;
    setTimeout(() => {
      const mayAsk = !PRIVATE.has(known.topic.channel) || login.peek().trader !== null;
      if (socket === asked && known.isRefused && mayAsk && held.get(keyOf(known.topic)) === known) ask(known);
    }, againAfter(problem));
  };

  const logIn = (): void => {
    if (apiKey !== null) send({ op: 'auth', apiKey });
  };
  /** An error without a topic is of the login, or of a message that has nothing to do with it. */
  const onRefusedLogin = (problem: StreamProblem): void => {
    if (apiKey === null) return void (login.value = NOBODY);
    if (!isPassing(problem)) return void (login.value = { trader: null, problem });
    if (login.peek().trader !== null) return;
    login.value = { trader: null, problem };
    const [asked, shown] = [socket, apiKey];
    setTimeout(() => socket === asked && apiKey === shown && login.peek().trader === null && logIn(), againAfter(problem));
  };

  const drop = (): void => {
    if (socket !== null) {
      socket.onmessage = socket.onclose = socket.onerror = socket.onopen = null;
      socket.close();
      socket = null;
    }
    // The first attempt may come too early for a gateway that starts; the second says that there is none.
    if (state.peek() !== 'CONNECTING' || failures > 0) become('LOST');
    clearTimeout(retry);
    retry = setTimeout(connect, RETRY_MS[Math.min(failures, RETRY_MS.length - 1)]);
    failures += 1;
  };

  const onFrame = (text: string): void => {
    heardAt = Date.now();
    const said = JSON.parse(text) as Record<string, unknown> & Partial<Topic>;
    if (typeof said['op'] === 'string') onAnswer(said['op'], said);
    else onData(said as unknown as StreamMessage);
    judge();
  };

  /** Whether what is shown is of now; a connection that says nothing is given up later. */
  const judge = (): void => {
    const current = state.peek();
    if (current !== 'LIVE' && current !== 'STALE') return;
    const now = Date.now();
    const isOld = held.has(PRICES_KEY) && now - pricedAt > PRICES_OLD_MS;
    // A closed market has no book: only what is always there makes the page stale.
    const isRefused = [...held.values()].some((one) => one.isRefused && (PRIVATE.has(one.topic.channel) || one.topic.channel === 'prices'));
    const { problem } = login.peek();
    const isLoginLate = problem !== null && isPassing(problem);
    become(now - heardAt > SILENT_MS || isOld || isRefused || isLoginLate ? 'STALE' : 'LIVE');
  };

  const onAnswer = (op: string, said: Record<string, unknown> & Partial<Topic>): void => {
    if (op === 'hello') {
      failures = 0;
      pricedAt = Date.now();
      become('LIVE');
      askAll(false);
      logIn();
    } else if (op === 'ping') send({ op: 'pong' });
    else if (op === 'subscribed') {
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
    if (known.seq !== null && message.seq !== known.seq + 1) return drop();
    known.seq = message.seq;
    known.isRefused = false;
    // A snapshot is what the gateway knows, however old that is.
    if (message.channel === 'prices' && !message.snapshot) pricedAt = heardAt;
    known.cursor = message.cursor ?? known.cursor;
    for (const listener of known.listeners) listener.onMessage(message);
  };

  function connect(): void {
    for (const one of held.values()) Object.assign(one, { seq: null, isRefused: false });
    login.value = NOBODY;
    const opened = new WebSocket(`${location.origin.replace(/^http/, 'ws')}/v1/${chain}/ws`);
    socket = opened;
    heardAt = Date.now();
    opened.onmessage = ({ data }) => typeof data === 'string' && onFrame(data);
    opened.onopen = () => (heardAt = Date.now());
    opened.onclose = drop;
    opened.onerror = () => undefined; // a close follows
  }

  const check = (): void => {
    if (socket === null) return;
    const now = Date.now();
    if (now - askedAt >= ASK_MS) {
      askedAt = now;
      send({ op: 'ping' });
    }
    const patienceMs = socket.readyState === WebSocket.CONNECTING ? OPENING_MS : GIVE_UP_MS;
    if (now - heardAt > patienceMs) drop();
    else judge();
  };
  /** Timers of a hidden page hardly run: what they missed says nothing about the connection. */
  const onShown = (): void => {
    if (document.hidden) return;
    heardAt = Math.max(heardAt, Date.now() - ASK_MS);
    check();
  };
  const timer = setInterval(check, CHECK_MS);
  const onOnline = (): void => {
    if (socket !== null) return;
    clearTimeout(retry);
    connect();
  };
  document.addEventListener('visibilitychange', onShown);
  addEventListener('online', onOnline);
  connect();

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
        send({ op: 'unsubscribe', ...topic });
      };
    },
    authenticate(next) {
      const before = apiKey;
      apiKey = next;
      login.value = NOBODY;
      if (before !== next) for (const one of held.values()) if (PRIVATE.has(one.topic.channel)) one.cursor = null;
      if (before === null || before === next) return logIn();
      failures = 0;
      drop();
    },
    close() {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', onShown);
      removeEventListener('online', onOnline);
      drop();
      clearTimeout(retry);
    },
  };
}
