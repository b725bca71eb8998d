import type { ContractFunctionReturnType, PublicClient } from 'viem';
import { diamondAbi } from '../../core/adapters/evm/diamond-abi.js';
import type { Address } from '../../core/types.js';
import type { WatchedTrade } from './order-book.js';
import type { LiquidationWatch } from './trade-index.js';

/** What is known of a position's liquidation price, and since when. */
export interface Liquidation {
  /** They change with the trade only; null until they were needed. */
  readonly params: ContractFunctionReturnType<typeof diamondAbi, 'view', 'getTradeLiquidationParams'> | null;
  readonly price: bigint;
  /** Chain time, in seconds. */
  readonly at: number;
}

/** Seconds of chain time a liquidation price is believed: holding fees move it slowly, and it matters only once the price comes near. */
const AGE = { near: 5, far: 60 } as const;
/** What the contract's view asks beside the trade itself. */
const LIVE_TRADE = { additionalFeeCollateral: 0n, partialCloseMultiplier: 10n ** 18n, beforeOpened: false } as const;

export interface LiquidationsOptions {
  readonly diamond: Address;
  readonly client: PublicClient;
  readonly chainTime: () => number;
  readonly onKnown: (trade: WatchedTrade, watch: LiquidationWatch) => void;
}

/** The liquidation price of a position, from the contract where what is known is too old. */
export type LiquidationPrice = (trade: WatchedTrade, oraclePrice: bigint) => Promise<bigint>;

export function createLiquidationPrice({ diamond, client, chainTime, onKnown }: LiquidationsOptions): LiquidationPrice {
  /** A trade that changes is another object. */
  const known = new WeakMap<WatchedTrade, Liquidation>();
  const contract = { address: diamond, abi: diamondAbi } as const;

  function keep(trade: WatchedTrade, liquidation: Liquidation): Liquidation {
    known.set(trade, liquidation);
    onKnown(trade, watchOf(trade, liquidation));
    return liquidation;
  }

  /** A position that was just opened brings its own. */
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

/** Near is past half of the way from the open price. */
export function believedFor(trade: WatchedTrade, liquidation: Liquidation, oraclePrice: bigint): number {
  const middle = middleOf(trade, liquidation);
  return (trade.long ? oraclePrice <= middle : oraclePrice >= middle) ? AGE.near : AGE.far;
}

/** Before this nobody is liquidated and nothing has to be asked. Fees may have carried the price of liquidation past the middle. */
export function watchOf(trade: WatchedTrade, liquidation: Liquidation): LiquidationWatch {
  const [middle, { price, at }] = [middleOf(trade, liquidation), liquidation];
  const [lower, higher] = middle < price ? [middle, price] : [price, middle];
  return { near: trade.long ? { side: 'below', level: higher } : { side: 'above', level: lower }, staleAt: at + AGE.far };
}
