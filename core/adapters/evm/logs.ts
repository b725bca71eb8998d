import {
  decodeAbiParameters,
  formatLog,
  numberToHex,
  toEventSelector,
  type AbiEvent,
  type AbiParameter,
  type Log,
  type PublicClient,
} from 'viem';
import type { ChainDefinition } from '../../chains/chains.js';
import {
  begins,
  DIAMOND_LOG_NAMES,
  type DiamondLog,
  type LogPlace,
  type RawLog,
  type TransactionReceipt,
} from '../../domain/diamond-log.js';
import { ChainMovedError, type LogRange } from '../../ports/chain.js';
import type { Address, BlockHead, Hex } from '../../types.js';
import { diamondAbi } from './diamond-abi.js';
import type { SeenTransaction } from '../../ports/simulation.js';

const WANTED: ReadonlySet<string> = new Set(DIAMOND_LOG_NAMES);
interface KnownEvent {
  readonly name: string;
  readonly isWanted: boolean;
  readonly read: EventDecoder;
}
const EVENTS: ReadonlyMap<Hex, KnownEvent> = new Map(
  diamondAbi.flatMap((item) =>
    item.type === 'event'
      ? [[toEventSelector(item), { name: item.name, isWanted: WANTED.has(item.name), read: eventDecoder(item) }] as const]
      : [],
  ),
);
const WANTED_TOPICS = [...EVENTS].flatMap(([topic, { isWanted }]) => (isWanted ? [topic] : []));
/** Ranges up to this length are read with full blocks in one round trip; for longer ones only the needed headers are read. */
const FEW_BLOCKS = 12n;

export async function readLogs(client: PublicClient, { diamond }: ChainDefinition, from: bigint, to: bigint): Promise<LogRange> {
  const raw = requestLogs(client, diamond, from, to);
  const isShort = to - from < FEW_BLOCKS;
  const early = isShort ? readFullBlocks(client, diamond, numbers(from, to)) : null;
  const [logs, full] = await Promise.all([raw, early]);
  const blocks = full?.blocks ?? (await readBlocks(client, [from, ...logs.map(({ blockNumber }) => blockNumber), to]));
  const byNumber = new Map(blocks.map((block) => [block.number, block]));
  requireLinked(blocks);
  const decoded = logs.flatMap((log) => decode(log, byNumber) ?? []).sort((a, b) => order(a.place, b.place));
  const wanted = new Set(decoded.filter(begins).map(({ place }) => place.txHash));
  const inputs = new Map([...(full?.inputs ?? [])].filter(([hash]) => wanted.has(hash)));
  const withLog = new Set(decoded.map(({ place }) => place.txHash));
  const silent = full && new Map([...full.inputs].filter(([hash]) => full.toDiamond.has(hash) && !withLog.has(hash)));
  return { blocks, logs: decoded, inputs, silent };
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

/** Reads headers and transaction inputs in parallel with the logs, so that no further round trip is needed. */
async function readFullBlocks(client: PublicClient, diamond: Hex, wanted: readonly bigint[]) {
  const inputs = new Map<Hex, Hex>();
  const toDiamond = new Set<Hex>();
  const blocks = await Promise.all(
    wanted.map(async (number): Promise<BlockHead> => {
      const block = await client.request({ method: 'eth_getBlockByNumber', params: [numberToHex(number), true] });
      if (!block?.hash) throw new ChainMovedError(`the node has no block ${number}`);
      for (const transaction of block.transactions) {
        if (typeof transaction === 'string') continue;
        inputs.set(transaction.hash, transaction.input);
        if (transaction.to?.toLowerCase() === diamond.toLowerCase()) toDiamond.add(transaction.hash);
      }
      return { number, hash: block.hash, parentHash: block.parentHash, timestamp: BigInt(block.timestamp) };
    }),
  );
  return { blocks, inputs, toDiamond };
}

export async function readInputs(client: PublicClient, hashes: readonly Hex[]): Promise<Map<Hex, Hex>> {
  const read = async (hash: Hex): Promise<[Hex, Hex]> => {
    const transaction = await client.request({ method: 'eth_getTransactionByHash', params: [hash] });
    if (transaction === null) throw new ChainMovedError(`the node has no transaction ${hash}`);
    return [hash, transaction.input];
  };
  return new Map(await Promise.all([...new Set(hashes)].map(read)));
}

/** Ascending, each once. */
export async function readBlocks(client: PublicClient, wanted: readonly bigint[]): Promise<BlockHead[]> {
  const unique = [...new Set(wanted)].sort((a, b) => Number(a - b));
  return Promise.all(unique.map(async (blockNumber) => headIn(await client.getBlock({ blockNumber }))));
}

export const readHead = async (client: PublicClient): Promise<BlockHead> => headIn(await client.getBlock({ blockTag: 'latest' }));

/** viem does not validate blocks; one without number or hash is pending or malformed. */
function headIn({ number, hash, parentHash, timestamp }: { [key in keyof BlockHead]?: BlockHead[key] | null | undefined }): BlockHead {
  if (typeof number !== 'bigint' || typeof timestamp !== 'bigint' || !hash || !parentHash)
    throw new ChainMovedError('the node answered with something that is no mined block');
  return { number, hash, parentHash, timestamp };
}

function requireLinked(blocks: readonly BlockHead[]): void {
  const byNumber = new Map(blocks.map((block) => [block.number, block.hash]));
  for (const { number, parentHash } of blocks)
    if ((byNumber.get(number - 1n) ?? parentHash) !== parentHash)
      throw new ChainMovedError(`block ${number} does not follow the one before`);
}

/** Null for an unknown topic, or data that does not match our ABI. */
function decode(log: MinedLog, blocks: ReadonlyMap<bigint, BlockHead>): DiamondLog | null {
  const block = blocks.get(log.blockNumber);
  if (!block) throw new ChainMovedError(`a log names block ${log.blockNumber}, which was not asked for`);
  if (block.hash !== log.blockHash) throw new ChainMovedError(`a log names another block ${log.blockNumber}`);
  const { blockNumber, blockHash, transactionHash: txHash, logIndex } = log;
  const read = decodeAt(log, { blockNumber, blockHash, txHash, logIndex, at: Number(block.timestamp) * 1000 });
  return read === 'unreadable' ? null : read;
}

/** Null for an event that is known and not interpreted. */
function decodeAt({ topics, data }: Pick<RawLog, 'topics' | 'data'>, place: LogPlace): DiamondLog | 'unreadable' | null {
  const event = topics[0] && EVENTS.get(topics[0]);
  if (!event) return 'unreadable';
  try {
    const args = event.read(topics, data);
    return event.isWanted ? ({ name: event.name, args, place } as DiamondLog) : null;
  } catch {
    return 'unreadable';
  }
}

/** Unlike a filter of logs, a receipt has those that this release does not know. */
export async function readReceipts(
  client: PublicClient,
  { diamond }: ChainDefinition,
  places: readonly TransactionReceipt['place'][],
): Promise<TransactionReceipt[]> {
  const asked = places.map(async (place): Promise<TransactionReceipt> => {
    const receipt = await client.request({ method: 'eth_getTransactionReceipt', params: [place.txHash] });
    if (receipt?.blockHash !== place.blockHash) throw new ChainMovedError(`the node has no receipt of ${place.txHash} in its block`);
    const own = receipt.logs.filter(({ address }) => lower(address) === lower(diamond));
    return readRaw(
      place,
      own.map(({ logIndex, topics, data }) => ({ logIndex: Number(logIndex), topics, data })),
    );
  });
  return Promise.all(asked);
}

export function readRaw(place: TransactionReceipt['place'], raw: readonly RawLog[]): TransactionReceipt {
  const read = raw.map((log) => decodeAt(log, { ...place, logIndex: log.logIndex }));
  const logs = read.filter((log): log is DiamondLog => log !== null && log !== 'unreadable');
  return { place, raw, logs, unreadable: raw.filter((_, at) => read[at] === 'unreadable') };
}

type Args = Readonly<Record<string, unknown>>;
type EventDecoder = (topics: readonly Hex[], data: Hex) => Args;

/** Types of which a topic contains only a hash. */
const isHashed = ({ type }: AbiParameter): boolean => type === 'string' || type === 'bytes' || type === 'tuple' || type.endsWith(']');

/**
 * Decodes the logs of one event, selected by topic. The library would hash the event's signature for every log, which takes longer than the
 * decoding. Throws when the log does not match.
 */
export function eventDecoder({ inputs }: AbiEvent): EventDecoder {
  const indexed = inputs.filter((input) => input.indexed);
  const plain = inputs.filter((input) => !input.indexed);
  return (topics, data) => {
    if (topics.length !== indexed.length + 1) throw new RangeError('a log with other topics');
    const read = indexed.map((input, at): readonly [string, unknown] => [input.name ?? '', fromTopic(input, topics[at + 1] ?? '0x')]);
    const values: readonly unknown[] = plain.length === 0 ? [] : decodeAbiParameters(plain, data);
    return Object.fromEntries([...read, ...plain.map((input, at) => [input.name ?? '', values[at]] as const)]);
  };
}

const fromTopic = (input: AbiParameter, topic: Hex): unknown => (isHashed(input) ? topic : decodeAbiParameters([input], topic)[0]);

/** A transaction with its receipt, in one round trip; null when the node does not have it. */
export async function seenTransaction(client: PublicClient, hash: Hex): Promise<SeenTransaction | null> {
  const [transaction, mined] = await Promise.all([
    client.request({ method: 'eth_getTransactionByHash', params: [hash] }),
    outcomeOf(client, hash),
  ]);
  if (transaction === null) return null;
  return {
    from: lower(transaction.from),
    to: transaction.to === null ? null : lower(transaction.to),
    input: transaction.input,
    mined,
  };
}

export async function outcomeOf(client: PublicClient, hash: Hex): Promise<SeenTransaction['mined']> {
  const receipt = await client.request({ method: 'eth_getTransactionReceipt', params: [hash] });
  if (receipt === null) return null;
  return { blockNumber: BigInt(receipt.blockNumber), blockHash: receipt.blockHash, succeeded: BigInt(receipt.status) === 1n };
}

const lower = (address: string): Address => address.toLowerCase() as Address;
