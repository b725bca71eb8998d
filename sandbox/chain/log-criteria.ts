import type { RpcLog } from './chain-events.js';

/** Which logs a filter or subscription matches, with the semantics of eth_getLogs. */
export type Criteria = (log: RpcLog) => boolean;

interface Given {
  address?: unknown;
  topics?: unknown;
  fromBlock?: unknown;
  toBlock?: unknown;
}

/** Null if the filter is invalid. */
export function parseCriteria(given: unknown): Criteria | null {
  if (given === undefined || given === null) return () => true;
  if (typeof given !== 'object') return null;
  const { address, topics, fromBlock, toBlock }: Given = given;
  const addresses = anyOf(address, 42);
  const positions = topicPositions(topics);
  if (addresses === null || positions === null) return null;
  const [from, to] = [blockNumber(fromBlock) ?? 0, blockNumber(toBlock) ?? Infinity];
  return (log) => {
    const height = Number(log.blockNumber);
    if (height < from || height > to) return false;
    if (addresses.size > 0 && !addresses.has(log.address.toLowerCase())) return false;
    if (positions.length > log.topics.length) return false;
    return positions.every((wanted, index) => wanted.size === 0 || wanted.has((log.topics[index] ?? '').toLowerCase()));
  };
}

function topicPositions(topics: unknown): Set<string>[] | null {
  if (topics === undefined || topics === null) return [];
  if (!Array.isArray(topics) || topics.length > 4) return null;
  const positions = topics.map((topic) => anyOf(topic, 66));
  return positions.every((position) => position !== null) ? positions : null;
}

/** An empty set matches everything. */
function anyOf(value: unknown, length: number): Set<string> | null {
  if (value === undefined || value === null) return new Set();
  const values: unknown[] = Array.isArray(value) ? value : [value];
  const wanted = new Set<string>();
  for (const item of values) {
    if (item === null) return new Set(); // geth: null among alternatives matches anything
    if (typeof item !== 'string' || item.length !== length || !/^0x[0-9a-f]+$/i.test(item)) return null;
    wanted.add(item.toLowerCase());
  }
  return wanted;
}

/** Null for tags and if nothing is given. */
export const blockNumber = (value: unknown): number | null =>
  typeof value === 'string' && /^0x[0-9a-f]+$/i.test(value) ? Number(value) : null;
