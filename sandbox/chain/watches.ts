import { randomBytes } from 'node:crypto';
import type { Clock } from '../../core/ports/clock.js';
import type { Cancel, Hex } from '../../core/types.js';
import type { ChainEvent, ChainEvents, RpcLog } from './chain-node.js';
import type { RpcAnswer } from './engine.js';
import { invalidParams } from './geth-errors.js';

/** Subscriptions push and filters are polled; both see the same events, so a reorg looks alike to both. */

/** What one event contains for one watcher; may be empty. */
type Selection = (event: ChainEvent) => readonly unknown[];

const headerOf = (block: object): object =>
  Object.fromEntries(
    Object.entries(block).filter(([key]) => !['transactions', 'uncles', 'size', 'totalDifficulty', 'withdrawals'].includes(key)),
  );

const heads: Selection = (event) => (event.kind === 'block' ? [headerOf(event.block)] : []);
const blockHashes: Selection = (event) => (event.kind === 'block' ? [event.block.hash] : []);
const pendingHashes: Selection = (event) => (event.kind === 'pending' ? [event.tx.hash] : []);
const pendingTransactions: Selection = (event) => (event.kind === 'pending' ? [event.tx] : []);

function logsOf(criteria: unknown): Selection | null {
  const wanted = parseCriteria(criteria);
  return wanted === null ? null : (event) => (event.kind === 'logs' ? event.logs.filter(wanted) : []);
}

const newId = (): Hex => `0x${randomBytes(16).toString('hex')}`;

/** The subscriptions of one WebSocket; no other client can see or end them. */
export interface Subscriptions {
  subscribe(params: readonly unknown[]): RpcAnswer;
  unsubscribe(params: readonly unknown[]): RpcAnswer;
  close(): void;
}

export function createSubscriptions(events: ChainEvents, notify: (subscription: Hex, result: unknown) => void): Subscriptions {
  const active = new Map<Hex, Cancel>();

  function selection([name, option]: readonly unknown[]): Selection | string {
    if (name === 'newHeads') return heads;
    if (name === 'newPendingTransactions') return option === true ? pendingTransactions : pendingHashes;
    if (name === 'logs') return logsOf(option) ?? 'invalid argument 1: the log filter cannot be understood';
    return `no "${String(name)}" subscription in eth namespace`;
  }

  return {
    subscribe(params) {
      const select = selection(params);
      if (typeof select === 'string') return { error: invalidParams(select) };
      const id = newId();
      active.set(
        id,
        events.on((event) => select(event).forEach((result) => notify(id, result))),
      );
      return { result: id };
    },
    unsubscribe([id]) {
      const end = active.get(id as Hex);
      if (end === undefined) return { error: { code: -32000, message: 'subscription not found' } };
      end();
      active.delete(id as Hex);
      return { result: true };
    },
    close() {
      for (const end of active.values()) end();
      active.clear();
    },
  };
}

const FILTER_LIFE_MS = 300_000;
const MOST_CHANGES = 100_000;

interface Filter {
  changes: unknown[];
  criteria: object | null;
  askedAt: number;
  end: Cancel;
}

export interface Filters {
  /** Null if it is no filter method. `getLogs` answers eth_getFilterLogs. */
  handle(
    method: string,
    params: readonly unknown[],
    getLogs: (criteria: object) => Promise<RpcAnswer>,
  ): Promise<RpcAnswer> | RpcAnswer | null;
  close(): void;
}

export function createFilters(events: ChainEvents, clock: Clock): Filters {
  const filters = new Map<unknown, Filter>();
  const unknownFilter: RpcAnswer = { error: { code: -32000, message: 'filter not found' } };

  function end(id: unknown): boolean {
    filters.get(id)?.end();
    return filters.delete(id);
  }

  function create(select: Selection | null, criteria: object | null): RpcAnswer {
    if (select === null) return { error: invalidParams('invalid argument 0: the log filter cannot be understood') };
    for (const [id, { askedAt }] of filters) if (clock.now() - askedAt > FILTER_LIFE_MS) end(id);
    const id = newId();
    const changes: unknown[] = [];
    const listen = (event: ChainEvent): void => {
      changes.push(...select(event));
      if (changes.length > MOST_CHANGES) end(id); // its owner is gone
    };
    filters.set(id, { changes, criteria, askedAt: clock.now(), end: events.on(listen) });
    return { result: id };
  }

  function changesOf(id: unknown): RpcAnswer {
    const filter = filters.get(id);
    if (filter === undefined) return unknownFilter;
    filter.askedAt = clock.now();
    return { result: filter.changes.splice(0) };
  }

  return {
    handle(method, [first], getLogs) {
      switch (method) {
        case 'eth_newFilter':
          return create(logsOf(first), typeof first === 'object' && first !== null ? first : {});
        case 'eth_newBlockFilter':
          return create(blockHashes, null);
        case 'eth_newPendingTransactionFilter':
          return create(pendingHashes, null);
        case 'eth_getFilterChanges':
          return changesOf(first);
        case 'eth_getFilterLogs': {
          const criteria = filters.get(first)?.criteria ?? null;
          return criteria === null ? unknownFilter : getLogs(criteria);
        }
        case 'eth_uninstallFilter':
          return { result: end(first) };
        default:
          return null;
      }
    },
    close() {
      for (const id of [...filters.keys()]) end(id);
    },
  };
}

/** Which logs a filter or subscription matches, with the semantics of eth_getLogs. */
type Criteria = (log: RpcLog) => boolean;

interface Given {
  address?: unknown;
  topics?: unknown;
  fromBlock?: unknown;
  toBlock?: unknown;
}

/** Null if the filter is invalid. */
function parseCriteria(given: unknown): Criteria | null {
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
