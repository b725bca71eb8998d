import type { Logger } from '../../ports/log.js';
import type { Clock } from '../../ports/clock.js';
import type { Cancel } from '../../types.js';
import { HttpFault, type Endpoints, type Http } from './http.js';
import { createPriceBook, readPriceFrame, type PriceBook } from './price-book.js';
import { openSocket } from './socket.js';

const SILENCE_MS = 5_000;
/** A frame with every pair of the venue has some 20 KB. */
const MAX_FRAME_BYTES = 256 * 1024;

export interface PriceSource {
  start(): Promise<void>;
  stop(): Promise<void>;
  readonly book: PriceBook;
  /** The last price frame or heartbeat; charts do not count, because only the stream is live. */
  lastFrameAt(): number | null;
  fault(): string | null;
}

export interface PriceSourceOptions {
  readonly endpoints: Endpoints;
  readonly http: Http;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: () => number;
  onPrices(pairs: readonly number[]): void;
}

export function createPriceSource(options: PriceSourceOptions): PriceSource {
  const { clock, log, endpoints } = options;
  const book = createPriceBook();
  const stopping = new AbortController();
  let seeding: Promise<void> | null = null;
  let lastFrameAt: number | null = null;
  let fault: string | null = null;
  let closeSocket: Cancel = () => undefined;

  const publish = (pairs: readonly number[]): void => {
    if (pairs.length > 0 && !stopping.signal.aborted) options.onPrices(pairs);
  };

  const seed = async (): Promise<void> => {
    const askedAt = clock.now();
    try {
      const charts = await options.http.getJson(`${endpoints.pricingUrl}/charts`, stopping.signal);
      publish(book.seed(charts, askedAt, clock.now()));
    } catch (error) {
      const isExpected = error instanceof HttpFault;
      if (!stopping.signal.aborted)
        log[isExpected ? 'warn' : 'error']('feed.charts-refused', isExpected ? { reason: error.message } : { error });
    }
  };

  /** On every connection attempt, but never twice at once: a flapping connection must not multiply the requests. */
  const seedOnce = (): Promise<void> => (seeding ??= seed().finally(() => (seeding = null)));

  const onFrame = (frame: unknown): void => {
    const read = readPriceFrame(frame);
    if (read.kind === 'unknown') return;
    lastFrameAt = clock.now();
    fault = null;
    publish(book.apply(read, lastFrameAt));
  };

  return {
    book,
    lastFrameAt: () => lastFrameAt,
    fault: () => fault,
    async start() {
      closeSocket = openSocket({
        name: 'prices',
        url: endpoints.pricingWsUrl,
        clock,
        log,
        random: options.random,
        maxPayload: MAX_FRAME_BYTES,
        silenceMs: SILENCE_MS,
        onFrame,
        onDial: () => void seedOnce(),
        onFault(reason) {
          fault = reason;
        },
      });
      await seedOnce();
    },
    async stop() {
      stopping.abort();
      closeSocket();
      await seeding;
    },
  };
}
