import { encodeFunctionData, type ContractFunctionReturnType, type PublicClient } from 'viem';
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
  /** Timestamp of the newest block, in seconds: what holding fees accrue by, also when somebody warps the chain. */
  readonly chainTime: () => number;
}

export interface Keeper {
  /** Looks at every trade; called for every block. */
  lookAtAll(): void;
  /** Looks at the trades of one pair; called when its price moves. */
  lookAt(pairIndex: number): void;
  stop(): void;
}

/** A trigger the contract refused (slippage, exposure) is tried again, but not with every tick. */
const RETRY_MS = 2_000;
/** Seconds of chain time a liquidation price is believed: holding fees move it slowly, and it matters only once the price comes near. */
const LIQUIDATION_AGE = { near: 5, far: 60 } as const;
/** What the contract's view asks beside the trade itself. */
const LIVE_TRADE = { additionalFeeCollateral: 0n, partialCloseMultiplier: 10n ** 18n, beforeOpened: false } as const;
interface Liquidation {
  readonly trade: WatchedTrade;
  /** They change with the trade only; null until they were needed. */
  readonly params: ContractFunctionReturnType<typeof diamondAbi, 'view', 'getTradeLiquidationParams'> | null;
  readonly price: bigint;
  readonly at: number;
}

const LIQUIDATION: Trigger = { orderType: 6, name: 'liquidation' };

/** Fires limits, stops, take profits, stop losses and liquidations, in one transaction each, as signed-price keepers do. */
export function createKeeper(options: KeeperOptions): Keeper {
  const { book, clock, client, diamond } = options;
  const firedAt = new Map<string, number>();
  const liquidations = new Map<string, Liquidation>();
  /** Standing skew by collateral and pair, as of the newest block. */
  const skews = new Map<string, Promise<bigint>>();
  let looking = false;
  let stopped = false;

  const contract = { address: diamond, abi: diamondAbi } as const;

  function skewImpact({ collateralIndex, pairIndex }: WatchedTrade): Promise<bigint> {
    const key = `${collateralIndex}:${pairIndex}`;
    const args = [collateralIndex, pairIndex, true, 0n, true] as const;
    const known = skews.get(key) ?? client.readContract({ ...contract, functionName: 'getTradeSkewPriceImpactP', args });
    skews.set(key, known);
    return known;
  }

  /** A position that was just opened brings its own. */
  function knownLiquidation(trade: WatchedTrade): Liquidation | undefined {
    const known = liquidations.get(keyOf(trade));
    if (known?.trade === trade || trade.liqPrice === null) return known;
    const logged = { trade, params: null, price: trade.liqPrice, at: options.chainTime() };
    liquidations.set(keyOf(trade), logged);
    return logged;
  }

  async function askLiquidation(trade: WatchedTrade, oraclePrice: bigint): Promise<Liquidation> {
    const at = options.chainTime();
    const args = [trade.user, trade.index] as const;
    const known = liquidations.get(keyOf(trade));
    const params =
      (known?.trade === trade ? known.params : null) ??
      (await client.readContract({ ...contract, functionName: 'getTradeLiquidationParams', args }));
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
    return { trade, params, price, at };
  }

  async function liquidationPrice(trade: WatchedTrade, oraclePrice: bigint): Promise<bigint> {
    const known = knownLiquidation(trade);
    if (known?.trade === trade && options.chainTime() - known.at < believedFor(known, oraclePrice)) return known.price;
    const asked = await askLiquidation(trade, oraclePrice);
    liquidations.set(keyOf(trade), asked);
    return asked.price;
  }

  /** Triggers compare the skew-adjusted price, liquidations the oracle's. */
  async function triggerOf(trade: WatchedTrade, oraclePrice: bigint): Promise<Trigger | null> {
    const isPosition = trade.tradeType === 0;
    if (!isPosition || trade.tp > 0n || trade.sl > 0n) {
      const trigger = firesAt(trade, priceAfterImpact(oraclePrice, await skewImpact(trade)));
      if (trigger || !isPosition) return trigger;
    }
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

  /** One look at a time: what moves meanwhile is seen with the next tick or block. */
  function look(isDue: (trade: WatchedTrade) => boolean): void {
    if (looking || stopped) return;
    looking = true;
    checkAll([...book.trades.values()].filter(isDue))
      .catch((error: unknown) => options.log.warn('keeper.failed', { error }))
      .finally(() => (looking = false));
  }

  return {
    lookAtAll() {
      skews.clear();
      forgetGone();
      look(() => true);
    },
    lookAt: (pairIndex) => look((trade) => trade.pairIndex === pairIndex),
    stop() {
      stopped = true;
    },
  };
}

/** Near is past half of the way from the open price. */
function believedFor({ trade, price }: Liquidation, oraclePrice: bigint): number {
  const middle = (trade.openPrice + price) / 2n;
  return (trade.long ? oraclePrice <= middle : oraclePrice >= middle) ? LIQUIDATION_AGE.near : LIQUIDATION_AGE.far;
}
