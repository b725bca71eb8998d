import type { EndpointHealth, MethodTraffic } from '../../ports/chain.js';
import type { Logger } from '../../ports/log.js';
import { rpcPlace, type RpcAnswer, type RpcCall, type RpcFailure, type RpcPlace } from './rpc-client.js';
import { createHistogram, type Histogram } from '../../observability/metrics.js';

/** One node and its health. Written only by `createEndpoints`, except for two fields that the RPC client sets. */
export interface Endpoint {
  readonly place: RpcPlace;
  /** Host and port: the rest of the URL may contain keys and must not be shown. */
  readonly host: string;
  /** Maximum calls per request. */
  batchSize: number;
  /** Until its chain id was checked, its answers are not used. */
  isProven: boolean;
  foreignChainId: number | null;
  failures: number;
  failedAt: number;
  /** Set while it is avoided after failures; a successful probe ends it. */
  restUntil: number | null;
  isLagging: boolean;
  behind: bigint;
  head: { readonly number: bigint; readonly at: number } | null;
  latencyMs: number | null;
  lastError: { readonly at: number; readonly text: string } | null;
  lookedAt: number;
  /** Counted per request, not per call. */
  readonly traffic: { answered: number; failed: number };
  readonly calls: CallCounter;
}

export interface EndpointsOptions {
  readonly urls: readonly string[];
  readonly expectedBlockMs: number;
  readonly now: () => number;
  readonly log: Logger;
}

export interface Endpoints {
  readonly all: readonly Endpoint[];
  /** Candidates, best first: in the operator's order, resting ones last. Lagging ones are excluded for the newest blocks. */
  order(isAboutHead: boolean): readonly Endpoint[];
  /** Why the others are excluded. */
  leftOut(isAboutHead: boolean): readonly string[];
  /** Those that are due for a probe. */
  dueForLook(inUse: Endpoint | null): readonly Endpoint[];
  answered(endpoint: Endpoint, ms: number): void;
  /** Avoids it for a while, longer each time. */
  failed(endpoint: Endpoint, why: string, restMs: number | null): void;
  sawHead(endpoint: Endpoint, number: bigint): void;
  health(): readonly EndpointHealth[];
}

const BATCH_SIZE = 100;
const FIRST_REST_MS = 1_000;
const LONGEST_REST_MS = 60_000;
/** Failures further apart than this are not consecutive. */
const STEADY_MS = 60_000;
const LOOK_EVERY_MS = 5_000;
/** A node this far behind the others is lagging. */
const LAG_MS = 10_000;
const FEWEST_LAG_BLOCKS = 3;
/** Heads of other nodes older than this are not compared. */
const HEAD_MEMORY_MS = 60_000;

/** The health of several nodes of one chain. Deterministic except for the clock; the transport decides what to send. */
export function createEndpoints({ urls, expectedBlockMs, now, log }: EndpointsOptions): Endpoints {
  const all = urls.map((url, at) => freshEndpoint(url, hostOf(urls, at), urls.length === 1));
  const tolerance = BigInt(Math.max(FEWEST_LAG_BLOCKS, Math.ceil(LAG_MS / expectedBlockMs)));
  const isOnly = all.length === 1;
  const isUsable = ({ restUntil, isLagging, foreignChainId }: Endpoint): boolean =>
    restUntil === null && !isLagging && foreignChainId === null;

  function back(endpoint: Endpoint): void {
    if (endpoint.restUntil !== null) log.info('chain.endpoint-back', { host: endpoint.host });
    endpoint.restUntil = null;
  }

  function setLag(endpoint: Endpoint, behind: bigint): void {
    const isLagging = behind > (endpoint.isLagging ? tolerance / 2n : tolerance);
    if (isLagging !== endpoint.isLagging) log.warn('chain.endpoint-lag', { host: endpoint.host, behind, isLagging });
    endpoint.behind = behind;
    endpoint.isLagging = isLagging;
  }

  return {
    all,
    order(isAboutHead) {
      if (isOnly) return all;
      const spare = all.filter((one) => !isUsable(one) && one.foreignChainId === null && !(isAboutHead && one.isLagging));
      return [...all.filter(isUsable), ...spare.sort((a, b) => (a.restUntil ?? 0) - (b.restUntil ?? 0))];
    },
    leftOut: (isAboutHead) =>
      all.flatMap((one) => {
        if (!isOnly && one.foreignChainId !== null) return [`${one.host}: ${one.lastError?.text ?? 'another chain'}`];
        return isAboutHead && one.isLagging ? [`${one.host}: ${one.behind} blocks behind`] : [];
      }),
    dueForLook(inUse) {
      const isDue = (one: Endpoint): boolean => now() - one.lookedAt >= LOOK_EVERY_MS && (one.restUntil ?? 0) <= now();
      const due = isOnly ? [] : all.filter((one) => one !== inUse && isDue(one));
      for (const one of due) one.lookedAt = now();
      return due;
    },
    answered(endpoint, ms) {
      endpoint.traffic.answered += 1;
      endpoint.latencyMs = endpoint.latencyMs === null ? ms : endpoint.latencyMs * 0.8 + ms * 0.2;
      back(endpoint);
    },
    failed(endpoint, why, restMs) {
      const at = now();
      endpoint.traffic.failed += 1;
      endpoint.failures = at - endpoint.failedAt > STEADY_MS ? 1 : endpoint.failures + 1;
      endpoint.failedAt = at;
      endpoint.lastError = { at, text: why };
      endpoint.isProven = false;
      if (isOnly) return;
      if (endpoint.restUntil === null) log.warn('chain.endpoint-rests', { host: endpoint.host, why });
      const growing = Math.min(FIRST_REST_MS * 2 ** (endpoint.failures - 1), LONGEST_REST_MS);
      endpoint.restUntil = at + Math.min(Math.max(growing, restMs ?? 0), LONGEST_REST_MS);
    },
    sawHead(endpoint, number) {
      const at = now();
      endpoint.head = { number, at };
      const others = all.filter((one) => one !== endpoint && one.head !== null && at - one.head.at <= HEAD_MEMORY_MS);
      const best = others.reduce((most, { head }) => (head !== null && head.number > most ? head.number : most), number);
      setLag(endpoint, best - number);
    },
    health: () => all.map((endpoint) => healthOf(endpoint, isUsable(endpoint))),
  };
}

function healthOf(endpoint: Endpoint, isUsable: boolean): EndpointHealth {
  const { host, failures, latencyMs, head, lastError, foreignChainId, isLagging } = endpoint;
  const state =
    foreignChainId !== null ? 'foreign' : isUsable ? (isFailing(endpoint) ? 'failing' : 'ok') : isLagging ? 'lagging' : 'resting';
  return { host, state, failures, latencyMs: latencyMs === null ? null : Math.round(latencyMs), head: head?.number ?? null, lastError };
}

/** A single endpoint never rests, so its last result decides. */
const isFailing = ({ lastError, head }: Endpoint): boolean => lastError !== null && lastError.at >= (head?.at ?? 0);

/** A single endpoint starts as proven, because `identify` checks its chain first; after a failure it must prove it again. */
const freshEndpoint = (url: string, host: string, isProven: boolean): Endpoint => ({
  place: rpcPlace(url),
  host,
  batchSize: BATCH_SIZE,
  isProven,
  foreignChainId: null,
  failures: 0,
  failedAt: 0,
  restUntil: null,
  isLagging: false,
  behind: 0n,
  head: null,
  latencyMs: null,
  lastError: null,
  lookedAt: 0,
  traffic: { answered: 0, failed: 0 },
  calls: createCallCounter(),
});

/** Two keys at one provider are two endpoints of one host. */
function hostOf(urls: readonly string[], at: number): string {
  const hosts = urls.map((url) => new URL(url).host);
  const host = hosts[at] ?? '';
  const nth = hosts.slice(0, at).filter((other) => other === host).length + 1;
  return nth === 1 ? host : `${host} (${nth})`;
}

/** Seconds, upper ends. */
const BOUNDS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 3, 8] as const;

interface Slot {
  answered: number;
  refused: number;
  failed: number;
  readonly seconds: Histogram;
}

interface CallCounter {
  /** `answers: null` = the node did not answer. */
  count(calls: readonly RpcCall[], answers: readonly RpcAnswer[] | null, ms: number): void;
  methods(): readonly MethodTraffic[];
}

/** Only our own code chooses methods, so their number is bounded. */
function createCallCounter(): CallCounter {
  const slots = new Map<string, Slot>();
  const slotOf = (method: string): Slot => {
    const known = slots.get(method);
    if (known) return known;
    const made = { answered: 0, refused: 0, failed: 0, seconds: createHistogram(BOUNDS) };
    slots.set(method, made);
    return made;
  };
  return {
    count(calls, answers, ms) {
      for (const [at, { method }] of calls.entries()) {
        const slot = slotOf(method);
        const answer = answers?.[at];
        if (answer === undefined) slot.failed += 1;
        else if ('error' in answer) slot.refused += 1;
        else slot.answered += 1;
        slot.seconds.observe(ms / 1_000);
      }
    },
    methods: () => [...slots].map(([method, slot]) => ({ method, ...slot })),
  };
}

/**
 * Cause of a JSON-RPC error. `question`: every node would return it. `elsewhere`: this node lacks what another may have. `rest`: this node
 * fails or limits us, and must rest.
 */
export const TROUBLES = ['question', 'elsewhere', 'rest'] as const;
type Trouble = (typeof TROUBLES)[number];

const CONTRACT = /revert|invalid opcode|out of gas|stack (?:under|over)flow|invalid jump|vm execution error|write protection/i;
/** The range of logs is too long or has too many results; the caller splits it. */
const TOO_MUCH =
  /block range|range (?:is )?(?:too|limit|exceed)|too (?:many|large).*(?:results|logs|range|blocks)|more than \d+ (?:results|logs)|response size|query (?:timeout|returned)|limited to/i;
const MISSING = /header not found|unknown block|missing trie node|block not found|historical state|state .*not available|pruned/i;
const BUSY =
  /rate.?limit|too many requests|(?:request|daily|monthly).*(?:limit|quota)|exceeded.*(?:quota|capacity|limit)|compute units|unauthori[sz]ed|forbidden|api key|unavailable|overloaded|internal (?:server )?error|timed? ?out|try again/i;
/** Read-only plans, in the wording of providers. */
const UNSERVED = /not (?:available|supported|allowed|permitted|enabled|whitelisted)|method not found|does not exist|read.?only/i;

const UNSERVED_CODES: ReadonlySet<number> = new Set([-32601, -32004]);
const BUSY_CODES: ReadonlySet<number> = new Set([-32005, -32016, -32002, -32603, 429]);
const MISSING_CODES: ReadonlySet<number> = new Set([-32001]);

export function troubleOf(method: string, { code, message }: RpcFailure): Trouble {
  if (CONTRACT.test(message) || code === 3) return 'question';
  if (method === 'eth_getLogs' && TOO_MUCH.test(message)) return 'question';
  if (MISSING.test(message) || MISSING_CODES.has(code)) return 'elsewhere';
  if (BUSY.test(message)) return 'rest';
  // Nodes reject transactions with many messages and codes; only these mean that the node does not serve the method. A wrong guess is
  // harmless, because the same bytes are the same transaction on every node.
  if (method === 'eth_sendRawTransaction') return UNSERVED.test(message) || UNSERVED_CODES.has(code) ? 'elsewhere' : 'question';
  return BUSY_CODES.has(code) ? 'rest' : 'question';
}
