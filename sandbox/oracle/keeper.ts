import { encodeFunctionData, type ContractFunctionReturnType, type PublicClient } from 'viem';
import { diamondAbi } from '../../core/adapters/evm/diamond-abi.js';
import { priceAfterImpact } from '../../core/domain/pricing/exposure.js';
import type { Logger } from '../../core/ports/log.js';
import type { Clock } from '../../core/ports/clock.js';
import type { Address } from '../../core/types.js';
import { sandboxControlAbi } from '../contracts/artefact.js';
import type { Sender } from '../sender.js';
import { keyOf, type OrderBook, type WatchedTrade } from './order-book.js';
import { createTradeIndex, type LiquidationWatch, type PairPrices } from './trade-index.js';
import { firesAt, type Trigger } from './level-list.js';

export interface KeeperOptions {
  readonly diamond: Address;
  readonly client: PublicClient;
  readonly book: OrderBook;
  readonly sender: Sender;
  readonly clock: Clock;
  readonly log: Logger;
  readonly priceOf: (pairIndex: number) => bigint;
  readonly isOpen: (pairIndex: number) => boolean;
  /** Timestamp of the newest block, in seconds: holding fees accrue by it, also if the chain is warped. */
  readonly chainTime: () => number;
}

export interface Keeper {
  /** Checks every pair; called for every block. */
  lookAtAll(): void;
  /** Checks one pair; called when its price changes. */
  lookAt(pairIndex: number): void;
  stop(): void;
}

/** A trigger refused by the contract (slippage, exposure) is retried, but not with every tick. */
const RETRY_MS = 2_000;
const LIQUIDATION: Trigger = { orderType: 6, name: 'liquidation' };

/** Fires limits, stops, take profits, stop losses and liquidations, in one transaction each, as signed-price keepers do. */
export function createKeeper(options: KeeperOptions): Keeper {
  const { book, clock, client, diamond, chainTime } = options;
  const firedAt = new Map<string, number>();
  const index = createTradeIndex();
  const liquidationPrice = createLiquidationPrice({
    diamond,
    client,
    chainTime,
    onKnown: (trade, watch) => index.watchLiquidation(trade, watch),
  });
  /** Standing skew by collateral and pair, as of the newest block. */
  const skews = new Map<string, Promise<bigint>>();
  let looking = false;
  let stopped = false;

  for (const trade of book.trades.values()) index.set(trade);
  book.onTrade((key, trade) => (trade ? index.set(trade) : index.delete(key)));

  function skewImpact(collateralIndex: number, pairIndex: number): Promise<bigint> {
    const key = `${collateralIndex}:${pairIndex}`;
    const args = [collateralIndex, pairIndex, true, 0n, true] as const;
    const contract = { address: diamond, abi: diamondAbi } as const;
    const known = skews.get(key) ?? client.readContract({ ...contract, functionName: 'getTradeSkewPriceImpactP', args });
    skews.set(key, known);
    return known;
  }

  /** Triggers compare the skew-adjusted price, liquidations the oracle's. */
  async function triggerOf(trade: WatchedTrade, oraclePrice: bigint): Promise<Trigger | null> {
    const isPosition = trade.tradeType === 0;
    if (!isPosition || trade.tp > 0n || trade.sl > 0n) {
      const trigger = firesAt(trade, priceAfterImpact(oraclePrice, await skewImpact(trade.collateralIndex, trade.pairIndex)));
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
    for (const key of firedAt.keys()) if (!book.trades.has(key)) firedAt.delete(key);
  }

  async function skewsOf(pairIndex: number): Promise<ReadonlyMap<number, bigint>> {
    const collaterals = index.collateralsOf(pairIndex);
    return new Map(await Promise.all(collaterals.map(async (at) => [at, await skewImpact(at, pairIndex)] as const)));
  }

  function pricesOf(pairIndex: number, impacts: ReadonlyMap<number, bigint>): PairPrices {
    const oraclePrice = options.priceOf(pairIndex);
    const marketPrices = new Map([...impacts].map(([at, impact]) => [at, priceAfterImpact(oraclePrice, impact)]));
    return { pairIndex, oraclePrice, marketPrices };
  }

  /** The index gives candidates, and each is checked. Reads are done first, so that all prices are of one moment. */
  async function checkPairs(asked: readonly number[]): Promise<void> {
    const pairs = asked.filter((pairIndex) => options.isOpen(pairIndex));
    const impacts = await Promise.all(pairs.map(skewsOf));
    const prices = pairs.map((pairIndex, at) => pricesOf(pairIndex, impacts[at] ?? new Map()));
    for (const trade of index.reachedBy(prices, chainTime())) if (!stopped) await check(trade);
  }

  /** One check at a time: later changes are seen with the next tick or block. */
  function look(pairs: readonly number[]): void {
    if (looking || stopped) return;
    looking = true;
    checkPairs(pairs)
      .catch((error: unknown) => options.log.warn('keeper.failed', { error }))
      .finally(() => (looking = false));
  }

  return {
    lookAtAll() {
      skews.clear();
      forgetGone();
      look(index.pairs());
    },
    lookAt: (pairIndex) => look(index.pairs().filter((open) => open === pairIndex)),
    stop() {
      stopped = true;
    },
  };
}

/** A position's cached liquidation price. */
export interface Liquidation {
  /** They change with the trade only; null until needed. */
  readonly params: ContractFunctionReturnType<typeof diamondAbi, 'view', 'getTradeLiquidationParams'> | null;
  readonly price: bigint;
  /** Chain time, in seconds. */
  readonly at: number;
}

/** Seconds of chain time a liquidation price is cached: holding fees move it slowly, and it matters only near the price. */
const AGE = { near: 5, far: 60 } as const;
/** Further arguments of the contract's view. */
const LIVE_TRADE = { additionalFeeCollateral: 0n, partialCloseMultiplier: 10n ** 18n, beforeOpened: false } as const;

interface LiquidationsOptions {
  readonly diamond: Address;
  readonly client: PublicClient;
  readonly chainTime: () => number;
  readonly onKnown: (trade: WatchedTrade, watch: LiquidationWatch) => void;
}

/** A position's liquidation price, read from the contract if the cached one is too old. */
type LiquidationPrice = (trade: WatchedTrade, oraclePrice: bigint) => Promise<bigint>;

function createLiquidationPrice({ diamond, client, chainTime, onKnown }: LiquidationsOptions): LiquidationPrice {
  /** Keyed by object: a changed trade is a new object. */
  const known = new WeakMap<WatchedTrade, Liquidation>();
  const contract = { address: diamond, abi: diamondAbi } as const;

  function keep(trade: WatchedTrade, liquidation: Liquidation): Liquidation {
    known.set(trade, liquidation);
    onKnown(trade, watchOf(trade, liquidation));
    return liquidation;
  }

  /** A newly opened position comes with its liquidation price. */
  function knownOf(trade: WatchedTrade): Liquidation | null {
    const kept = known.get(trade) ?? null;
    return kept !== null || trade.liqPrice === null ? kept : keep(trade, { params: null, price: trade.liqPrice, at: chainTime() });
  }

  async function ask(trade: WatchedTrade, oraclePrice: bigint): Promise<Liquidation> {
    const at = chainTime();
    const args = [trade.user, trade.index] as const;
    const params =
      known.get(trade)?.params ?? (await client.readContract({ ...contract, functionName: 'getTradeLiquidationParams', args }));
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
    return { params, price, at };
  }

  return async (trade, oraclePrice) => {
    const kept = knownOf(trade);
    if (kept && chainTime() - kept.at < believedFor(trade, kept, oraclePrice)) return kept.price;
    return keep(trade, await ask(trade, oraclePrice)).price;
  };
}

const middleOf = (trade: WatchedTrade, { price }: Liquidation): bigint => (trade.openPrice + price) / 2n;

/** Near: past half the way from the open price. */
export function believedFor(trade: WatchedTrade, liquidation: Liquidation, oraclePrice: bigint): number {
  const middle = middleOf(trade, liquidation);
  return (trade.long ? oraclePrice <= middle : oraclePrice >= middle) ? AGE.near : AGE.far;
}

/** Until this price or time no liquidation is possible and nothing must be read. Fees may move the liquidation price past the middle. */
export function watchOf(trade: WatchedTrade, liquidation: Liquidation): LiquidationWatch {
  const [middle, { price, at }] = [middleOf(trade, liquidation), liquidation];
  const [lower, higher] = middle < price ? [middle, price] : [price, middle];
  return { near: trade.long ? { side: 'below', level: higher } : { side: 'above', level: lower }, staleAt: at + AGE.far };
}
