import { decodeEventLog, numberToHex, toEventSelector, type AbiEvent, type PublicClient } from 'viem';
import type { ContractFigures } from '../../ports/chain.js';
import type { Address, Hex } from '../../types.js';
import { diamondAbi } from './diamond-abi.js';

/** Checks of the contract that the probe and the running gateway share. */

/** Enough blocks to contain every common event of a busy chain, few enough for one reply. */
export const CHECKED_BLOCKS = 2_000n;
/** What every provider gives. */
const FEW_BLOCKS = 10n;

interface LogBytes {
  readonly topics: readonly Hex[];
  readonly data: Hex;
}

/** Which of these logs can be read. */
export interface EventReading {
  /** How often each was read, by name. */
  readonly read: ReadonlyMap<string, number>;
  /** Events we know by topic that have another form. */
  readonly broken: readonly string[];
  /** Topics of events that we do not know; there are always some. */
  readonly unknown: ReadonlySet<string>;
}

const EVENTS: ReadonlyMap<string, AbiEvent> = new Map(
  diamondAbi.flatMap((item) => (item.type === 'event' ? [[toEventSelector(item), item] as const] : [])),
);

export function readEvents(logs: readonly LogBytes[]): EventReading {
  const [read, broken, unknown] = [new Map<string, number>(), new Set<string>(), new Set<string>()];
  for (const { topics, data } of logs) {
    const topic = topics[0] ?? '';
    const event = EVENTS.get(topic);
    if (event === undefined) unknown.add(topic);
    else if (!canRead(event, topics, data)) broken.add(event.name);
    else read.set(event.name, (read.get(event.name) ?? 0) + 1);
  }
  return { read, broken: [...broken], unknown };
}

function canRead(event: AbiEvent, topics: readonly Hex[], data: Hex): boolean {
  try {
    decodeEventLog({ abi: [event], topics: topics as [Hex, ...Hex[]], data });
    return true;
  } catch {
    return false;
  }
}

export async function contractFigures(client: PublicClient, diamond: Address, since: bigint): Promise<ContractFigures> {
  const view = { address: diamond, abi: diamondAbi } as const;
  const head = await client.getBlockNumber({ cacheTime: 0 });
  const [pairs, groups, fees, logs] = await Promise.all([
    client.readContract({ ...view, functionName: 'pairsCount' }),
    client.readContract({ ...view, functionName: 'groupsCount' }),
    client.readContract({ ...view, functionName: 'feesCount' }),
    newestLogs(client, diamond, since, head),
  ]);
  return { pairs: Number(pairs), groups: Number(groups), fees: Number(fees), brokenEvents: readEvents(logs).broken };
}

/** Some providers give few blocks at a time: then the newest are looked at. */
async function newestLogs(client: PublicClient, address: Address, since: bigint, head: bigint): Promise<readonly LogBytes[]> {
  const from = (most: bigint): bigint => (head - since < most ? since : head - most + 1n);
  const logsFrom = (block: bigint) =>
    client.request({ method: 'eth_getLogs', params: [{ address, fromBlock: numberToHex(block), toBlock: numberToHex(head) }] });
  if (since > head) return [];
  return logsFrom(from(CHECKED_BLOCKS)).catch(() => logsFrom(from(FEW_BLOCKS)));
}
