import { keccak256, toBytes } from 'viem';
import { comparePlaces } from '../../core/domain/chain-event.js';
import { divideInteger } from '../../core/domain/decimal.js';
import type { MarketTrade } from '../../core/domain/market.js';
import { readFolded } from '../../core/indexer/net-positions.js';
import type { TapeFill } from '../../core/ports/stores/history.js';
import type { Gateway, Venue } from '../../core/gateway.js';
import type { ExchangeRecord } from '../../core/ports/stores/exchange.js';
import { formatSize, formatTick, PRICE_SCALE } from '../format.js';
import { coinPrice, coinSize, lotOf, type Asset } from '../universe.js';
import { limitOf } from './fills.js';
import { excessId, showExecutions, timeOfPart } from './shown-fills.js';

export interface TapeTrade {
  readonly coin: string;
  readonly side: 'A' | 'B';
  readonly px: string;
  readonly sz: string;
  readonly time: number;
  readonly hash: string;
  readonly tid: number;
  /** Buyer and seller: the contract is the counterparty of every trade. */
  readonly users: readonly [string, string];
}

const MOST_TRADES = 100;
const UNKNOWN_USER = '0x0000000000000000000000000000000000000000';

/** The newest executions of a market, newest first: as fills where the chain was followed, earlier ones as the backend lists them. */
export async function recentTrades(gateway: Gateway, venue: Venue, asset: Asset): Promise<TapeTrade[]> {
  const own = await readTape(gateway, venue, asset, MOST_TRADES).catch((error: unknown) => {
    venue.log.warn('facade.tape-not-read', { error });
    return [];
  });
  const oldest = own.at(-1)?.time ?? Infinity;
  if (own.length >= MOST_TRADES) return own.slice(0, MOST_TRADES);
  const listed = await venue.feed.recentTrades({ pairIndex: asset.id, limit: MOST_TRADES }).catch((error: unknown) => {
    if (own.length > 0) return [];
    throw error;
  });
  const known = new Set(own.map(({ hash }) => hash));
  const before = listed.filter((trade) => isExecution(trade) && trade.at < oldest && !known.has(trade.txHash));
  return [...own, ...before.map((trade) => showTrade(venue, asset, trade))].slice(0, MOST_TRADES);
}

/** Newest first; an execution beyond an order is a separate trade, as it is a separate fill. */
export async function readTape(gateway: Gateway, venue: Venue, asset: Asset, limit: number): Promise<TapeTrade[]> {
  const { slug, diamond } = venue.definition;
  const config = venue.feed.config();
  const found = await readFolded(gateway, venue, () => gateway.store.facade.history.tape(slug, asset.id, limit));
  const records = await gateway.store.exchange.ofOrders(
    slug,
    found.flatMap(({ by }) => (by?.isRelayed ? [by.id] : [])),
  );
  const byTrader = new Map<string, TapeFill[]>();
  for (const fill of found) byTrader.set(fill.executed.trader, [...(byTrader.get(fill.executed.trader) ?? []), fill]);
  const recordOf = ({ by }: TapeFill): ExchangeRecord | null => (by && records.get(by.id)) ?? null;
  const shown = [...byTrader.values()].flatMap((fills) => {
    const inOrder = fills.toReversed();
    const executions = inOrder.map((fill) => ({
      before: fill.before,
      after: fill.after,
      lot: lotOf(asset),
      at: fill.executed.place.at,
      order: limitOf(config, asset, fill, recordOf(fill)),
    }));
    return showExecutions(executions).flatMap((parts, at) => {
      const fill = inOrder[at];
      return fill ? parts.map((part, nth) => ({ fill, part, nth })) : [];
    });
  });
  return shown
    .sort((a, b) => comparePlaces(b.fill.executed.place, a.fill.executed.place) || b.nth - a.nth)
    .map(({ fill: { id, executed, earlier }, part, nth }): TapeTrade => {
      const isBuy = (executed.action === 'open' || executed.action === 'increase') === executed.terms.long;
      const users = [executed.trader, diamond.toLowerCase()] as const;
      return {
        coin: asset.coin,
        side: isBuy ? 'B' : 'A',
        px: formatTick(coinPrice(asset, executed.price), asset.szDecimals, 'half-up'),
        sz: formatSize(coinSize(asset, part.size), asset.szDecimals, 'down'),
        time: timeOfPart(executed.place.at, earlier, nth),
        hash: executed.place.txHash ?? '',
        tid: Number(part.isExcess ? excessId(id) : id),
        users: isBuy ? users : [users[1], users[0]],
      };
    });
}

/** Changes of leverage are no trades. */
const isExecution = ({ action, price }: MarketTrade): boolean => action !== 'leverage' && price > 0n;

/** An execution from before the chain was followed. Its collateral gives the opened size; a close is worth that plus its profit. */
export function showTrade({ definition }: Venue, asset: Asset, trade: MarketTrade): TapeTrade {
  const { price, sizeUsd, pnlUsd = 0n, side, action, at, txHash, trader = UNKNOWN_USER } = trade;
  const opens = action === 'open' || action === 'increase';
  const profit = side === 'long' ? pnlUsd : -pnlUsd;
  const worth = opens ? sizeUsd : sizeUsd + profit;
  const base = divideInteger((worth < 0n ? 0n : worth) * 10n ** BigInt(PRICE_SCALE), price, 'half-up');
  const isBuy = (side === 'long') === opens;
  const users = [trader.toLowerCase(), definition.diamond.toLowerCase()] as const;
  return {
    coin: asset.coin,
    side: isBuy ? 'B' : 'A',
    px: formatTick(coinPrice(asset, price), asset.szDecimals, 'half-up'),
    sz: formatSize(coinSize(asset, base), asset.szDecimals, 'half-up'),
    time: at,
    hash: txHash,
    tid: tradeId(txHash, `${at} ${price} ${sizeUsd} ${action}`),
    users: isBuy ? users : [users[1], users[0]],
  };
}

/** A number below 2^53 that identifies an execution; `what` distinguishes those of one transaction. */
const tradeId = (hash: string, what: string): number => Number(BigInt(keccak256(toBytes(`${hash} ${what}`))) >> 203n);
