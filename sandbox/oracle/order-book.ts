import { getAbiItem, parseEventLogs, type PublicClient } from 'viem';
import { diamondAbi } from '../../core/adapters/diamond-abi.js';
import type { Address } from '../../core/ports.js';

/** What waits for the oracle or the keeper, read from the contract itself; events only say whose state to read again. */

export interface PendingRequest {
  readonly user: Address;
  readonly index: number;
  readonly pairIndex: number;
  readonly orderType: number;
  readonly createdBlock: number;
}

export interface WatchedTrade {
  readonly user: Address;
  readonly index: number;
  readonly pairIndex: number;
  readonly collateralIndex: number;
  readonly long: boolean;
  /** 0 an open position, 1 a resting limit, 2 a resting stop. */
  readonly tradeType: number;
  readonly openPrice: bigint;
  readonly tp: bigint;
  readonly sl: bigint;
  readonly leverage: number;
  readonly collateralAmount: bigint;
  readonly isCounterTrade: boolean;
}

export interface OrderBook {
  readonly requests: ReadonlyMap<string, PendingRequest>;
  readonly trades: ReadonlyMap<string, WatchedTrade>;
  /** Reads everybody again: at the start and after a reorganisation. */
  rebuild(): Promise<void>;
  /** Reads those again whom the Diamond's logs of these blocks touch. */
  refresh(fromBlock: bigint, toBlock: bigint): Promise<void>;
}

export const keyOf = ({ user, index }: { readonly user: string; readonly index: number }): string => `${user.toLowerCase()}:${index}`;

const PAGE = 500;
const MARKET_OPEN = 0;
const PENDING_STORED = getAbiItem({ abi: diamondAbi, name: 'PendingOrderStored' });

export function createOrderBook(client: PublicClient, diamond: Address): OrderBook {
  const requests = new Map<string, PendingRequest>();
  const trades = new Map<string, WatchedTrade>();
  const known = new Map<Address, { requests: string[]; trades: string[] }>();
  const contract = { address: diamond, abi: diamondAbi } as const;

  function forget(user: Address): void {
    for (const key of known.get(user)?.requests ?? []) requests.delete(key);
    for (const key of known.get(user)?.trades ?? []) trades.delete(key);
  }

  /** A market open brings its trade along; every other request only names one, and may leave its pair blank. */
  async function pairOf(
    orderType: number,
    trade: { readonly user: Address; readonly index: number; readonly pairIndex: number },
  ): Promise<number> {
    if (orderType === MARKET_OPEN) return trade.pairIndex;
    return (await client.readContract({ ...contract, functionName: 'getTrade', args: [trade.user, trade.index] })).pairIndex;
  }

  async function read(user: Address): Promise<void> {
    const [open, pending] = await Promise.all([
      client.readContract({ ...contract, functionName: 'getTrades', args: [user] }),
      client.readContract({ ...contract, functionName: 'getPendingOrders', args: [user] }),
    ]);
    const requested = await Promise.all(
      pending
        .filter(({ isOpen }) => isOpen)
        .map(async ({ index, orderType, createdBlock, trade }) => ({
          user,
          index,
          orderType,
          createdBlock,
          pairIndex: await pairOf(orderType, trade),
        })),
    );
    const opened = open.filter(({ isOpen }) => isOpen);
    forget(user);
    for (const trade of opened) trades.set(keyOf(trade), trade);
    for (const request of requested) requests.set(keyOf(request), request);
    known.set(user, { requests: requested.map(keyOf), trades: opened.map(keyOf) });
  }

  async function everyTrader(): Promise<Address[]> {
    const count = Number(await client.readContract({ ...contract, functionName: 'getTradersCount' }));
    const pages: Address[] = [];
    for (let offset = 0; offset < count; offset += PAGE) {
      const args = [offset, Math.min(offset + PAGE, count) - 1] as const;
      pages.push(...(await client.readContract({ ...contract, functionName: 'getTraders', args })));
    }
    return pages.filter((address) => BigInt(address) !== 0n);
  }

  /** Keepers, and traders whose first request is still open, are on no list of the contract. */
  async function everyRequester(): Promise<Address[]> {
    const logs = await client.getLogs({ address: diamond, event: PENDING_STORED, fromBlock: 0n });
    return logs.flatMap(({ args }) => args.pendingOrder?.user ?? []);
  }

  return {
    requests,
    trades,
    async rebuild() {
      for (const user of new Set([...(await everyTrader()), ...(await everyRequester()), ...known.keys()])) await read(user);
    },
    async refresh(fromBlock, toBlock) {
      const logs = parseEventLogs({ abi: diamondAbi, logs: await client.getLogs({ address: diamond, fromBlock, toBlock }) });
      await Promise.all([...new Set(logs.flatMap(({ args }) => usersIn(args)))].map(read));
    },
  };
}

/** Keepers' own requests are stored under the keeper, so every address an event can hide a request under counts. */
function usersIn(args: object): Address[] {
  const fields = args as Record<string, unknown>;
  const named = [
    fields['trader'],
    fields['user'],
    userOf(fields['orderId']),
    userOf(fields['pendingOrder']),
    userOf(fields['pendingOrderId']),
  ];
  return named.filter((value): value is Address => typeof value === 'string' && BigInt(value) !== 0n);
}

const userOf = (value: unknown): unknown => (typeof value === 'object' && value !== null && 'user' in value ? value.user : undefined);
