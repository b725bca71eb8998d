import { decodeEventLog, encodeEventTopics, formatLog, numberToHex, type Log, type PublicClient } from 'viem';
import type { ChainDefinition } from '../../chains.js';
import { DIAMOND_LOG_NAMES, type DiamondLog } from '../../domain/diamond-log.js';
import { ChainMovedError, type BlockHead, type Hex, type LogRange } from '../../ports.js';
import { diamondAbi } from '../diamond-abi.js';

const WANTED_TOPICS = DIAMOND_LOG_NAMES.flatMap((eventName) => encodeEventTopics({ abi: diamondAbi, eventName })[0]);
const WANTED: ReadonlySet<string> = new Set(DIAMOND_LOG_NAMES);
/** So few blocks are read with all their headers, in one round trip; of longer ranges only the headers that matter. */
const FEW_BLOCKS = 12n;

export async function readLogs(client: PublicClient, { diamond }: ChainDefinition, from: bigint, to: bigint): Promise<LogRange> {
  const raw = requestLogs(client, diamond, from, to);
  const isShort = to - from < FEW_BLOCKS;
  const early = isShort ? readBlocks(client, numbers(from, to)) : null;
  const [logs, headers] = await Promise.all([raw, early]);
  const blocks = headers ?? (await readBlocks(client, [from, ...logs.map(({ blockNumber }) => blockNumber), to]));
  const byNumber = new Map(blocks.map((block) => [block.number, block]));
  requireLinked(blocks);
  const decoded = logs.flatMap((log) => decode(log, byNumber) ?? []);
  return { blocks, logs: decoded.sort((a, b) => order(a.place, b.place)) };
}

const order = (a: DiamondLog['place'], b: DiamondLog['place']): number =>
  a.blockNumber === b.blockNumber ? a.logIndex - b.logIndex : Number(a.blockNumber - b.blockNumber);

const numbers = (from: bigint, to: bigint): bigint[] => Array.from({ length: Number(to - from) + 1 }, (_, step) => from + BigInt(step));

type MinedLog = Log<bigint, number, false>;

async function requestLogs(client: PublicClient, address: Hex, from: bigint, to: bigint): Promise<MinedLog[]> {
  const range = { address, fromBlock: numberToHex(from), toBlock: numberToHex(to), topics: [WANTED_TOPICS] };
  const logs = await client.request({ method: 'eth_getLogs', params: [range] });
  return logs.filter(({ removed }) => !removed).map((log) => formatLog(log) as MinedLog);
}

/** Ascending, each once. */
export async function readBlocks(client: PublicClient, wanted: readonly bigint[]): Promise<BlockHead[]> {
  const unique = [...new Set(wanted)].sort((a, b) => Number(a - b));
  return Promise.all(unique.map((blockNumber) => readBlock(client, blockNumber)));
}

async function readBlock(client: PublicClient, blockNumber: bigint): Promise<BlockHead> {
  const { number, hash, parentHash, timestamp } = await client.getBlock({ blockNumber });
  return { number, hash, parentHash, timestamp };
}

function requireLinked(blocks: readonly BlockHead[]): void {
  const byNumber = new Map(blocks.map((block) => [block.number, block.hash]));
  for (const { number, parentHash } of blocks)
    if ((byNumber.get(number - 1n) ?? parentHash) !== parentHash)
      throw new ChainMovedError(`block ${number} does not follow the one before`);
}

/** null for what we do not know: a topic of another release, or data that does not fit ours. */
function decode(log: MinedLog, blocks: ReadonlyMap<bigint, BlockHead>): DiamondLog | null {
  const block = blocks.get(log.blockNumber);
  if (!block) throw new ChainMovedError(`a log names block ${log.blockNumber}, which was not asked for`);
  if (block.hash !== log.blockHash) throw new ChainMovedError(`a log names another block ${log.blockNumber}`);
  try {
    const { eventName, args } = decodeEventLog({ abi: diamondAbi, topics: log.topics, data: log.data });
    if (!WANTED.has(eventName)) return null;
    const { blockNumber, blockHash, transactionHash: txHash, logIndex } = log;
    return { name: eventName, args, place: { blockNumber, blockHash, txHash, logIndex, at: Number(block.timestamp) * 1000 } } as DiamondLog;
  } catch {
    return null;
  }
}
