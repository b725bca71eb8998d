import { encodeFunctionData, numberToHex } from 'viem';
import { diamondAbi } from '../../core/adapters/evm/diamond-abi.js';
import type { Config } from '../../core/config/config.js';
import { LOG_BATCH, LOOK_BACK_MS } from '../../core/indexer/follow-chain.js';
import { differs, judge, ok, type Looker, type Outcome, type Probe } from './look.js';
import type { Clock } from '../../core/ports/clock.js';
import { exchange, ExchangeFault, post, rpcPlace, type RpcAnswer, type RpcCall } from '../../core/adapters/evm/rpc-client.js';
import type { Address, Hex } from '../../core/types.js';

export type ChainConfig = Config['chains'][number];

/** A node that serves this chain, with its newest block at the time of the check. */
export interface GoodNode {
  readonly ask: AskNode;
  readonly head: bigint;
  /** Blocks of logs that it returns at once. */
  readonly logRange: bigint;
}

interface Head {
  readonly number: bigint;
  readonly timestamp: number;
}

const HEAD_YOUNG_S = 30;
const CLOCK_S = 5;
const FEWEST_LOG_BLOCKS = 100n;
/** How far behind the head the follower still reads contract state. */
const STATE_DEPTH = 1_000n;
const DEAD_ADDRESS = '0x000000000000000000000000000000000000dEaD';

/** Checks one node: whether it serves the chain and is alive, and its limits. Null if it is unusable. */
export async function probeNode(probe: Probe, url: string, part: string, config: ChainConfig): Promise<GoodNode | null> {
  const look = probe.part(part);
  const ask = createAskNode(url, probe.clock);
  if ((await lookAtChain(look, ask, config.chain.chainId)) !== 'ok') return null;
  const head = await lookAtHead(look, ask, probe);
  if (head === null) return null;
  const clock = lookAtClock(look, ask, probe);
  const batch = lookAtBatches(look, ask);
  const depth = lookAtDepth(look, ask, config, head);
  const state = lookAtState(look, ask, config, head);
  const simulation = lookAtSimulation(look, ask, config);
  const logRange = await lookAtLogs(look, ask, config, head);
  await Promise.all([clock, batch, depth, state, simulation]);
  return { ask, head: head.number, logRange };
}

const lookAtChain = (look: Looker, ask: AskNode, chainId: number) =>
  look({
    check: 'chain id',
    expected: String(chainId),
    run: async () => {
      const found = Number(await ask.one('eth_chainId'));
      return judge(found === chainId, String(found));
    },
  });

async function lookAtHead(look: Looker, ask: AskNode, { clock }: Probe): Promise<Head | null> {
  let head: Head | null = null;
  await look({
    check: 'newest block',
    expected: `younger than ${HEAD_YOUNG_S} s, and no more than ${CLOCK_S} s ahead of this machine`,
    run: async () => {
      head = headIn(await ask.one('eth_getBlockByNumber', ['latest', false]));
      const age = Math.round(clock.now() / 1000) - head.timestamp;
      const found = age < 0 ? `block ${head.number}, ${-age} s ahead of the clock` : `block ${head.number}, ${age} s old`;
      return judge(age <= HEAD_YOUNG_S && age >= -CLOCK_S, found);
    },
  });
  return head;
}

function headIn(block: unknown): Head {
  if (typeof block !== 'object' || block === null || !('number' in block) || !('timestamp' in block)) throw new Error('no block');
  return { number: BigInt(String(block.number)), timestamp: Number(block.timestamp) };
}

/** Signed requests are checked by age, so with a wrong clock every request would be refused. */
const lookAtClock = (look: Looker, ask: AskNode, { clock }: Probe) =>
  look({
    check: 'clock',
    expected: `within ${CLOCK_S} s of this machine's`,
    run: async () => {
      const theirs = await ask.date();
      if (theirs === null) return ok('the node reports no time');
      const seconds = Math.round((theirs - clock.now()) / 1000);
      return judge(Math.abs(seconds) <= CLOCK_S, seconds === 0 ? 'the same' : `${seconds} s`);
    },
  });

const lookAtBatches = (look: Looker, ask: AskNode) =>
  look({
    check: 'calls per request',
    expected: 'batches; 100 are sent at most',
    run: async () => {
      const size = await findBatchSize(ask);
      return judge(size > 1, size > 1 ? `${size}` : 'no batches: every call is a request of its own');
    },
  });

async function lookAtLogs(look: Looker, ask: AskNode, { chain }: ChainConfig, head: Head): Promise<bigint> {
  let range = 0n;
  await look({
    check: 'blocks per eth_getLogs',
    expected: `${FEWEST_LOG_BLOCKS} or more; ${LOG_BATCH.most} are asked for at most`,
    timeoutMs: 20_000,
    run: async (signal) => {
      const found = await findLogRange(ask, { address: chain.diamond, head: head.number, most: LOG_BATCH.most, signal });
      range = found.blocks;
      const isAll = found.blocks >= FEWEST_LOG_BLOCKS || found.blocks > head.number;
      return judge(isAll, `${found.blocks}${found.words === null ? '' : `; more is refused: ${found.words}`}`);
    },
  });
  return range;
}

/** With an empty database the follower starts a day ago, or at the configured block. */
const lookAtDepth = (look: Looker, ask: AskNode, { chain, startBlock }: ChainConfig, head: Head) => {
  const dayAgo = head.number - BigInt(Math.ceil(LOOK_BACK_MS / chain.expectedBlockMs));
  const first = startBlock ?? (dayAgo < 0n ? 0n : dayAgo);
  return look({
    check: 'history to follow from',
    expected: `header and logs of block ${first}`,
    run: async () => {
      const block = numberToHex(first);
      const header = await ask.one('eth_getBlockByNumber', [block, false]);
      if (header === null) return differs('the node has no such block');
      await ask.one('eth_getLogs', [{ address: chain.diamond, fromBlock: block, toBlock: block }]);
      return ok('there');
    },
  });
};

const lookAtState = (look: Looker, ask: AskNode, { chain }: ChainConfig, head: Head) => {
  const depth = head.number < STATE_DEPTH ? head.number : STATE_DEPTH;
  return look({
    check: 'state of the past',
    expected: `what was held ${depth} blocks before the newest`,
    run: () => answeredOrNot(ask.one('eth_getBalance', [chain.diamond, numberToHex(head.number - depth)])),
  });
};

async function answeredOrNot(answer: Promise<unknown>): Promise<Outcome> {
  try {
    await answer;
    return ok('answered');
  } catch (error) {
    if (!(error instanceof NodeRefusal)) throw error;
    return differs(`refused: ${error.message}`);
  }
}

/** The calls with which orders are simulated: a sender, a gas limit, and an estimate. */
const lookAtSimulation = (look: Looker, ask: AskNode, { chain }: ChainConfig) =>
  look({
    check: 'simulation',
    expected: 'eth_call with sender and gas, eth_estimateGas',
    run: async (): Promise<Outcome> => {
      const data = encodeFunctionData({ abi: diamondAbi, functionName: 'removeTradingDelegate' });
      const call = { from: DEAD_ADDRESS, to: chain.diamond, data };
      const refused: string[] = [];
      const attempt = (method: string, params: readonly unknown[]) =>
        ask.one(method, params).catch((error: unknown) => {
          if (!(error instanceof NodeRefusal)) throw error;
          refused.push(`${method} refused: ${error.message}`);
        });
      await Promise.all([attempt('eth_call', [{ ...call, gas: numberToHex(5_000_000) }, 'latest']), attempt('eth_estimateGas', [call])]);
      return judge(refused.length === 0, refused.length === 0 ? 'both answered' : refused.join('; '));
    },
  });

/** The node refused the request; the message is upstream's. */
export class NodeRefusal extends Error {
  override readonly name = 'NodeRefusal';
}

export interface AskNode {
  /** The result, or NodeRefusal with the node's message; any other error means that it did not answer. */
  one(method: string, params?: readonly unknown[]): Promise<unknown>;
  /** Sent in one request. */
  batch(calls: readonly RpcCall[]): Promise<readonly RpcAnswer[]>;
  /** Epoch ms of the node's clock, to the second; null if the reply has no date. */
  date(): Promise<number | null>;
  call(to: Address, data: Hex, block?: string): Promise<Hex>;
}

const LONGEST_ANSWER_MS = 8_000;

/** Requests one node over the gateway's own HTTP client, without failover. */
function createAskNode(url: string, clock: Clock): AskNode {
  const place = rpcPlace(url);
  const limit = { timeoutMs: LONGEST_ANSWER_MS, clock };

  const one = async (method: string, params: readonly unknown[] = []): Promise<unknown> => {
    const [answer] = await exchange(place, [{ method, params }], limit);
    if (answer === undefined) throw new Error('no answer');
    if ('error' in answer) throw new NodeRefusal(answer.error.message);
    return answer.result;
  };

  return {
    one,
    batch: (calls) => exchange(place, calls, limit),
    async date() {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'eth_chainId', params: [] });
      const { headers } = await post(place, body, { ...limit, isLarge: false });
      const time = Date.parse(headers.date ?? '');
      return Number.isNaN(time) ? null : time;
    },
    async call(to, data, block = 'latest') {
      const result = await one('eth_call', [{ to, data }, block]);
      if (typeof result !== 'string' || !/^0x[0-9a-fA-F]*$/.test(result)) throw new NodeRefusal('its answer to a call is no data');
      return result as Hex;
    },
  };
}

const LARGEST_BATCH = 100;

/** The largest batch the node accepts, found by halving as the gateway itself does; 1 if it accepts none. */
async function findBatchSize(ask: AskNode): Promise<number> {
  for (let size = LARGEST_BATCH; size > 1; size = Math.floor(size / 2)) {
    try {
      const answers = await ask.batch(Array.from({ length: size }, () => ({ method: 'eth_chainId' })));
      if (answers.every((answer) => 'result' in answer)) return size;
    } catch (error) {
      if (!(error instanceof ExchangeFault) || !error.isTooMany) throw error;
    }
  }
  return 1;
}

interface LogRangeQuestion {
  readonly address: Address;
  readonly head: bigint;
  readonly most: bigint;
  readonly signal: AbortSignal;
}

/** The longest log range the node accepts, found by halving, with its message for the previous one. Zero if it accepts none. */
async function findLogRange(
  ask: AskNode,
  { address, head, most, signal }: LogRangeQuestion,
): Promise<{ readonly blocks: bigint; readonly words: string | null }> {
  let words: string | null = null;
  for (let blocks = most > head + 1n ? head + 1n : most; blocks > 0n && !signal.aborted; blocks /= 2n) {
    try {
      await ask.one('eth_getLogs', [{ address, fromBlock: numberToHex(head - blocks + 1n), toBlock: numberToHex(head) }]);
      return { blocks, words };
    } catch (error) {
      if (!(error instanceof NodeRefusal)) throw error;
      words = error.message.slice(0, 160);
    }
  }
  return { blocks: 0n, words };
}
