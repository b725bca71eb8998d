import { AsyncLocalStorage } from 'node:async_hooks';
import { custom, RpcRequestError, type Transport } from 'viem';
import { redactText } from '../../observability/redact.js';
import { NoNodeError } from '../../ports/no-node-error.js';
import type { Span, Tracer } from '../../observability/tracing.js';
import type { Endpoint, Endpoints } from './endpoints.js';
import { createLine, type Line } from './line.js';
import { troubleOf } from './node-trouble.js';
import type { RpcAnswer, RpcCall } from './rpc-exchange.js';

export interface RpcTransport {
  readonly transport: Transport;
  /** Asks what takes several round trips of one node alone; should that node fail in between, all of it is asked of another. */
  readonly ask: <Answer>(question: () => Promise<Answer>) => Promise<Answer>;
}

interface Question {
  /** Who answered its first calls and has to answer the others. */
  endpoint: Endpoint | null;
  isBroken: boolean;
}

interface Entry {
  readonly call: RpcCall;
  readonly question: Question | null;
  /** Null outside of any trace. */
  readonly span: Span | null;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

export interface RpcTransportOptions {
  readonly endpoints: Endpoints;
  readonly chainId: number;
  readonly slug: string;
  readonly tracer?: Tracer | null;
}

/** Time for a batch on all nodes together; a node that keeps silent is left for the next one sooner. */
const PATIENCE_MS = 8_000;
const SILENCE_MS = 3_000;
/** Calls of a batch: providers refuse long ones, and who asked for little should not wait for the answers of a hundred others. */
const MOST_AT_ONCE = 100;
const SECOND_TRY_AFTER_MS = 100;

/**
 * Calls of one turn of the event loop travel together, to one node, as far as a batch may be long. When the node fails, the whole batch goes
 * to the next at once, so that nobody's answers are ever mixed.
 */
export function createRpcTransport({ endpoints, chainId, slug, tracer = null }: RpcTransportOptions): RpcTransport {
  const line = createLine(endpoints, { chainId, slug });
  const questions = new AsyncLocalStorage<Question>();
  const isOnly = endpoints.all.length === 1;
  let waiting: Entry[] = [];

  function flush(): void {
    const entries = waiting;
    waiting = [];
    for (const pinned of new Set(entries.map(pinOf)))
      for (const batch of batchesOf(entries.filter((entry) => pinOf(entry) === pinned)))
        void carry({ entries: batch, pinned, endpoints, line });
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

/** What belongs to one question stays together; all else is filled up in its order. */
function batchesOf(entries: readonly Entry[]): Entry[][] {
  if (entries.length <= MOST_AT_ONCE) return [[...entries]];
  const together = new Map<unknown, Entry[]>();
  for (const entry of entries) {
    const key = entry.question ?? entry;
    together.set(key, [...(together.get(key) ?? []), entry]);
  }
  const batches: Entry[][] = [];
  for (const group of together.values()) {
    const last = batches.at(-1);
    if (last && last.length + group.length <= MOST_AT_ONCE) last.push(...group);
    else batches.push(group);
  }
  return batches;
}

const pinOf = ({ question }: Entry): Endpoint | null => question?.endpoint ?? null;

interface Load {
  readonly entries: readonly Entry[];
  readonly pinned: Endpoint | null;
  readonly endpoints: Endpoints;
  readonly line: Line;
}

/** Brings a batch to an end: answered by one node, or refused with what each of them said. Never throws. */
async function carry(load: Load): Promise<void> {
  const { entries, pinned, endpoints, line } = load;
  const calls = entries.map(({ call }) => call);
  const isAboutHead = calls.some(asksForHead);
  const order = pinned === null ? endpoints.order(isAboutHead) : [pinned];
  line.look(order[0] ?? null);
  const isOnly = endpoints.all.length === 1;
  const tries = isOnly && !calls.some(({ method }) => method === 'eth_sendRawTransaction') ? [...order, ...order] : order;
  const end = performance.now() + PATIENCE_MS;
  const faults: string[] = [];
  let troubled: { readonly endpoint: Endpoint; readonly answers: readonly RpcAnswer[] } | null = null;
  for (const [at, endpoint] of tries.entries()) {
    if (isOnly && at > 0) await new Promise((resolve) => setTimeout(resolve, SECOND_TRY_AFTER_MS));
    const left = Math.round(end - performance.now());
    if (left <= 0) break;
    const outcome = await line.send(endpoint, calls, at === tries.length - 1 || isOnly ? left : Math.min(left, SILENCE_MS));
    if ('fault' in outcome) faults.push(`${endpoint.host}: ${outcome.fault}`);
    else if (isAboutHead && endpoint.isLagging) continue;
    else if (isGood(endpoint, calls, outcome.answers, endpoints)) return deliver(entries, endpoint, outcome.answers);
    else troubled ??= { endpoint, answers: outcome.answers };
  }
  if (pinned !== null) for (const { question } of entries) if (question !== null) question.isBroken = true;
  if (troubled !== null) return deliver(entries, troubled.endpoint, troubled.answers);
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

/** The method alone: what is asked and answered is the trader's business. */
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

/** Whether these answers may be given out, or whether another node should be asked first. */
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
