import { WebSocket } from 'ws';
import type { Endpoints } from '../../core/adapters/backend/http.js';
import { readPriceFrame } from '../../core/adapters/backend/price-book.js';
import { openSocket } from '../../core/adapters/backend/socket.js';
import { EVENT_NAMES } from '../../core/adapters/backend/wire-shape.js';
import type { Logger } from '../../core/ports/log.js';
import type { Clock } from '../../core/ports/clock.js';
import { differs, few, ok, unreachable, type Looker, type Outcome, type Probe } from './look.js';
import { subscribeToHeads } from '../../core/adapters/evm/viem-chain.js';
import type { BlockHead } from '../../core/types.js';
import type { ChainConfig } from './probe-node.js';

const LISTEN_MS = 5_000;
const MAX_PAYLOAD = 16 * 1024 * 1024;
const CLOCK_MS = 5_000;
const MANY_EVENTS = 20;

interface Stream {
  readonly name: string;
  readonly url: string;
  readonly onFrame: (frame: unknown) => void;
  /** True once enough frames arrived: then there is no need to wait any longer. */
  readonly isEnough: () => boolean;
}

/** Checks prices for a few seconds: their formats, and whether their timestamps agree with our clock. */
export async function probePrices(probe: Probe, look: Looker, { pricingWsUrl }: Endpoints): Promise<void> {
  await look({
    check: 'prices over WebSocket',
    expected: `frames {m,i,t}, or flat arrays, and heartbeats, stamped within ${CLOCK_MS / 1000} s`,
    timeoutMs: LISTEN_MS + 2_000,
    run: async (signal) => {
      const seen = createPriceTally(probe.clock);
      const stream = { name: 'prices', url: pricingWsUrl, onFrame: seen.add, isEnough: seen.isEnough };
      const fault = await listen(probe.clock, stream, signal);
      return seen.count() === 0 ? silence(fault) : seen.outcome();
    },
  });
}

/** Checks changes of the chain's parameters for a few seconds. */
export async function probeEvents(probe: Probe, look: Looker, { eventsUrl }: Endpoints): Promise<void> {
  await look({
    check: 'events over WebSocket',
    expected: 'frames {name, value}',
    timeoutMs: LISTEN_MS + 2_000,
    run: async (signal) => {
      const names = new Map<string, number>();
      let strange = 0;
      const total = (): number => [...names.values()].reduce((sum, times) => sum + times, strange);
      const onFrame = (frame: unknown): void => {
        const name = typeof frame === 'object' && frame !== null && 'name' in frame ? frame.name : null;
        if (typeof name === 'string') names.set(printable(name), (names.get(printable(name)) ?? 0) + 1);
        else strange += 1;
      };
      const stream = { name: 'events', url: eventsUrl, onFrame, isEnough: () => total() >= MANY_EVENTS };
      const fault = await listen(probe.clock, stream, signal);
      return names.size + strange === 0 ? silence(fault) : eventsOutcome(names, strange);
    },
  });
}

const printable = (name: string): string => (/^[\w-]{1,48}$/.test(name) ? name : '?');

function eventsOutcome(names: ReadonlyMap<string, number>, strange: number): Outcome {
  const summary = few([...names].map(([name, times]) => `${name} ${times}`));
  const fresh = [...names.keys()].filter((name) => !EVENT_NAMES.has(name));
  if (names.size === 0) return differs(`${strange} frames without a name`);
  return ok(
    [summary, ...(fresh.length > 0 ? [`new: ${few(fresh)}`] : []), ...(strange > 0 ? [`${strange} without a name`] : [])].join('; '),
  );
}

const silence = (fault: string | null): Outcome => unreachable(fault ?? `connected, but silent for ${LISTEN_MS / 1000} s`);

function createPriceTally(clock: Clock) {
  const kinds = new Map<string, number>();
  const pairs = new Set<number>();
  let dropped = 0;
  let offMs = 0;
  const count = (kind: string): number => kinds.get(kind) ?? 0;
  return {
    add: (frame: unknown): void => {
      const { kind, marks, dropped: unreadable, sentAt } = readPriceFrame(frame);
      kinds.set(kind, count(kind) + 1);
      dropped += unreadable;
      for (const { pairIndex } of marks) pairs.add(pairIndex);
      if (sentAt !== null) offMs = Math.round(clock.now() - sentAt);
    },
    count: () => [...kinds.values()].reduce((sum, times) => sum + times, 0),
    isEnough: () => count('heartbeat') > 0 && count('v4') + count('v3') > 5,
    outcome(): Outcome {
      const summary = `${[...kinds].map(([kind, times]) => `${kind} ${times}`).join(', ')}; ${pairs.size} markets, ${dropped} dropped, ${offMs} ms old`;
      const isRead = count('v4') + count('v3') > 0 && dropped < pairs.size && count('unknown') === 0;
      return isRead && Math.abs(offMs) <= CLOCK_MS ? ok(summary) : differs(summary);
    },
  };
}

const SILENT_LOG: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => SILENT_LOG,
};

/** Listens with the gateway's own WebSocket client for a few seconds; returns the last connection error. */
async function listen(clock: Clock, { name, url, onFrame, isEnough }: Stream, signal: AbortSignal): Promise<string | null> {
  const enough = new AbortController();
  let fault: string | null = null;
  const close = openSocket({
    name,
    url,
    clock,
    log: SILENT_LOG,
    random: () => 1,
    maxPayload: MAX_PAYLOAD,
    silenceMs: LISTEN_MS,
    onFrame(frame) {
      onFrame(frame);
      if (isEnough()) enough.abort();
    },
    onFault: (reason) => (fault = reason),
  });
  await clock.sleep(LISTEN_MS - 200, AbortSignal.any([signal, enough.signal]));
  close();
  return fault;
}

const BLOCK_WAIT_MS = 8_000;

/** Checks a node's announcements of new blocks over the gateway's own WebSocket client. */
export async function probeHeadSubscription(probe: Probe, url: string, part: string, { chain }: ChainConfig): Promise<void> {
  await probe.part(part)({
    check: 'new blocks over WebSocket',
    expected: `a block of chain ${chain.chainId} within ${BLOCK_WAIT_MS / 1000} s`,
    timeoutMs: BLOCK_WAIT_MS + 1_000,
    run: async (signal) => {
      await dial(url, signal);
      return firstWord(probe, url, chain.chainId, signal);
    },
  });
}

/** Connects directly, because the gateway's client reconnects without reporting the cause. */
function dial(url: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, { followRedirects: false });
    const end = (settle: () => void): void => {
      socket.terminate();
      settle();
    };
    socket.on('open', () => end(resolve));
    socket.on('error', (error: Error & { code?: string }) => end(() => reject(new Error(error.code ?? error.message))));
    signal.addEventListener('abort', () => end(() => reject(new Error('given up'))));
  });
}

function firstWord({ clock }: Probe, url: string, chainId: number, signal: AbortSignal): Promise<Outcome> {
  return new Promise((resolve) => {
    const end = (outcome: Outcome): void => {
      hangUp();
      cancel();
      resolve(outcome);
    };
    const cancel = clock.after(BLOCK_WAIT_MS, () => end(unreachable(`no block within ${BLOCK_WAIT_MS / 1000} s`)));
    const foreign = (found: number): void => end(differs(`it serves chain id ${found}`));
    const hangUp = subscribeToHeads({ url, chainId, clock, log: listenFor(foreign) }, ({ number }: BlockHead) =>
      end(ok(`block ${number}`)),
    );
    signal.addEventListener('abort', () => end(unreachable('given up')));
  });
}

/** The client reports a foreign chain only in its log, so the log is captured. */
function listenFor(foreign: (chainId: number) => void): Logger {
  const silent = (): void => undefined;
  const log: Logger = {
    debug: silent,
    info: silent,
    error: silent,
    warn: (_, fields) => (typeof fields?.['chainId'] === 'number' ? foreign(fields['chainId']) : undefined),
    child: () => log,
  };
  return log;
}
