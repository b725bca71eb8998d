import type { PublicClient } from 'viem';
import { diamondAbi } from '../../core/adapters/evm/diamond-abi.js';
import type { Address, Hex } from '../../core/types.js';
import { readLog, type DiamondLog } from '../backend/diamond-reader.js';

/** Requests and trades for the oracle and the keeper: read from the contract once, then updated from its events alone. */

export interface PendingRequest {
  readonly user: Address;
  readonly index: number;
  readonly pairIndex: number;
  readonly orderType: number;
  readonly createdBlock: number;
}

/** A new object for every change that the keeper must check again, even a fee. */
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
  /** As logged at opening; null if anything moved it since, or it is not known. */
  readonly liqPrice: bigint | null;
}

export type TradeListener = (key: string, trade: WatchedTrade | null) => void;

export interface OrderBook {
  readonly requests: ReadonlyMap<string, PendingRequest>;
  readonly trades: ReadonlyMap<string, WatchedTrade>;
  /** Called for every trade that is new, changed (as another object) or, as null, gone. */
  onTrade(listener: TradeListener): void;
  /** Reads all trades again: at start and after a reorganisation. */
  rebuild(): Promise<void>;
  /** Applies the Diamond's logs of these blocks. */
  refresh(fromBlock: bigint, toBlock: bigint): Promise<void>;
}

interface TradeId {
  readonly user: Address;
  readonly index: number;
}

export const keyOf = ({ user, index }: { readonly user: string; readonly index: number }): string => `${user.toLowerCase()}:${index}`;

const PAGE = 500;
const MARKET_OPEN = 0;
const hex = (value: bigint): Hex => `0x${value.toString(16)}`;

export function createOrderBook(client: PublicClient, diamond: Address): OrderBook {
  const requests = new Map<string, PendingRequest>();
  const trades = new Map<string, WatchedTrade>();
  const listeners: TradeListener[] = [];
  const contract = { address: diamond, abi: diamondAbi } as const;

  function put(trade: WatchedTrade): void {
    const key = keyOf(trade);
    trades.set(key, trade);
    for (const listener of listeners) listener(key, trade);
  }

  function remove(key: string): void {
    trades.delete(key);
    for (const listener of listeners) listener(key, null);
  }

  function change(id: TradeId, fields: Partial<WatchedTrade>): void {
    const trade = trades.get(keyOf(id));
    if (trade) put({ ...trade, liqPrice: null, ...fields });
  }

  function apply({ name, args }: DiamondLog): void {
    switch (name) {
      case 'PriceRequested':
        requests.set(keyOf(args.pendingOrder), { ...requestOf(args.pendingOrder), pairIndex: Number(args.pairIndex) });
        return;
      case 'PendingOrderClosed':
        requests.delete(keyOf(args.orderId));
        return;
      case 'TradeStored':
        return put({ ...args.trade, liqPrice: null });
      case 'TradeClosed':
        return remove(keyOf(args));
      case 'TradeTpUpdated':
        return change(args, { tp: args.newTp });
      case 'TradeSlUpdated':
        return change(args, { sl: args.newSl });
      case 'OpenOrderDetailsUpdated':
        return change(args, { openPrice: args.openPrice, tp: args.tp, sl: args.sl });
      case 'TradePositionUpdated':
        return change(args, {
          collateralAmount: args.collateralAmount,
          leverage: args.leverage,
          openPrice: args.openPrice,
          sl: args.newSl,
        });
      case 'MarketExecuted':
      case 'LimitExecuted':
        return change(args, { liqPrice: args.liqPrice });
      // Fees and payments of a trade move its liquidation price.
      case 'TradingFeesRealized':
      case 'TradePositivePnlWithdrawn':
        return change({ user: args.trader, index: args.index }, {});
    }
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

  /** A market open contains its trade; every other request only names one, and may leave its pair blank. */
  async function pairOf(orderType: number, trade: TradeId & { readonly pairIndex: number }): Promise<number> {
    if (orderType === MARKET_OPEN) return trade.pairIndex;
    return (await client.readContract({ ...contract, functionName: 'getTrade', args: [trade.user, trade.index] })).pairIndex;
  }

  async function read(user: Address): Promise<{ trades: WatchedTrade[]; requests: PendingRequest[] }> {
    const [open, pending] = await Promise.all([
      client.readContract({ ...contract, functionName: 'getTrades', args: [user] }),
      client.readContract({ ...contract, functionName: 'getPendingOrders', args: [user] }),
    ]);
    const waiting = pending.filter(({ isOpen }) => isOpen);
    return {
      trades: open.filter(({ isOpen }) => isOpen).map((trade) => ({ ...trade, liqPrice: null })),
      requests: await Promise.all(
        waiting.map(async (order) => ({ ...requestOf(order), pairIndex: await pairOf(order.orderType, order.trade) })),
      ),
    };
  }

  return {
    requests,
    trades,
    onTrade: (listener) => void listeners.push(listener),
    async rebuild() {
      const found: Awaited<ReturnType<typeof read>>[] = [];
      for (const user of await everyTrader()) found.push(await read(user));
      requests.clear();
      for (const key of [...trades.keys()]) remove(key);
      for (const one of found) {
        for (const request of one.requests) requests.set(keyOf(request), request);
        one.trades.forEach(put);
      }
    },
    async refresh(fromBlock, toBlock) {
      const range = { address: diamond, fromBlock: hex(fromBlock), toBlock: hex(toBlock) };
      for (const raw of await client.request({ method: 'eth_getLogs', params: [range] })) {
        const log = readLog(raw);
        if (log) apply(log);
      }
    },
  };
}

const requestOf = ({ user, index, orderType, createdBlock }: Omit<PendingRequest, 'pairIndex'>): Omit<PendingRequest, 'pairIndex'> => ({
  user,
  index,
  orderType,
  createdBlock,
});
