import type { Executed } from '../../../core/domain/chain-event.js';

export const USDC = 10n ** 6n;
const E18 = 10n ** 18n;
const TRADE = 7;
const PRICE = 3_000n * 10n ** 10n;

/** A trade of 10 ETH with a fee of 10 USDC that is opened, and then closed in so many parts, each with a profit of a cent. */
export function closesOf(trader: `0x${string}`, parts: number): Executed[] {
  const whole = BigInt(parts) * USDC;
  return Array.from({ length: parts + 1 }, (_, nth): Executed => {
    const left = BigInt(parts - nth) * USDC;
    const hash = `0x${BigInt(trader).toString(16).padStart(32, '0')}${nth.toString(16).padStart(32, '0')}` as const;
    const terms = {
      ...{ pairIndex: 1, collateralIndex: 3, long: true, leverage: 10_000n, openPrice: PRICE, tp: 0n, sl: 0n },
      collateralAmount: nth === 0 ? whole : left + USDC,
    };
    const isOpening = nth === 0;
    const size = (units: bigint): bigint => (units * 10n * E18) / whole;
    const part = isOpening ? whole : USDC;
    // What the opening cost is taken from what the closes pay.
    const netPnl = isOpening ? 0n : USDC / 100n - (10n * USDC) / BigInt(parts);
    return {
      ...{ kind: 'executed', trader, orderKey: null, tradeIndex: TRADE, terms, price: PRICE, oraclePrice: PRICE, netPnl },
      action: isOpening ? 'open' : left === 0n ? 'close' : 'decrease',
      place: { blockNumber: BigInt(nth + 1), blockHash: hash, txHash: hash, logIndex: 0, at: 1_000 * (nth + 1) },
      ...{ sizeCollateral: part * 10n, sizeToken: size(part), collateral: part },
      ...{ grossPnl: isOpening ? 0n : USDC / 100n, fee: isOpening ? 10n * USDC : 0n, collateralPriceUsd: 10n ** 8n },
      after: left === 0n ? null : { ...terms, collateralAmount: isOpening ? whole : left, sizeToken: size(left), isCounterTrade: false },
    };
  });
}
