/** A WebSocket that comes back after every cut. */

/** `live`: messages come. `stale`: nothing came for a while, a ping included. `lost`: the connection is down and is made again. */
export type StreamState = 'connecting' | 'live' | 'stale' | 'lost' | 'closed';

/** A browser's or `ws`'s. */
export type SocketConstructor = new (url: string) => object;

interface Socket {
  send(text: string): void;
  close(): void;
  /** Only `ws` has it: it does not wait for an answer, which a dead connection never gives. */
  terminate?(): void;
  addEventListener(type: string, listener: (event: { readonly data?: unknown }) => void): void;
}

export interface LineOptions {
  readonly url: string;
  readonly WebSocket: SocketConstructor;
  /** After so much silence the gateway is asked for a sign of life. */
  readonly pingMs: number;
  /** After so much silence the state is `stale`; after three times as much the connection is given up. */
  readonly staleMs: number;
  /** Until a new connection greets. */
  readonly openingMs?: number;
  readonly longestPauseMs?: number;
  /** A connection is up and has greeted. */
  readonly onUp: () => void;
  readonly onMessage: (message: Readonly<Record<string, unknown>>) => void;
  readonly onState: (state: StreamState) => void;
}

export interface Line {
  /** Dropped while the connection is down. */
  say(message: object): void;
  /** Cuts the connection, so that a new one is made. */
  restart(): void;
  /** Ends the pause. */
  retryNow(): void;
  close(): void;
  state(): StreamState;
  silentMs(): number;
}

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;
const LOST_AFTER = 3;
/** Timers of a hidden page hardly run: that silence says nothing about the connection. */
const ASLEEP_AFTER = 4;

export function openLine(options: LineOptions): Line {
  const {
    url,
    WebSocket,
    pingMs,
    staleMs,
    longestPauseMs = LONGEST_PAUSE_MS,
    openingMs = LOST_AFTER * staleMs,
    onUp,
    onMessage,
    onState,
  } = options;
  const lookMs = Math.max(50, Math.min(pingMs, staleMs) / 2);
  let state: StreamState = 'connecting';
  let socket: Socket | null = null;
  let failures = 0;
  let heardAt = 0;
  let lookedAt = 0;
  let watch: ReturnType<typeof setInterval> | null = null;
  let retry: ReturnType<typeof setTimeout> | null = null;

  const become = (next: StreamState): void => {
    if (state === next || state === 'closed') return;
    state = next;
    onState(next);
  };

  const say = (message: object): void => {
    try {
      socket?.send(JSON.stringify(message));
    } catch {
      // A socket that is closing refuses to send; its end is reported by its own event.
    }
  };

  const hear = (text: unknown): void => {
    heardAt = Date.now();
    const message = parse(text);
    if (message === null) return restart();
    if (message['op'] === 'hello') {
      failures = 0;
      become('live');
      return onUp();
    }
    if (state === 'stale') become('live');
    if (message['op'] === 'ping') say({ op: 'pong' });
    else if (message['op'] !== 'pong') onMessage(message);
  };

  const look = (): void => {
    const now = Date.now();
    if (now - lookedAt >= ASLEEP_AFTER * lookMs) heardAt = Math.max(heardAt, now - pingMs);
    lookedAt = now;
    const silence = now - heardAt;
    if (silence >= (state === 'live' || state === 'stale' ? LOST_AFTER * staleMs : openingMs)) return restart();
    if (silence >= staleMs && state === 'live') become('stale');
    if (silence >= pingMs) say({ op: 'ping' });
  };

  /** Events of a socket that was replaced are not listened to any more. */
  const connect = (): void => {
    heardAt = lookedAt = Date.now();
    retry = null;
    const made = new WebSocket(url) as Socket;
    socket = made;
    made.addEventListener('message', ({ data }) => made === socket && hear(data));
    made.addEventListener('close', () => made === socket && lose());
    // The reason is not given to scripts; the close that follows is what counts.
    made.addEventListener('error', () => undefined);
    watch = setInterval(look, lookMs);
  };

  const lose = (): void => {
    if (watch !== null) clearInterval(watch);
    socket = null;
    become('lost');
    if (state === 'closed') return;
    const pause = Math.min(longestPauseMs, FIRST_PAUSE_MS * 2 ** failures);
    failures += 1;
    // Spread out, so that the clients of a restarted gateway do not all come at once.
    if (retry !== null) clearTimeout(retry);
    retry = setTimeout(connect, pause * (0.5 + Math.random() / 2));
  };

  const restart = (): void => {
    const old = socket;
    lose();
    if (old?.terminate === undefined) old?.close();
    else old.terminate();
  };

  connect();
  return {
    say,
    restart,
    retryNow() {
      if (retry === null || state === 'closed') return;
      clearTimeout(retry);
      connect();
    },
    state: () => state,
    silentMs: () => Date.now() - heardAt,
    close() {
      become('closed');
      if (watch !== null) clearInterval(watch);
      if (retry !== null) clearTimeout(retry);
      const old = socket;
      socket = null;
      old?.close();
    },
  };
}

function parse(text: unknown): Readonly<Record<string, unknown>> | null {
  try {
    const parsed: unknown = JSON.parse(String(text));
    return typeof parsed === 'object' && parsed !== null ? (parsed as Readonly<Record<string, unknown>>) : null;
  } catch {
    return null;
  }
}
