import type { WebSocket } from 'ws';
import type { Clock } from '../../core/ports/clock.js';
import type { Cancel } from '../../core/types.js';
import type { PriceWalk } from './price-walk.js';
import { PRICE_SCALE } from './price-grid.js';
import { humanNumber } from './wire-format.js';

export type PriceProtocol = 'v3' | 'v4';

export interface PriceStream {
  add(socket: WebSocket, protocol: PriceProtocol): void;
  /** Pauses everything, including heartbeats; the sockets stay open. */
  readonly setPaused: (paused: boolean) => void;
  readonly isPaused: () => boolean;
  stop(): void;
}

const BATCH_MS = 25;
const HEARTBEAT_MS = 1_000;
/** An unchanged price is sent again after this long. */
const REPRINT_MS = 500;
/** A client that lags this far behind is disconnected. */
const MAX_BUFFERED = 4 * 1024 * 1024;

/** Price frames as production sends them: what changed within 25 ms in one frame, a lone timestamp every second. */
export function createPriceStream(walk: PriceWalk, clock: Clock): PriceStream {
  const sockets = new Map<WebSocket, PriceProtocol>();
  const printed = new Map<number, { readonly price: bigint; readonly at: number }>();
  let batch = new Map<number, bigint>();
  let isPaused = false;

  const send = (texts: Readonly<Record<PriceProtocol, string>>): void => {
    for (const [socket, protocol] of sockets) {
      if (socket.bufferedAmount > MAX_BUFFERED) socket.terminate();
      else socket.send(texts[protocol]);
    }
  };

  let stopFlush: Cancel | null = null;
  const flush = (): void => {
    stopFlush = null;
    const prices = [...batch].flatMap(([pairIndex, price]) => [pairIndex, humanNumber(price, PRICE_SCALE)]);
    batch = new Map();
    if (prices.length > 0 && !isPaused) send({ v3: JSON.stringify(prices), v4: JSON.stringify({ m: prices, i: prices, t: clock.now() }) });
  };

  const heartbeat = (): void => {
    const text = JSON.stringify([clock.now()]);
    if (!isPaused) send({ v3: text, v4: text });
  };

  const stopHeartbeat = clock.every(HEARTBEAT_MS, heartbeat);
  const unsubscribe = walk.onTick(({ pairIndex, price, at }) => {
    const last = printed.get(pairIndex);
    if (last?.price === price && at - last.at < REPRINT_MS) return;
    printed.set(pairIndex, { price, at });
    batch.set(pairIndex, price);
    stopFlush ??= clock.after(BATCH_MS, flush); // no timer while nothing changes
  });

  return {
    add(socket, protocol) {
      sockets.set(socket, protocol);
      socket.on('close', () => sockets.delete(socket));
    },
    setPaused(paused) {
      isPaused = paused;
    },
    isPaused: () => isPaused,
    stop() {
      stopHeartbeat();
      stopFlush?.();
      unsubscribe();
    },
  };
}
