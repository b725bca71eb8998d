import { AsyncLocalStorage } from 'node:async_hooks';
import { custom, RpcRequestError, type Transport } from 'viem';
import { redactText } from '../../observability/redact.js';
import { NoNodeError } from '../../ports/no-node-error.js';
import type { Span, Tracer } from '../../observability/tracing.js';
import type { Endpoint, Endpoints } from './endpoints.js';
import { createRpcSender, type RpcSender } from './rpc-sender.js';
import { troubleOf } from './node-trouble.js';
import type { Clock } from '../../ports/clock.js';
import type { RpcAnswer, RpcCall } from './rpc-exchange.js';

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
