import { AsyncLocalStorage } from 'node:async_hooks';
import { custom, RpcRequestError, type Transport } from 'viem';
import { redactText } from '../../observability/redact.js';
import { NoNodeError } from '../../ports/chain.js';
import type { Span, Tracer } from '../../observability/tracing.js';
import { troubleOf, type Endpoint, type Endpoints } from './endpoints.js';
import type { Clock } from '../../ports/clock.js';
import { exchange, ExchangeFault, type RpcAnswer, type RpcCall } from './rpc-client.js';

export interface RpcTransport {
  readonly transport: Transport;
  /** Sends all calls of a multi-step read to one node; if that node fails in between, everything is repeated on another. */
  readonly ask: <Answer>(question: () => Promise<Answer>) => Promise<Answer>;
}

interface Question {
  /** The node that answered the first calls and must answer the rest. */
  endpoint: Endpoint | null;
  isBroken: boolean;
}

interface Entry {
  readonly call: RpcCall;
  readonly question: Question | null;
  /** Null without a trace. */
  readonly span: Span | null;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

export interface RpcTransportOptions {
  readonly endpoints: Endpoints;
  readonly chainId: number;
  readonly slug: string;
  readonly clock: Clock;
  readonly tracer?: Tracer | null;
  /** Total time for a batch on all nodes; a silent node is given up sooner. */
  readonly patienceMs?: number | undefined;
}

const PATIENCE_MS = 8_000;
const SILENCE_MS = 3_000;
/** Calls per batch: providers reject longer ones, and a small request should not wait for a hundred other answers. */
const MAX_BATCH = 100;
const SECOND_TRY_AFTER_MS = 100;

/**
 * Calls of one turn of the event loop are sent as one batch to one node, up to the maximum size. When the node fails, the whole batch goes
 * to the next one, so that a batch never mixes answers of two nodes.
 */
export function createRpcTransport({
  endpoints,
  chainId,
  slug,
  clock,
  tracer = null,
  patienceMs = PATIENCE_MS,
}: RpcTransportOptions): RpcTransport {
  const line = createRpcSender(endpoints, { chainId, slug, clock });
  const questions = new AsyncLocalStorage<Question>();
  const isOnly = endpoints.all.length === 1;
  let waiting: Entry[] = [];

  function flush(): void {
    const entries = waiting;
    waiting = [];
    for (const pinned of new Set(entries.map(pinOf)))
      for (const batch of batchesOf(entries.filter((entry) => pinOf(entry) === pinned)))
        void sendBatch({ entries: batch, pinned, endpoints, line, clock, patienceMs });
  }

  const request = ({ method, params }: { method: string; params?: unknown }): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const call: RpcCall = params === undefined ? { method } : { method, params };
      const span = tracer === null ? null : spanFor(tracer, slug, method);
      if (waiting.push({ call, question: questions.getStore() ?? null, span, resolve, reject }) === 1) setImmediate(flush);
    });

  return {
    transport: custom({ request }, { retryCount: 0, name: 'nodes' }),
    async ask(question) {
      if (isOnly) return question();
      const first: Question = { endpoint: null, isBroken: false };
      try {
        return await questions.run(first, question);
      } catch (error) {
        if (!first.isBroken) throw error;
        return questions.run({ endpoint: null, isBroken: false }, question);
      }
    },
  };
}

/** Calls of one multi-step read stay in one batch; others fill batches in order. */
function batchesOf(entries: readonly Entry[]): Entry[][] {
  if (entries.length <= MAX_BATCH) return [[...entries]];
  const together = new Map<unknown, Entry[]>();
  for (const entry of entries) {
    const key = entry.question ?? entry;
    together.set(key, [...(together.get(key) ?? []), entry]);
  }
  const batches: Entry[][] = [];
  for (const group of together.values()) {
    const last = batches.at(-1);
    if (last && last.length + group.length <= MAX_BATCH) last.push(...group);
    else batches.push(group);
  }
  return batches;
}

const pinOf = ({ question }: Entry): Endpoint | null => question?.endpoint ?? null;

interface Batch {
  readonly entries: readonly Entry[];
  readonly pinned: Endpoint | null;
  readonly endpoints: Endpoints;
  readonly line: RpcSender;
  readonly clock: Clock;
  readonly patienceMs: number;
}

/** Completes a batch: answered by one node, or rejected with the faults of all. Never throws. */
async function sendBatch(given: Batch): Promise<void> {
  const { entries, pinned, endpoints, line, clock, patienceMs } = given;
  const calls = entries.map(({ call }) => call);
  const isAboutHead = calls.some(asksForHead);
  const order = pinned === null ? endpoints.order(isAboutHead) : [pinned];
  line.look(order[0] ?? null);
  const isOnly = endpoints.all.length === 1;
  const tries = isOnly && !calls.some(({ method }) => method === 'eth_sendRawTransaction') ? [...order, ...order] : order;
  const end = clock.monotonic() + patienceMs;
  const faults: string[] = [];
  let fallback: { readonly endpoint: Endpoint; readonly answers: readonly RpcAnswer[] } | null = null;
  for (const [at, endpoint] of tries.entries()) {
    if (isOnly && at > 0) await clock.sleep(SECOND_TRY_AFTER_MS);
    const left = Math.round(end - clock.monotonic());
    if (left <= 0) break;
    const outcome = await line.send(endpoint, calls, at === tries.length - 1 || isOnly ? left : Math.min(left, SILENCE_MS));
    if ('fault' in outcome) faults.push(`${endpoint.host}: ${outcome.fault}`);
    else if (isAboutHead && endpoint.isLagging) continue;
    else if (isGood(endpoint, calls, outcome.answers, endpoints)) return deliver(entries, endpoint, outcome.answers);
    else fallback ??= { endpoint, answers: outcome.answers };
  }
  if (pinned !== null) for (const { question } of entries) if (question !== null) question.isBroken = true;
  if (fallback !== null) return deliver(entries, fallback.endpoint, fallback.answers);
  const leftOut = pinned === null ? endpoints.leftOut(isAboutHead) : [];
  const error = new NoNodeError(
    [...new Set(faults), ...leftOut],
    order.map(({ host }) => host),
  );
  for (const { span, reject } of entries) {
    span?.end('no node answered');
    reject(error);
  }
}

/** Records the method only: parameters and results are the trader's data. */
function spanFor(tracer: Tracer, chain: string, method: string): Span | null {
  if (tracer.current() === null) return null;
  return tracer.begin(`rpc ${method}`, {
    kind: 'client',
    fields: { 'rpc.system': 'jsonrpc', 'rpc.method': method, 'gateway.chain': chain },
  });
}

const NEWEST: ReadonlySet<unknown> = new Set(['latest', 'safe', 'finalized']);

const asksForHead = ({ method, params }: RpcCall): boolean =>
  method === 'eth_getLogs' ||
  method === 'eth_blockNumber' ||
  (method === 'eth_getBlockByNumber' && Array.isArray(params) && NEWEST.has(params[0]));

/** Whether these answers are final, or another node should be tried first. */
function isGood(endpoint: Endpoint, calls: readonly RpcCall[], answers: readonly RpcAnswer[], endpoints: Endpoints): boolean {
  const errors = answers.flatMap((answer, at) => ('error' in answer ? [{ method: calls[at]?.method ?? '', error: answer.error }] : []));
  const rests = errors.find(({ method, error }) => troubleOf(method, error) === 'rest');
  if (rests) endpoints.failed(endpoint, redactText(rests.error.message.split('\n', 1).join('')).slice(0, 200), null);
  return !errors.some(({ method, error }) => troubleOf(method, error) !== 'question');
}

function deliver(entries: readonly Entry[], endpoint: Endpoint, answers: readonly RpcAnswer[]): void {
  for (const [at, { call, question, span, resolve, reject }] of entries.entries()) {
    const answer = answers[at];
    span?.note({ 'server.address': endpoint.host, 'rpc.batch_size': entries.length });
    span?.end(answer !== undefined && 'result' in answer ? undefined : 'refused');
    if (question !== null) question.endpoint = endpoint;
    if (answer === undefined) reject(new NoNodeError([`${endpoint.host}: its answer is not complete`], [endpoint.host]));
    else if ('result' in answer) resolve(answer.result);
    else reject(new RpcRequestError({ body: { ...call }, error: answer.error, url: `//${endpoint.host}` }));
  }
}

type Sent = { readonly answers: readonly RpcAnswer[] } | { readonly fault: string };

interface RpcSender {
  /** Sends all calls to this node, in as many requests as it needs, and records its health. Never throws. */
  send(endpoint: Endpoint, calls: readonly RpcCall[], timeoutMs: number): Promise<Sent>;
  /** Probes nodes that are not in use for their newest block, from time to time. */
  look(inUse: Endpoint | null): void;
}

const CHAIN_ID: RpcCall = { method: 'eth_chainId' };
const BLOCK_NUMBER: RpcCall = { method: 'eth_blockNumber' };
const LOOK_MS = 3_000;

interface RpcSenderParts {
  readonly chainId: number;
  readonly slug: string;
  readonly clock: Clock;
}

/** RPC client of the nodes; it records their health. */
function createRpcSender(endpoints: Endpoints, { clock, ...chain }: RpcSenderParts): RpcSender {
  async function exchangeAll(endpoint: Endpoint, calls: readonly RpcCall[], timeoutMs: number): Promise<RpcAnswer[]> {
    for (;;) {
      const size = endpoint.batchSize;
      const parts = Array.from({ length: Math.ceil(calls.length / size) }, (_, at) => calls.slice(at * size, (at + 1) * size));
      try {
        return (await Promise.all(parts.map((part) => exchange(endpoint.place, part, { timeoutMs, clock })))).flat();
      } catch (error) {
        if (!(error instanceof ExchangeFault) || !error.isTooMany || size === 1 || calls.length === 1) throw error;
        endpoint.batchSize = Math.max(1, Math.floor(Math.min(size, calls.length) / 2));
      }
    }
  }

  /** A node of another chain would answer everything wrongly, so its chain id is checked before its first answer is used. */
  async function proven(endpoint: Endpoint, calls: readonly RpcCall[], timeoutMs: number): Promise<RpcAnswer[]> {
    if (endpoint.isProven) return exchangeAll(endpoint, calls, timeoutMs);
    const answers = await exchangeAll(endpoint, [...calls, CHAIN_ID], timeoutMs);
    const last = answers.pop();
    const chainId = last !== undefined && 'result' in last ? Number(last.result) : Number.NaN;
    if (last !== undefined && 'error' in last) throw new ExchangeFault(last.error.message.slice(0, 200));
    if (!Number.isSafeInteger(chainId)) throw new ExchangeFault('it does not say which chain it serves');
    endpoint.foreignChainId = chainId === chain.chainId ? null : chainId;
    if (chainId !== chain.chainId) throw new ExchangeFault(`it serves chain id ${chainId}, but ${chain.slug} is ${chain.chainId}`);
    endpoint.isProven = true;
    return answers;
  }

  async function sendTo(endpoint: Endpoint, calls: readonly RpcCall[], timeoutMs: number): Promise<Sent> {
    const since = clock.monotonic();
    try {
      const answers = await proven(endpoint, calls, timeoutMs);
      checkShapes(calls, answers);
      const ms = clock.monotonic() - since;
      endpoints.answered(endpoint, ms);
      endpoint.calls.count(calls, answers, ms);
      for (const [at, call] of calls.entries()) noteHead(endpoint, call, answers[at]);
      return { answers };
    } catch (error) {
      const fault = error instanceof ExchangeFault ? error : null;
      const why = redactText(fault?.message ?? 'its answer could not be read');
      endpoints.failed(endpoint, why, fault?.retryAfterMs ?? null);
      endpoint.calls.count(calls, null, clock.monotonic() - since);
      return { fault: why };
    }
  }

  function noteHead(endpoint: Endpoint, { method, params }: RpcCall, answer: RpcAnswer | undefined): void {
    const result = answer !== undefined && 'result' in answer ? answer.result : null;
    if (method === 'eth_blockNumber' && typeof result === 'string') return endpoints.sawHead(endpoint, BigInt(result));
    const isLatest = method === 'eth_getBlockByNumber' && Array.isArray(params) && params[0] === 'latest';
    if (!isLatest || typeof result !== 'object' || result === null || !('number' in result)) return;
    if (typeof result.number === 'string') endpoints.sawHead(endpoint, BigInt(result.number));
  }

  return {
    send: sendTo,
    look(inUse) {
      for (const other of endpoints.dueForLook(inUse)) void sendTo(other, [BLOCK_NUMBER], LOOK_MS);
    },
  };
}

type Shape = (result: unknown) => boolean;

const isQuantity: Shape = (result) => typeof result === 'string' && /^0x[0-9a-f]+$/i.test(result);
const isHash: Shape = (result) => typeof result === 'string' && /^0x[0-9a-f]{64}$/i.test(result);

const RECEIPT: Readonly<Record<string, Shape>> = {
  blockHash: isHash,
  blockNumber: isQuantity,
  gasUsed: isQuantity,
  effectiveGasPrice: isQuantity,
  status: (status) => status === '0x0' || status === '0x1',
};

const isReceipt: Shape = (result) =>
  typeof result === 'object' &&
  result !== null &&
  Object.entries(RECEIPT).every(([field, holds]) => holds((result as Readonly<Record<string, unknown>>)[field]));

/** Expected shapes of answers that the relayer's lanes depend on. A malformed answer counts as none, so that another node is tried. */
const SHAPES: ReadonlyMap<string, Shape> = new Map([
  ['eth_getTransactionReceipt', (result) => result === null || isReceipt(result)],
  ['eth_getTransactionCount', isQuantity],
  ['eth_getBalance', isQuantity],
]);

/** A malformed answer is a fault of the endpoint, not of the caller. */
function checkShapes(calls: readonly RpcCall[], answers: readonly RpcAnswer[]): void {
  for (const [at, { method }] of calls.entries()) {
    const answer = answers[at];
    if (answer !== undefined && 'result' in answer && SHAPES.get(method)?.(answer.result) === false)
      throw new ExchangeFault(`its answer to ${method} cannot be read`);
  }
}
