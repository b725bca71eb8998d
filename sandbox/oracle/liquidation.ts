import type { ContractFunctionReturnType, PublicClient } from 'viem';
import { diamondAbi } from '../../core/adapters/evm/diamond-abi.js';
import type { Address } from '../../core/types.js';
import type { WatchedTrade } from './order-book.js';
import type { LiquidationWatch } from './trade-index.js';

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

export interface LiquidationsOptions {
  readonly diamond: Address;
  readonly client: PublicClient;
  readonly chainTime: () => number;
  readonly onKnown: (trade: WatchedTrade, watch: LiquidationWatch) => void;
}

/** A position's liquidation price, read from the contract if the cached one is too old. */
export type LiquidationPrice = (trade: WatchedTrade, oraclePrice: bigint) => Promise<bigint>;

export function createLiquidationPrice({ diamond, client, chainTime, onKnown }: LiquidationsOptions): LiquidationPrice {
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
