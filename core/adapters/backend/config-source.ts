import type { MarketConfig } from '../../domain/market.js';
import type { Logger } from '../../ports/log.js';
import type { Clock } from '../../ports/clock.js';
import type { Cancel } from '../../types.js';
import { createConfigState, type Defaults } from './config-state.js';
import { HttpFault, type Endpoints, type Http } from './http.js';
import { field, natural, ShapeError, type Problems } from './wire.js';
import { WIRE_KEYS } from './sections.js';
import { createBackoff, openSocket } from './socket.js';

/** A busy venue changes every few ms; changes are published in batches. */
const ANNOUNCE_MS = 50;
const EVENTS_SILENCE_MS = 30_000;
const MAX_EVENT_BYTES = 16 * 1024 * 1024;

export interface BlockNotice {
  readonly number: bigint;
  /** Epoch ms of our clock. */
  readonly at: number;
}

export interface ConfigSource {
  start(): Promise<void>;
  stop(): Promise<void>;
  config(): MarketConfig | null;
  refreshedAt(): number | null;
  /** Newest block reported by the event stream. */
  block(): BlockNotice | null;
  lastEventAt(): number | null;
  /** Why the last snapshot or event connection failed; null while it works. */
  fault(part: 'config' | 'events'): string | null;
}

export interface ConfigSourceOptions {
  readonly endpoints: Endpoints;
  readonly http: Http;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: () => number;
  readonly isOpen: Defaults['isOpen'];
  onChange(): void;
  /** A raw row of the public trade history. */
  onTrade(row: unknown): void;
  /** A reorganisation: events of the undone blocks are no longer valid. */
  onReorg(): void;
}

/** Snapshots over HTTP, updated by the chain's event stream in between. */
export function createConfigSource(options: ConfigSourceOptions): ConfigSource {
  const { clock, log, random, endpoints } = options;
  const state = createConfigState(options.isOpen);
  const url = `${endpoints.backendUrl}/trading-variables/${WIRE_KEYS.join(',')}`;
  let eventsFault: string | null = null;
  let lastEventAt: number | null = null;
  let block: BlockNotice | null = null;
  let cancelAnnouncement: Cancel | null = null;
  let closeSocket: Cancel = () => undefined;

  const snapshots = createSnapshotLoop({
    clock,
    log,
    random,
    async take(signal) {
      const snapshot = await options.http.getJson(url, signal);
      const problems = state.replace(snapshot, clock.now());
      if (!problems) return log.debug('feed.snapshot-outdated');
      report('snapshot', problems);
      options.onChange();
    },
  });

  const report = (source: string, problems: Problems): void => {
    if (problems.count > 0) log.warn('feed.malformed-elements', { source, count: problems.count, places: problems.places });
  };

  const announce = (): void => {
    cancelAnnouncement ??= clock.after(ANNOUNCE_MS, () => {
      cancelAnnouncement = null;
      options.onChange();
    });
  };

  const mergeFrame = (value: unknown): void => {
    try {
      report('event', state.merge(value, clock.now()));
      announce();
    } catch (error) {
      if (!(error instanceof ShapeError)) throw error;
      log.warn('feed.frame-refused', { reason: error.message });
      snapshots.hint();
    }
  };

  const onFrame = (frame: unknown): void => {
    const [name, value] = [field(frame, 'name'), field(frame, 'value')];
    if (typeof name !== 'string') return;
    lastEventAt = clock.now();
    eventsFault = null;
    if (name === 'tradingVariables') return mergeFrame(value);
    if (name === 'new-trade-history') return options.onTrade(value ?? frame);
    if (name === 'deepReorg') options.onReorg();
    if (name === 'currentBlock') {
      const number = natural(value);
      block = number === null ? block : { number, at: lastEventAt };
      return;
    }
    const outcome = state.event(name, value);
    if (outcome === 'changed') announce();
    if (outcome === 'refetch') snapshots.hint();
  };

  return {
    async start() {
      closeSocket = openSocket({
        name: 'events',
        url: endpoints.eventsUrl,
        clock,
        log,
        random,
        maxPayload: MAX_EVENT_BYTES,
        silenceMs: EVENTS_SILENCE_MS,
        keepAlive: { text: 'heartbeat', everyMs: 30_000 },
        onFrame,
        onFault(reason) {
          eventsFault = reason;
        },
      });
      await snapshots.start();
    },
    async stop() {
      closeSocket();
      cancelAnnouncement?.();
      await snapshots.stop();
    },
    config: () => state.config(),
    refreshedAt: () => state.refreshedAt(),
    block: () => block,
    lastEventAt: () => lastEventAt,
    fault: (part) => (part === 'config' ? snapshots.fault() : eventsFault),
  };
}

const REFETCH_MS = 60_000;
const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 30_000;
/** Hints may come with every trade; they trigger snapshots at most this often. */
const HINT_INTERVAL_MS = 5_000;

interface SnapshotLoop {
  /** Resolves after the first attempt, successful or not. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Requests an early snapshot, but not before upstream's retry-after. */
  hint(): void;
  fault(): string | null;
}

interface SnapshotLoopOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: () => number;
  /** Fetches and stores one snapshot; throws HttpFault or ShapeError on failure. */
  readonly take: (signal: AbortSignal) => Promise<void>;
}

function createSnapshotLoop({ clock, log, random, take }: SnapshotLoopOptions): SnapshotLoop {
  const backoff = createBackoff(FIRST_RETRY_MS, LAST_RETRY_MS, random);
  const stopping = new AbortController();
  let wake = new AbortController();
  let fault: string | null = null;
  let isHinted = false;
  let takenAt = 0;
  let loop: Promise<void> = Promise.resolve();

  /** Returns the delay until the next attempt. No upstream failure may end the loop. */
  const attempt = async (): Promise<number> => {
    takenAt = clock.now();
    isHinted = false;
    try {
      await take(stopping.signal);
      fault = null;
      backoff.reset();
      return REFETCH_MS;
    } catch (error) {
      const isExpected = error instanceof HttpFault || error instanceof ShapeError;
      fault = isExpected ? error.message : 'the snapshot could not be handled';
      if (!stopping.signal.aborted)
        log[isExpected ? 'warn' : 'error']('feed.snapshot-refused', { reason: fault, ...(!isExpected && { error }) });
      return backoff.next(error instanceof HttpFault ? error.retryAfterMs : 0);
    }
  };

  const run = async (firstDelay: number): Promise<void> => {
    let dueAt = clock.now() + firstDelay;
    while (!stopping.signal.aborted) {
      const due = isHinted && fault === null ? Math.min(dueAt, takenAt + HINT_INTERVAL_MS) : dueAt;
      if (due <= clock.now()) dueAt = clock.now() + (await attempt());
      else {
        wake = new AbortController();
        await clock.sleep(due - clock.now(), wake.signal);
      }
    }
  };

  return {
    async start() {
      loop = run(await attempt());
    },
    async stop() {
      stopping.abort();
      wake.abort();
      await loop;
    },
    hint() {
      isHinted = true;
      wake.abort();
    },
    fault: () => fault,
  };
}
