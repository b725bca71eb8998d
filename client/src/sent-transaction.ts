import { hexToNumber, slice, toEventSelector } from 'viem/utils';
import type { Hex } from './api.js';
import { ChainError } from './errors.js';
import type { Rpc } from './rpc.js';

/** What the caller's own node has of a transaction that was sent, and what it left on the chain. */

export interface SentTransaction {
  readonly from: Hex;
  /** Null where it made a contract. */
  readonly to: Hex | null;
  readonly data: Hex;
  /** Null while it is not mined. */
  readonly isSuccess: boolean | null;
  /** Indices of the resting orders that it placed for the trader. */
  readonly orders: readonly number[];
  /** Indices of the requests that it made for the trader, which wait for the oracle. */
  readonly requests: readonly number[];
}

const PLACED = toEventSelector('OpenOrderPlaced(address,uint16,uint32)');
const REQUESTED = toEventSelector('MarketOrderInitiated((address,uint32),address,uint16,bool)');

interface Log {
  readonly address: Hex;
  readonly data: Hex;
  readonly topics: readonly Hex[];
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === 'object' && value !== null;
const isHex = (value: unknown): value is Hex => typeof value === 'string' && /^0x[0-9a-fA-F]*$/.test(value);
const isSame = (a: unknown, b: Hex): boolean => typeof a === 'string' && a.toLowerCase() === b.toLowerCase();

const isLog = (log: unknown): log is Log =>
  isObject(log) && isHex(log['address']) && isHex(log['data']) && Array.isArray(log['topics']) && log['topics'].every(isHex);

/** Null where the node does not have it. */
export async function readSent(
  rpc: Rpc,
  { diamond, trader, hash }: { diamond: Hex; trader: Hex; hash: Hex },
): Promise<SentTransaction | null> {
  const [found, receipt] = await Promise.all([rpc('eth_getTransactionByHash', [hash]), rpc('eth_getTransactionReceipt', [hash])]);
  if (found == null) return null;
  if (!isObject(found) || !isSame(found['hash'], hash) || !isHex(found['from']) || !isHex(found['input']))
    throw new ChainError(`the node answered another transaction than ${hash}`);
  const to = isHex(found['to']) ? found['to'] : null;
  const sent = { from: found['from'], to, data: found['input'] };
  if (!isObject(receipt)) return { ...sent, isSuccess: null, orders: [], requests: [] };
  const logs = Array.isArray(receipt['logs']) ? receipt['logs'].filter(isLog) : [];
  // Both events have the trader and the market in their topics.
  const own = logs.filter(({ address, topics: [, of] }) => isSame(address, diamond) && of !== undefined && isSame(slice(of, 12), trader));
  return {
    ...sent,
    isSuccess: isHex(receipt['status']) && BigInt(receipt['status']) === 1n,
    orders: own.flatMap(({ topics: [event, , , index] }) => (event === PLACED && index !== undefined ? [hexToNumber(index)] : [])),
    requests: own.flatMap(({ topics: [event], data }) => (event === REQUESTED ? [hexToNumber(slice(data, 32, 64))] : [])),
  };
}
