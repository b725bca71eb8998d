/** Which faults occur, independent of the sockets they occur on. */

export const FAULT_MODES = ['ok', 'down', 'slow', 'flaky'] as const;
export type FaultMode = (typeof FAULT_MODES)[number];

export interface FaultSetting {
  mode: FaultMode;
  /** Added to every request in mode slow. */
  latencyMs?: number;
  /** Share of requests that fail in mode flaky, 0 to 1. */
  errorShare?: number;
}

/**
 * The fate of one request. `refuse`: an HTTP 5xx (an error reply on a WebSocket). `reset`: the connection breaks before the node gets it.
 * `forget`: the node gets and executes the request, then the connection breaks. A status is answered without the node (HTTP only).
 */
export type Fate =
  | 'pass'
  | 'refuse'
  | 'reset'
  | 'forget'
  /** Sent for every call of the message. */
  | { answer: unknown }
  /** The whole reply, unchanged. */
  | { reply: unknown }
  | { status: number; headers?: Record<string, string> };

/** Called with each parsed message before it is forwarded; undefined leaves the decision to the mode. */
export type RequestHook = (body: unknown) => Fate | undefined | Promise<Fate | undefined>;

export interface FaultCounters {
  /** JSON-RPC calls by method, batched ones included. */
  calls: Readonly<Record<string, number>>;
  /** HTTP requests and WebSocket frames sent by clients: each costs the latency once. */
  roundTrips: number;
  /** Fates other than pass. */
  faults: Readonly<Record<'refuse' | 'reset' | 'forget' | 'answer', number>>;
}

export interface FaultPlan {
  setting(): Required<FaultSetting>;
  set(setting: FaultSetting): void;
  hook(hook: RequestHook): () => void;
  /** Counts the message and decides its fate. */
  decide(text: string): Promise<Fate>;
  counters(): FaultCounters;
  resetCounters(): void;
}

const FLAKES = ['refuse', 'reset', 'forget'] as const;
const noFaults = (): Record<'refuse' | 'reset' | 'forget' | 'answer', number> => ({ refuse: 0, reset: 0, forget: 0, answer: 0 });

export function createFaultPlan(seed: number): FaultPlan {
  const random = seededRandom(seed);
  const hooks = new Set<RequestHook>();
  let current: Required<FaultSetting> = { mode: 'ok', latencyMs: 0, errorShare: 0 };
  let calls = new Map<string, number>();
  let faults = noFaults();
  let roundTrips = 0;

  function byMode(): Fate {
    if (current.mode === 'down') return 'reset';
    if (current.mode !== 'flaky' || random() >= current.errorShare) return 'pass';
    return FLAKES[Math.floor(random() * FLAKES.length)] ?? 'refuse';
  }

  async function byHooks(body: unknown): Promise<Fate | undefined> {
    for (const hook of [...hooks]) {
      const fate = await hook(body);
      if (fate !== undefined) return fate;
    }
    return undefined;
  }

  return {
    setting: () => current,
    set({ mode, latencyMs = 200, errorShare = 0.3 }) {
      if (!(latencyMs >= 0 && latencyMs <= 600_000)) throw new RangeError('latencyMs must be between 0 and 600000.');
      if (!(errorShare >= 0 && errorShare <= 1)) throw new RangeError('errorShare must be between 0 and 1.');
      current = { mode, latencyMs, errorShare };
    },
    hook(hook) {
      hooks.add(hook);
      return () => void hooks.delete(hook);
    },
    async decide(text) {
      roundTrips += 1;
      const body = parsed(text);
      for (const method of methodsOf(body)) calls.set(method, (calls.get(method) ?? 0) + 1);
      const fate = (await byHooks(body)) ?? byMode();
      if (typeof fate === 'object') faults.answer += 1;
      else if (fate !== 'pass') faults[fate] += 1;
      return fate;
    },
    counters: () => ({ calls: Object.fromEntries(calls), roundTrips, faults: { ...faults } }),
    resetCounters() {
      calls = new Map();
      faults = noFaults();
      roundTrips = 0;
    },
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // the node will refuse it
  }
}

function methodsOf(body: unknown): string[] {
  const items: unknown[] = Array.isArray(body) ? body : [body];
  return items.flatMap((item) => (typeof item === 'object' && item !== null && 'method' in item ? [String(item.method)] : []));
}

/** The reply to a message, with its id or ids. */
export function answerText(text: string, answer: object): string {
  const body = parsed(text);
  const one = (item: unknown): object => ({
    jsonrpc: '2.0',
    id: typeof item === 'object' && item !== null && 'id' in item ? item.id : null,
    ...answer,
  });
  return JSON.stringify(Array.isArray(body) ? body.map(one) : one(body));
}

export const replyText = (text: string, fate: { answer: unknown } | { reply: unknown }): string =>
  'reply' in fate ? JSON.stringify(fate.reply) : answerText(text, asAnswer(fate.answer));

/** A hook returns a whole JSON-RPC reply, or just the result. */
const asAnswer = (answer: unknown): object =>
  typeof answer === 'object' && answer !== null && ('result' in answer || 'error' in answer) ? answer : { result: answer };

export const REFUSED = { error: { code: -32603, message: 'upstream unavailable' } };

/** mulberry32: the same seed gives the same faults in the same order of requests. */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
