import { isDeepStrictEqual } from 'node:util';
import type { ChainSlug } from '../../../core/chains/chains.js';
import { listOpenOrders } from '../../../core/account/list-orders.js';
import { listPositions } from '../../../core/account/list-positions.js';
import { diamondAbi } from '../../../core/adapters/evm/diamond-abi.js';
import { venueOf, type Gateway } from '../../../core/gateway.js';
import type { Address } from '../../../core/types.js';
import { isWithdrawal } from '../../../core/domain/chain-event.js';
import { formatDecimal } from '../../../core/domain/decimal.js';
import { foldOrder, levelOf } from '../../../core/domain/order-machine.js';
import type { Order } from '../../../core/domain/order.js';
import type { ChainTrader } from '../traders/chain-trader.js';
import { eventually } from '../time/eventually.js';

const MARKET_TYPES = new Set([0, 1, 7, 8, 9, 11]);

interface View {
  /** index → what the position consists of. */
  readonly positions: readonly string[];
  readonly resting: readonly string[];
  readonly pending: readonly string[];
  /** Take profits and stop losses that are orders: place, price and what they close. */
  readonly levels: readonly string[];
  /** How many the list of open orders shows. */
  readonly openOrders: number;
}

/**
 * The service's whole view of a trader against the chain's own state: they become equal, or the test fails. It is looked at
 * once the service has followed the chain to where it is now: half-way through a reorganisation little is left to differ.
 */
export async function expectViewEqualsChain(gateway: Gateway, chain: ChainSlug, trader: ChainTrader): Promise<View> {
  await followed(gateway, chain, trader);
  const { chains } = await eventually(
    () => compareView(gateway, chain, trader),
    ({ differences }) => differences.length === 0,
  );
  return chains;
}

/** One look: the chain's view, and the names of what differs from it or among the service's own sources. */
export async function compareView(gateway: Gateway, chain: ChainSlug, trader: ChainTrader) {
  const ours = await serviceView(gateway, chain, lowerOf(trader));
  const chains = await chainView(gateway, chain, trader, ours.levels);
  const rows = await storedPositions(gateway, chain, lowerOf(trader));
  const kept = await keptOrders(gateway, chain, lowerOf(trader));
  const pairs: readonly (readonly [string, unknown, unknown])[] = [
    ['view and chain', ours, chains],
    ['stored positions and chain', rows, chains.positions],
    ['journal and rows', kept.journal, kept.rows],
    ['fold and rows', kept.folded, kept.rows],
  ];
  const differences = pairs.flatMap(([name, left, right]) => (isDeepStrictEqual(left, right) ? [] : [{ name, left, right }]));
  return { chains, differences };
}

async function followed(gateway: Gateway, chain: ChainSlug, { client }: ChainTrader): Promise<void> {
  const head = await client.getBlockNumber();
  await eventually(
    async () => {
      const cursor = await gateway.store.tracking.cursor(chain);
      if (!cursor || cursor.number < head) return false;
      return (await client.getBlock({ blockNumber: cursor.number }).catch(() => null))?.hash === cursor.hash;
    },
    (isThere) => isThere,
  );
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

const levelText = (key: string, price: bigint, { leverage, collateralAmount }: Pick<Figures, 'leverage' | 'collateralAmount'>): string =>
  [key, price, BigInt(leverage), collateralAmount].join(' ');

/** The levels are looked up where the service says that one is an order: the chain does not know who set it. */
async function chainView(gateway: Gateway, chain: ChainSlug, { client, account }: ChainTrader, levels: View['levels']): Promise<View> {
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
    levels: levels.map((text) => {
      const [key = ''] = text.split(' ');
      const trade = open.find(({ index, tradeType }) => tradeType === 0 && key.endsWith(`:${index}`));
      return trade ? levelText(key, key.startsWith('tp') ? trade.tp : trade.sl, trade) : `${key} of no position`;
    }),
    openOrders: resting.length + waiting.length + levels.length,
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
      .filter(({ order }) => order.status === 'open' && levelOf(order) === null)
      .map(({ order }) => `${order.type} ${figures({ ...order, openPrice: order.price })}`)
      .sort(),
    levels: live
      .filter(({ order }) => order.status === 'open' && levelOf(order) !== null)
      .map(({ orderKey, order }) => levelText(orderKey ?? 'nowhere', order.price, order))
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

/** Three sources of the orders and fills, which must be equal: the rows, the fold of the events, and the account's journal. */
async function keptOrders(gateway: Gateway, chain: ChainSlug, trader: Address) {
  const { account, orders } = gateway.store;
  const stored = (await account.ordersBefore(chain, trader, null, 1_000)).reverse();
  const fills = (await account.fillsBefore(chain, trader, null, 1_000)).map(({ id }) => `fill ${id}`).sort();
  const folded = await Promise.all(
    stored.map(async ({ id }): Promise<[string, Order | null]> => {
      const timeline = await orders.timeline(chain, trader, id);
      const events = timeline?.events.filter(({ isTakenBack }) => !isTakenBack) ?? [];
      return [`order ${id}`, events.reduce<Order | null>((order, { event }) => foldOrder(order, event), null)];
    }),
  );
  const replayed = await replayJournal(gateway, chain, trader);
  return {
    rows: { orders: new Map(stored.map(({ id, order }) => [`order ${id}`, order])), fills },
    folded: { orders: new Map(folded), fills },
    journal: {
      orders: new Map([...replayed].filter(([key]) => key.startsWith('order')).sort(byId)),
      fills: [...replayed.keys()].filter((key) => key.startsWith('fill')).sort(),
    },
  };
}

const byId = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number =>
  Number(a.split(' ')[1]) - Number(b.split(' ')[1]);

/** The orders and fills of a client that has read the journal from its first entry. */
async function replayJournal({ store }: Gateway, chain: ChainSlug, trader: Address): Promise<Map<string, Order | null>> {
  const known = new Map<string, Order | null>();
  for (let after = 0n; ;) {
    const page = await store.journal.after(chain, trader, after, 500);
    for (const { fact } of page) {
      if (fact.kind === 'order') known.set(`order ${fact.id}`, fact.order);
      // Withdrawn profit is in the journal, and is no fill.
      if (fact.kind === 'fill' && !isWithdrawal(fact.executed)) known.set(`fill ${fact.id}`, null);
      if (fact.kind !== 'correction') continue;
      if (fact.of.kind === 'fill') known.delete(`fill ${fact.of.id}`);
      if (fact.of.kind !== 'order') continue;
      if (fact.of.order === null) known.delete(`order ${fact.of.id}`);
      else known.set(`order ${fact.of.id}`, fact.of.order);
    }
    const last = page.at(-1);
    if (!last) return known;
    after = last.cursor;
  }
}
