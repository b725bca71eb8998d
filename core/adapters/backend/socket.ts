import type { IncomingMessage } from 'node:http';
import { WebSocket } from 'ws';
import type { Logger } from '../../ports/log.js';
import type { Clock } from '../../ports/clock.js';
import type { Cancel } from '../../types.js';
import { retryAfter } from './http.js';

export interface SocketOptions {
  /** Name of the stream, for the log. */
  readonly name: string;
  readonly url: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: () => number;
  readonly maxPayload: number;
  /** Without a frame for this long, counted from the connection attempt, the connection is considered dead and reopened. */
  readonly silenceMs: number;
  /** Text sent periodically, where upstream may expect a heartbeat. */
  readonly keepAlive?: { readonly text: string; readonly everyMs: number };
  readonly onFrame: (frame: unknown) => void;
  readonly onFault: (reason: string) => void;
  readonly onDial?: () => void;
}

const FIRST_DELAY_MS = 500;
const LAST_DELAY_MS = 30_000;
const PROVEN_MS = 3_000;
/** More than this many frames of maximum size between two checks is a flood. */
const FLOOD_FRAMES = 4;

/** A socket that reconnects until stopped. Only frames over some time prove a connection good and reset the back-off. */
export function openSocket(options: SocketOptions): Cancel {
  const { clock } = options;
  const backoff = createBackoff(FIRST_DELAY_MS, LAST_DELAY_MS, options.random);
  let stopped = false;
  let closeConnection: Cancel = () => undefined;
  let cancelRedial: Cancel = () => undefined;

  const dial = (): void => {
    if (stopped) return;
    options.onDial?.();
    closeConnection = connect(options, backoff.reset, (reason, patienceMs) => {
      if (stopped) return;
      const retryMs = backoff.next(patienceMs);
      options.log.info('feed.line-lost', { line: options.name, reason, retryMs });
      options.onFault(reason);
      cancelRedial = clock.after(retryMs, dial);
    });
  };
  dial();

  return () => {
    stopped = true;
    cancelRedial();
    closeConnection();
  };
}

/** One connection. `onEnd` is called exactly once, unless the connection was closed by us. */
function connect(options: SocketOptions, onGood: () => void, onEnd: (reason: string, patienceMs: number) => void): Cancel {
  const { clock, silenceMs, keepAlive } = options;
  const socket = new WebSocket(options.url, { maxPayload: options.maxPayload, followRedirects: false });
  let ended = false;
  const dialledAt = clock.now();
  let lastFrameAt = dialledAt;
  let received = 0;
  const end = (reason: string | null, patienceMs = 0): void => {
    if (ended) return;
    ended = true;
    stopWatch();
    stopKeepAlive?.();
    socket.terminate();
    if (reason !== null) onEnd(reason, patienceMs);
  };
  const stopWatch = clock.every(Math.ceil(silenceMs / 5), () => {
    received = 0;
    if (clock.now() - lastFrameAt >= silenceMs) end(`silent for ${silenceMs} ms`);
  });
  const stopKeepAlive =
    keepAlive && clock.every(keepAlive.everyMs, () => socket.readyState === WebSocket.OPEN && socket.send(keepAlive.text));

  socket.on('message', (data: Buffer, isBinary: boolean) => {
    received += data.length;
    if (received > FLOOD_FRAMES * options.maxPayload) return end('flooded');
    const frame = isBinary || ended ? undefined : parseFrame(data);
    if (frame === undefined) return;
    lastFrameAt = clock.now();
    if (lastFrameAt - dialledAt >= PROVEN_MS) onGood();
    handle(options, frame);
  });
  socket.on('unexpected-response', (_request, { statusCode = 0, headers }: IncomingMessage) =>
    end(`HTTP ${statusCode}`, retryAfter(headers['retry-after'], clock.now())),
  );
  socket.on('error', (error: Error & { code?: string }) => end(error.code ?? error.message));
  socket.on('close', (code: number) => end(`closed with ${code}`));
  return () => end(null);
}

/** A failing frame handler is a bug of ours, but must not let upstream crash the process. */
function handle({ onFrame, log }: SocketOptions, frame: unknown): void {
  try {
    onFrame(frame);
  } catch (error) {
    log.error('feed.frame-failed', { error });
  }
}

function parseFrame(data: Buffer): unknown {
  try {
    return JSON.parse(data.toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}

interface Backoff {
  /** The wait after one more failure. `atLeastMs` is upstream's retry-after. */
  readonly next: (atLeastMs?: number) => number;
  readonly reset: () => void;
}

/** Exponential with jitter: between half and all of the step, so that clients do not retry simultaneously. */
export function createBackoff(firstMs: number, capMs: number, random: () => number): Backoff {
  let failures = 0;
  return {
    next(atLeastMs = 0) {
      const step = Math.min(capMs, firstMs * 2 ** Math.min(failures, 30));
      failures += 1;
      return Math.max(atLeastMs, step / 2 + (step / 2) * random());
    },
    reset() {
      failures = 0;
    },
  };
}
