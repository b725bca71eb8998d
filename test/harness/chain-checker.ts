import { isDeepStrictEqual } from 'node:util';
import type { ChainSlug } from '../../core/chains.js';
import { listOpenOrders } from '../../core/account/list-orders.js';
import { listPositions } from '../../core/account/list-positions.js';
import { diamondAbi } from '../../core/adapters/diamond-abi.js';
import { venueOf, type Gateway } from '../../core/gateway.js';
import type { Address } from '../../core/ports.js';
import { formatDecimal } from '../../core/domain/decimal.js';
import type { ChainTrader } from './chain-trader.js';
import { eventually } from './eventually.js';

const MARKET_TYPES = new Set([0, 1, 7, 8, 9, 11]);

interface View {
  /** index → what the position consists of. */
  readonly positions: readonly string[];
  readonly resting: readonly string[];
  readonly pending: readonly string[];
  /** How many the list of open orders shows. */
  readonly openOrders: number;
}

/** The service's whole view of a trader against the chain's own state: they become equal within a moment, or the test fails. */
export async function expectViewEqualsChain(gateway: Gateway, chain: ChainSlug, trader: ChainTrader, deadlineMs = 8_000): Promise<View> {
  const both = async (): Promise<{ ours: View; chains: View; rows: readonly string[] }> => ({
    ours: await serviceView(gateway, chain, lowerOf(trader)),
    chains: await chainView(gateway, chain, trader),
    rows: await storedPositions(gateway, chain, lowerOf(trader)),
  });
  const { chains } = await eventually(
    both,
    ({ ours, chains, rows }) => isDeepStrictEqual(ours, chains) && isDeepStrictEqual(rows, chains.positions),
    deadlineMs,
  );
  return chains;
}

export const lowerOf = ({ account }: ChainTrader): Address => account.address.toLowerCase() as Address;

interface Figures {
  readonly pairIndex: number;
  readonly long: boolean;
  readonly leverage: bigint | number;
  readonly collateralAmount: bigint;
  readonly openPrice: bigint;
  readonly tp: bigint;
  readonly sl: bigint;
}

const figures = ({ pairIndex, long, leverage, collateralAmount, openPrice, tp, sl }: Figures): string =>
  [pairIndex, long ? 'long' : 'short', BigInt(leverage), collateralAmount, openPrice, tp, sl].join(' ');

async function chainView(gateway: Gateway, chain: ChainSlug, { client, account }: ChainTrader): Promise<View> {
  const diamond = { address: venueOf(gateway, chain).definition.diamond, abi: diamondAbi } as const;
  const [trades, pending] = await Promise.all([
    client.readContract({ ...diamond, functionName: 'getTrades', args: [account.address] }),
    client.readContract({ ...diamond, functionName: 'getPendingOrders', args: [account.address] }),
  ]);
  const open = trades.filter(({ isOpen }) => isOpen);
  const resting = open.filter(({ tradeType }) => tradeType !== 0);
  const waiting = pending.filter(({ isOpen, orderType }) => isOpen && MARKET_TYPES.has(orderType));
  return {
    positions: open.filter(({ tradeType }) => tradeType === 0).map(figures),
    resting: resting.map((trade) => `${trade.tradeType === 2 ? 'stop' : 'limit'} ${figures(trade)}`).sort(),
    pending: waiting.map(({ index }) => `request:${index}`).sort(),
    openOrders: resting.length + waiting.length,
  };
}

async function serviceView(gateway: Gateway, chain: ChainSlug, trader: Address): Promise<View> {
  const venue = venueOf(gateway, chain);
  const [positions, live, orders] = await Promise.all([
    listPositions(gateway, venue, trader),
    gateway.store.account.liveOrders(chain, trader),
    listOpenOrders(gateway, venue, trader),
  ]);
  const units = (text: string, scale: number): bigint => {
    const [whole = '0', part = ''] = text.split('.');
    return BigInt(whole + part.padEnd(scale, '0'));
  };
  const decimals = (symbol: string): number =>
    venue.feed.config().collaterals.find((collateral) => collateral.symbol === symbol)?.decimals ?? 0;
  return {
    positions: positions.map((position) =>
      figures({
        pairIndex: position.pairIndex,
        long: position.side === 'long',
        leverage: units(formatDecimal(position.leverage), 3),
        collateralAmount: units(formatDecimal(position.collateral), decimals(position.collateralSymbol)),
        openPrice: units(formatDecimal(position.entryPrice), 10),
        tp: units(formatDecimal(position.tp), 10),
        sl: units(formatDecimal(position.sl), 10),
      }),
    ),
    resting: live
      .filter(({ order }) => order.status === 'open')
      .map(({ order }) => `${order.type} ${figures({ ...order, openPrice: order.price })}`)
      .sort(),
    openOrders: orders.filter(({ status }) => status !== 'prepared').length,
    pending: live
      .filter(({ order }) => order.status === 'pending' || order.status === 'timed_out')
      .map(({ orderKey }) => orderKey ?? 'nowhere')
      .sort(),
  };
}

/** The follower's own rows, which must agree with the chain without its help. */
async function storedPositions(gateway: Gateway, chain: ChainSlug, trader: Address): Promise<string[]> {
  return (await gateway.store.account.openPositions(chain, trader)).map(({ position }) => figures(position));
}
