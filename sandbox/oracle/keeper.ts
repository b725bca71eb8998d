import { encodeFunctionData, type PublicClient } from 'viem';
import { diamondAbi } from '../../core/adapters/diamond-abi.js';
import { priceAfterImpact } from '../../core/domain/pricing/price-after-impact.js';
import type { Address, Clock, Logger } from '../../core/ports.js';
import { sandboxControlAbi } from '../contracts/artefact.js';
import type { Sender } from '../sender.js';
import { keyOf, type OrderBook, type WatchedTrade } from './order-book.js';
import { firesAt, type Trigger } from './triggers.js';

export interface KeeperOptions {
  readonly diamond: Address;
  readonly client: PublicClient;
  readonly book: OrderBook;
  readonly sender: Sender;
  readonly clock: Clock;
  readonly log: Logger;
  readonly priceOf: (pairIndex: number) => bigint;
  readonly isOpen: (pairIndex: number) => boolean;
}

export interface Keeper {
  /** Looks at the trades of these pairs; called when prices move and for every block. */
  look(pairs: ReadonlySet<number> | 'all'): void;
  stop(): void;
}

/** A trigger the contract refused (slippage, exposure) is tried again, but not with every tick. */
const RETRY_MS = 2_000;
/** Holding fees move a liquidation price slowly; asking for each tick would be asking in vain. */
const LIQUIDATION_AGE_MS = 5_000;
/** What the contract's view asks beside the trade itself. */
const LIVE_TRADE = { additionalFeeCollateral: 0n, partialCloseMultiplier: 10n ** 18n, beforeOpened: false } as const;
const LIQUIDATION: Trigger = { orderType: 6, name: 'liquidation' };

/** Fires limits, stops, take profits, stop losses and liquidations, in one transaction each, as signed-price keepers do. */
export function createKeeper(options: KeeperOptions): Keeper {
  const { book, clock, client, diamond } = options;
  const firedAt = new Map<string, number>();
  const liquidations = new Map<string, { readonly trade: WatchedTrade; readonly price: bigint; readonly at: number }>();
  let looking = false;
  let stopped = false;

  const contract = { address: diamond, abi: diamondAbi } as const;

  /** Triggers compare the skew-adjusted price, liquidations the oracle's. */
  async function marketPrice(trade: WatchedTrade, oraclePrice: bigint): Promise<bigint> {
    const args = [trade.collateralIndex, trade.pairIndex, trade.long, 0n, true] as const;
    return priceAfterImpact(oraclePrice, await client.readContract({ ...contract, functionName: 'getTradeSkewPriceImpactP', args }));
  }

  async function liquidationPrice(trade: WatchedTrade, oraclePrice: bigint): Promise<bigint> {
    const known = liquidations.get(keyOf(trade));
    if (known?.trade === trade && clock.now() - known.at < LIQUIDATION_AGE_MS) return known.price;
    const args = [trade.user, trade.index] as const;
    const params = await client.readContract({ ...contract, functionName: 'getTradeLiquidationParams', args });
    const input = {
      ...trade,
      trader: trade.user,
      collateral: trade.collateralAmount,
      leverage: BigInt(trade.leverage),
      currentPairPrice: oraclePrice,
      liquidationParams: params,
      ...LIVE_TRADE,
    };
    const price = await client.readContract({ ...contract, functionName: 'getTradeLiquidationPrice', args: [input] });
    liquidations.set(keyOf(trade), { trade, price, at: clock.now() });
    return price;
  }

  async function triggerOf(trade: WatchedTrade, oraclePrice: bigint): Promise<Trigger | null> {
    const trigger = firesAt(trade, await marketPrice(trade, oraclePrice));
    if (trigger || trade.tradeType !== 0) return trigger;
    const liquidation = await liquidationPrice(trade, oraclePrice);
    return (trade.long ? oraclePrice <= liquidation : oraclePrice >= liquidation) ? LIQUIDATION : null;
  }

  async function check(trade: WatchedTrade): Promise<void> {
    const key = keyOf(trade);
    if (clock.now() - (firedAt.get(key) ?? -RETRY_MS) < RETRY_MS || !options.isOpen(trade.pairIndex)) return;
    const price = options.priceOf(trade.pairIndex);
    const trigger = await triggerOf(trade, price);
    if (!trigger) return;
    firedAt.set(key, clock.now());
    const packed = BigInt(trigger.orderType) | (BigInt(trade.user) << 8n) | (BigInt(trade.index) << 168n);
    const data = encodeFunctionData({ abi: sandboxControlAbi, functionName: 'sandboxTrigger', args: [packed, price, price, price, price] });
    await options.sender.send({ to: diamond, data });
    options.log.info('keeper.triggered', { trader: trade.user, index: trade.index, kind: trigger.name });
  }

  function forgetGone(): void {
    for (const memory of [firedAt, liquidations]) for (const key of memory.keys()) if (!book.trades.has(key)) memory.delete(key);
  }

  async function checkAll(due: readonly WatchedTrade[]): Promise<void> {
    for (const trade of due) if (!stopped) await check(trade);
  }

  return {
    look(pairs) {
      if (looking || stopped) return;
      looking = true;
      forgetGone();
      checkAll([...book.trades.values()].filter((trade) => pairs === 'all' || pairs.has(trade.pairIndex)))
        .catch((error: unknown) => options.log.warn('keeper.failed', { error }))
        .finally(() => (looking = false));
    },
    stop() {
      stopped = true;
    },
  };
}
