import type { Engine, RpcAnswer } from './engine.js';

/** They leave nothing behind and may be asked again. */
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
/** Somebody's call may be refused, and with it all that it goes with; it takes so long that going alone costs it little. */
const isRehearsal = (method: string, [call]: readonly unknown[]): boolean =>
  method === 'eth_call' && typeof call === 'object' && call !== null && 'from' in call;

/** The engine serves nobody else meanwhile, and keeps the traces of all of them. */
const MOST_TOGETHER = 16;

interface Question {
  readonly method: string;
  readonly params: readonly unknown[];
  readonly answer: (answer: RpcAnswer | Promise<RpcAnswer>) => void;
}

/** Reads that come in one turn of the event loop reach the engine in one go: being handed to its thread and back costs more than most of them. */
export function readTogether(engine: Engine): Engine {
  let waiting: Question[] = [];

  function askAll(): void {
    const questions = waiting;
    waiting = [];
    for (let at = 0; at < questions.length; at += MOST_TOGETHER) void askSome(questions.slice(at, at + MOST_TOGETHER));
  }

  /** Where one of them is refused nobody knows which: each gets an answer of its own. */
  async function askSome(questions: readonly Question[]): Promise<void> {
    const results = questions.length > 1 ? await engine.inOneGo(questions).catch(() => null) : null;
    for (const [at, { method, params, answer }] of questions.entries())
      answer(results === null ? engine.request(method, params) : { result: results[at] });
  }

  function request(method: string, params: readonly unknown[] = []): Promise<RpcAnswer> {
    if (!READS.has(method) || isRehearsal(method, params)) return engine.request(method, params);
    // What one message set going is there by then.
    if (waiting.length === 0) process.nextTick(askAll);
    return new Promise((answer) => waiting.push({ method, params, answer }));
  }

  return { ...engine, request };
}
