import type * as Edr from '@nomicfoundation/edr';

/**
 * Replicas and the venue ask the engine the same again and again, and a switch to its thread and back costs more than most answers. What the
 * engine would answer again is answered here: blocks and logs until a block is taken back, balances and counts until a block or the pool has
 * a transaction, everything else until the next block. A block whose bloom filter is empty has no logs. Returns what ends it.
 */
export function rememberReads(engine: Edr.Provider): () => void {
  // oxlint-disable-next-line typescript/unbound-method -- called as a method of a provider
  const ask = engine.handleRequest;
  engine.handleRequest = async function remembered(this: Edr.Provider, body) {
    const parsed = JSON.parse(body) as Question | Question[];
    const questions = Array.isArray(parsed) ? parsed : [parsed];
    const found = questions.map((question) => memory.recall(question));
    if (found.every((each) => each !== undefined)) return answerOf(Array.isArray(parsed) ? found : found[0]);
    const answer = await ask.call(this, body);
    const { result, error } = (typeof answer.data === 'string' ? JSON.parse(answer.data) : answer.data) as Answer;
    const results = Array.isArray(parsed) ? (result as unknown[] | undefined) : [result];
    for (const [at, question] of questions.entries()) memory.note(question, error === undefined ? results?.[at] : undefined);
    return answerOf(result, error);
  };
  return () => void (engine.handleRequest = ask);
}

const answerOf = (result: unknown, error?: unknown): Edr.Response => ({ data: { result, error } }) as unknown as Edr.Response;

interface Question {
  readonly method: string;
  readonly params: readonly unknown[];
}

interface Answer {
  readonly result?: unknown;
  readonly error?: unknown;
}

interface Block {
  readonly hash: string;
  readonly number: string;
  readonly logsBloom: string;
  readonly transactions: readonly unknown[];
}

/** How long an answer holds. */
type Validity = 'for-ever' | 'until-transaction' | 'until-block';

const OF_STATE: ReadonlySet<string> = new Set([
  'eth_getBalance',
  'eth_getTransactionCount',
  'eth_getCode',
  'eth_getStorageAt',
  'eth_gasPrice',
  'eth_maxPriorityFeePerGas',
]);
const OF_BLOCK: ReadonlySet<string> = new Set([
  'eth_call',
  'eth_estimateGas',
  'eth_blockNumber',
  'eth_feeHistory',
  'eth_getTransactionByHash',
]);

/** Null: it changes the chain, or is not known here. */
function validityOf({ method, params }: Question, result: unknown): Validity | null {
  if (method === 'eth_chainId') return 'for-ever';
  if (OF_STATE.has(method)) return 'until-transaction';
  if (OF_BLOCK.has(method)) return 'until-block';
  const isFixed = !params.some((param) => param === 'latest' || param === 'pending' || param === 'earliest');
  if (method === 'eth_getBlockByHash' || method === 'eth_getBlockByNumber' || method === 'eth_getTransactionReceipt')
    return isFixed && result !== null ? 'for-ever' : 'until-block';
  return method === 'eth_getLogs' ? 'until-block' : null;
}

interface Memory {
  /** Another chain, or the kept one as every run finds it. */
  begin(isKept: boolean): void;
  /** Undefined: the engine has to be asked. */
  recall(question: Question): unknown;
  /** Undefined result: the engine refused. */
  note(question: Question, result: unknown): void;
}

function createMemory(): Memory {
  const kept: Readonly<Record<Validity, Map<string, unknown>>> = {
    'for-ever': new Map(),
    'until-transaction': new Map(),
    'until-block': new Map(),
  };
  /** What was read of the kept chain before anything changed: every run begins with the same reads. */
  const first = new Map<string, { readonly validity: Validity; readonly result: unknown }>();
  let isAtBeginning = false;
  /** A block was mined, and it is not known whether it has a transaction. */
  let isUnsure = false;
  /** Whether a block has logs, by its number. */
  const hasLogs = new Map<number, boolean>();
  const keyOf = ({ method, params }: Question): string => `${method} ${JSON.stringify(params)}`;

  function forget(...validities: readonly Validity[]): void {
    for (const each of validities) kept[each].clear();
  }

  function noteBlock(block: Block): void {
    const { hash, number, logsBloom, transactions } = block;
    kept['for-ever'].set(keyOf({ method: 'eth_getBlockByHash', params: [hash, false] }), block);
    kept['for-ever'].set(keyOf({ method: 'eth_getBlockByNumber', params: [number, false] }), block);
    hasLogs.set(Number(number), /[1-9a-f]/.test(logsBloom.slice(2)));
    if (isUnsure && transactions.length > 0) forget('until-transaction');
    isUnsure = false;
  }

  /** Every block of the range is known, and none has logs. */
  function isSilent([filter]: readonly unknown[]): boolean {
    const { fromBlock, toBlock, blockHash } = filter as { fromBlock?: string; toBlock?: string; blockHash?: string };
    if (blockHash !== undefined || !isNumber(fromBlock) || !isNumber(toBlock) || Number(toBlock) < Number(fromBlock)) return false;
    for (let number = Number(fromBlock); number <= Number(toBlock); number += 1) if (hasLogs.get(number) !== false) return false;
    return true;
  }

  return {
    begin(isKept) {
      forget('for-ever', 'until-transaction', 'until-block');
      hasLogs.clear();
      isUnsure = false;
      isAtBeginning = isKept;
      if (isKept) for (const [key, { validity, result }] of first) kept[validity].set(key, result);
    },
    recall(question) {
      const validity = validityOf(question, undefined);
      if (validity === null) return undefined;
      if (question.method === 'eth_getLogs' && isSilent(question.params)) return [];
      const key = keyOf(question);
      return kept['for-ever'].get(key) ?? (isUnsure ? undefined : kept['until-transaction'].get(key)) ?? kept['until-block'].get(key);
    },
    note(question, result) {
      const { method, params } = question;
      const validity = validityOf(question, result);
      if (validity === null && method !== 'evm_snapshot') isAtBeginning = false;
      if (method === 'evm_mine') {
        isUnsure = true;
        return forget('until-block');
      }
      if (validity === null) {
        if (method !== 'evm_snapshot') forget('until-transaction', 'until-block');
        if (method === 'eth_sendRawTransaction' || method === 'evm_snapshot') return;
        forget('for-ever');
        return hasLogs.clear();
      }
      if (result === undefined || result === null) return;
      kept[validity].set(keyOf(question), result);
      if (isAtBeginning) first.set(keyOf(question), { validity, result });
      if (method === 'eth_getBlockByNumber' && params[0] === 'latest' && params[1] === false) noteBlock(result as Block);
    },
  };
}

const memory = createMemory();

/** The engine's chain is another one now. */
export const beginReads = (isKept: boolean): void => memory.begin(isKept);

const isNumber = (text: string | undefined): text is string => text?.startsWith('0x') === true;
