import { hexToNumber, toEventSelector, type DecodeEventLogReturnType, type Hex } from 'viem';
import { diamondAbi } from '../../core/adapters/evm/diamond-abi.js';
import { eventDecoder } from '../../core/adapters/evm/logs.js';

type AllEvents = Extract<(typeof diamondAbi)[number], { type: 'event' }>['name'];

/** Distributes over the event names, so that `switch (name)` narrows the arguments. */
type Decoded<Name extends AllEvents> = Name extends AllEvents
  ? { readonly name: Name; readonly args: DecodeEventLogReturnType<typeof diamondAbi, Name>['args'] }
  : never;

export type DiamondLog = Decoded<AllEvents> & { readonly block: number; readonly tx: Hex; readonly logIndex: number };

interface RawLog {
  readonly data: Hex;
  readonly topics: [Hex, ...Hex[]];
  readonly blockNumber: Hex;
  readonly transactionHash: Hex;
  readonly logIndex: Hex;
}

/** Looked up by topic: the decoder itself would hash every signature of the ABI for every log. */
const EVENTS = new Map(
  diamondAbi.flatMap((item) =>
    item.type === 'event' ? [[toEventSelector(item), { name: item.name, decode: eventDecoder(item) }] as const] : [],
  ),
);

/** Null for logs of controls and other events outside the ABI. */
export function readLog(raw: unknown): DiamondLog | null {
  const log = raw as RawLog;
  const event = EVENTS.get(log.topics[0]);
  if (!event) return null;
  try {
    const args = event.decode(log.topics, log.data);
    const place = { block: hexToNumber(log.blockNumber), tx: log.transactionHash, logIndex: hexToNumber(log.logIndex) };
    return { name: event.name, args, ...place } as unknown as DiamondLog;
  } catch {
    return null;
  }
}
