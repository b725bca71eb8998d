import type { ContractFunctionReturnType, PublicClient } from 'viem';
import type { PendingOrderStruct, TradeStruct } from '../../domain/diamond-log.js';
import type { Address } from '../../types.js';
import { diamondAbi } from './diamond-abi.js';
import { absentWhenReverted } from './fee-multiplier.js';

/** What a trader has open, listed by the contract or, where it has no function that lists, found one by one at the same block. */

export interface Listing<T> {
  /** Null where the contract answers neither way. */
  readonly all: readonly T[] | null;
  /** False: they were found one by one, or not at all. */
  readonly isListed: boolean;
}

interface View {
  readonly address: Address;
  readonly abi: typeof diamondAbi;
  readonly blockNumber?: bigint;
}
type Counter = ContractFunctionReturnType<typeof diamondAbi, 'view', 'getCounters'>;

/** `CounterType`. */
const [TRADES, REQUESTS] = [0, 1];
const AT_ONCE = 50;
/** Who opens daily reaches this after years with one order that is older than all of these. */
const MOST_READ = 1_000;

export const viewAt = (address: Address, block: bigint | null): View => ({
  ...{ address, abi: diamondAbi },
  ...(block === null ? {} : { blockNumber: block }),
});

/** Open trades and resting orders together, by index. */
export async function listTrades(client: PublicClient, view: View, trader: Address): Promise<Listing<TradeStruct>> {
  const listed = await client.readContract({ ...view, functionName: 'getTrades', args: [trader] }).catch(absentWhenReverted);
  if (listed !== null) return { all: listed, isListed: true };
  const counter = await counterOf(client, view, trader, TRADES);
  const all = await oneByOne(counter, (index) => client.readContract({ ...view, functionName: 'getTrade', args: [trader, index] }));
  return { all, isListed: false };
}

/** Requests that were neither executed nor taken back, by index. */
export async function listRequests(client: PublicClient, view: View, trader: Address): Promise<Listing<PendingOrderStruct>> {
  const listed = await client.readContract({ ...view, functionName: 'getPendingOrders', args: [trader] }).catch(absentWhenReverted);
  if (listed !== null) return { all: listed.filter(({ isOpen }) => isOpen), isListed: true };
  const counter = await counterOf(client, view, trader, REQUESTS);
  const all = await oneByOne(counter, (index) =>
    client.readContract({ ...view, functionName: 'getPendingOrder', args: [{ user: trader, index }] }),
  );
  return { all, isListed: false };
}

const counterOf = (client: PublicClient, view: View, trader: Address, type: number | undefined): Promise<Counter | null> =>
  client.readContract({ ...view, functionName: 'getCounters', args: [trader, type ?? 0] }).catch(absentWhenReverted);

/** Newest first until as many are open as the contract counts: fewer would be a false answer, which is none. */
async function oneByOne<T extends { readonly isOpen: boolean }>(
  counter: Counter | null,
  read: (index: number) => Promise<T>,
): Promise<readonly T[] | null> {
  if (counter === null) return null;
  const { currentIndex, openCount } = counter;
  const found: T[] = [];
  for (let next = currentIndex; found.length < openCount; next -= AT_ONCE) {
    if (next <= 0 || currentIndex - next >= MOST_READ) return null;
    const indices = Array.from({ length: Math.min(AT_ONCE, next) }, (_, step) => next - 1 - step);
    const some = await Promise.all(indices.map((index) => read(index).catch(absentWhenReverted)));
    found.push(...some.filter((one) => one !== null).filter(({ isOpen }) => isOpen));
  }
  return found.length === openCount ? found.reverse() : null;
}
