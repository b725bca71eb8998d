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
  close(): void;
  state(): StreamState;
}

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;
const LOST_AFTER = 3;

export function openLine(options: LineOptions): Line {
  const { url, WebSocket, pingMs, staleMs, onUp, onMessage, onState } = options;
  let state: StreamState = 'connecting';
  let socket: Socket | null = null;
  let failures = 0;
  let heardAt = 0;
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
    const silence = Date.now() - heardAt;
    if (silence >= LOST_AFTER * staleMs) return restart();
    if (silence >= staleMs && state === 'live') become('stale');
    if (silence >= pingMs) say({ op: 'ping' });
  };

  /** Events of a socket that was replaced are not listened to any more. */
  const connect = (): void => {
    heardAt = Date.now();
    const made = new WebSocket(url) as Socket;
    socket = made;
    made.addEventListener('message', ({ data }) => made === socket && hear(data));
    made.addEventListener('close', () => made === socket && lose());
    // The reason is not given to scripts; the close that follows is what counts.
    made.addEventListener('error', () => undefined);
    watch = setInterval(look, Math.max(50, Math.min(pingMs, staleMs) / 2));
  };

  const lose = (): void => {
    if (watch !== null) clearInterval(watch);
    socket = null;
    become('lost');
    if (state === 'closed') return;
    const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures);
    failures += 1;
    // Spread out, so that the clients of a restarted gateway do not all come at once.
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
    state: () => state,
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
