import type { Engine, RpcAnswer } from './engine.js';

/** Read-only methods, which may be repeated. */
const READS: ReadonlySet<string> = new Set([
  'eth_blockNumber',
  'eth_call',
  'eth_chainId',
  'eth_gasPrice',
  'eth_getBalance',
  'eth_getBlockByHash',
  'eth_getBlockByNumber',
  'eth_getCode',
  'eth_getLogs',
  'eth_getStorageAt',
  'eth_getTransactionByHash',
  'eth_getTransactionCount',
  'eth_getTransactionReceipt',
  'eth_maxPriorityFeePerGas',
]);
/** A call with a sender may be refused, and with it its whole batch; it takes so long that batching would gain little. */
const isSimulation = (method: string, [call]: readonly unknown[]): boolean =>
  method === 'eth_call' && typeof call === 'object' && call !== null && 'from' in call;

/** The engine serves no other request during a batch, and keeps the traces of all its calls. */
const MOST_TOGETHER = 16;

interface Question {
  readonly method: string;
  readonly params: readonly unknown[];
  readonly answer: (answer: RpcAnswer | Promise<RpcAnswer>) => void;
}

/** Batches reads of one turn of the event loop: switching to the engine's thread and back costs more than most reads. */
export function readTogether(engine: Engine): Engine {
  let waiting: Question[] = [];

  function askAll(): void {
    const questions = waiting;
    waiting = [];
    for (let at = 0; at < questions.length; at += MOST_TOGETHER) void askSome(questions.slice(at, at + MOST_TOGETHER));
  }

  /** If one read of a batch is refused, it is not known which: then each is sent on its own. */
  async function askSome(questions: readonly Question[]): Promise<void> {
    const results = questions.length > 1 ? await engine.inOneGo(questions).catch(() => null) : null;
    for (const [at, { method, params, answer }] of questions.entries())
      answer(results === null ? engine.request(method, params) : { result: results[at] });
  }

  function request(method: string, params: readonly unknown[] = []): Promise<RpcAnswer> {
    if (!READS.has(method) || isSimulation(method, params)) return engine.request(method, params);
    // By the next tick, all reads of one message have arrived.
    if (waiting.length === 0) process.nextTick(askAll);
    return new Promise((answer) => waiting.push({ method, params, answer }));
  }

  return { ...engine, request };
}
