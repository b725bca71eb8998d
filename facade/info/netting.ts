import { decimal, divide, divideInteger, type Decimal } from '../../core/domain/decimal.js';
import { floorToLot } from '../../core/domain/lot.js';
import type { LeverageSetting } from '../../core/ports/stores/leverage.js';
import { PRICE_SCALE, USD_SCALE, valueUsd } from '../format.js';
import { coinSize, lotOf, type Asset } from '../universe.js';
import type { HeldTrade } from './account-state.js';

/** All trades of a market as the one position a client sees. USD 1e18, prices 1e10 per base unit, size 1e18 units of the coin. */
export interface NetPosition {
  readonly asset: Asset;
  /** Signed, rounded down to the lot. */
  readonly szi: bigint;
  readonly entry: bigint;
  readonly valueUsd: bigint;
  readonly pnlUsd: bigint;
  readonly leverage: number;
  readonly isCross: boolean;
  /** The USD part of an isolated position besides its size. */
  readonly rawUsd: bigint;
  readonly marginUsd: bigint;
  readonly returnOnEquity: Decimal;
  readonly liquidation: bigint | null;
  readonly fundingUsd: bigint;
}

const signed = ({ long, base }: HeldTrade): bigint => (long ? base : -base);
const sum = (trades: readonly HeldTrade[], of: (trade: HeldTrade) => bigint): bigint =>
  trades.reduce((total, trade) => total + of(trade), 0n);

/** Weighted by size. */
const average = (trades: readonly HeldTrade[], of: (trade: HeldTrade) => bigint): bigint =>
  divideInteger(
    sum(trades, (trade) => trade.base * of(trade)),
    sum(trades, ({ base }) => base),
    'half-up',
  );

/** By market, in the order of asset ids; a market whose trades cancel out has no row. */
export function netPositions(
  assets: readonly Asset[],
  trades: readonly HeldTrade[],
  settings: ReadonlyMap<number, LeverageSetting>,
): NetPosition[] {
  const byPair = new Map<number, HeldTrade[]>();
  for (const trade of trades) byPair.set(trade.pairIndex, [...(byPair.get(trade.pairIndex) ?? []), trade]);
  return [...byPair]
    .sort(([a], [b]) => a - b)
    .flatMap(([pairIndex, own]) => {
      const asset = assets[pairIndex];
      return (asset && net(asset, own, settings.get(pairIndex))) ?? [];
    });
}

function net(asset: Asset, trades: readonly HeldTrade[], setting: LeverageSetting | undefined): NetPosition | null {
  const size = sum(trades, signed);
  if (floorToLot(size, lotOf(asset)) === 0n) return null;
  const leading = trades.filter(({ long }) => long === size > 0n);
  const entry = average(leading, (trade) => trade.entry);
  // Each trade has the mark of its own collateral; like the entry, the net size is valued at the average of its side.
  const mark = average(leading, (trade) => trade.mark);
  const worth = valueUsd(size < 0n ? -size : size, mark);
  const pnlUsd = sum(trades, (trade) => trade.pnlUsd);
  const collateral = sum(trades, (trade) => trade.collateralUsd);
  const leverage = setting?.leverage ?? ownLeverage(trades, collateral);
  const isCross = setting?.isCross ?? true;
  const rawUsd = collateral - sum(trades, (trade) => valueUsd(signed(trade), trade.entry));
  const margin = valueUsd(size < 0n ? -size : size, entry);
  return {
    asset,
    szi: coinSize(asset, floorToLot(size, lotOf(asset))),
    entry,
    valueUsd: worth,
    pnlUsd,
    leverage,
    isCross,
    rawUsd,
    marginUsd: isCross ? worth / BigInt(leverage) : rawUsd + sum(trades, (trade) => valueUsd(signed(trade), trade.mark)),
    returnOnEquity:
      margin === 0n
        ? decimal(0n, 0)
        : divide(decimal(pnlUsd * BigInt(leverage), USD_SCALE), decimal(margin, USD_SCALE), PRICE_SCALE, 'half-up'),
    liquidation: firstLiquidation(leading, size > 0n),
    fundingUsd: sum(trades, (trade) => trade.fundingUsd),
  };
}

/** Without a chosen leverage: the trades' actual leverage, as a whole number. */
function ownLeverage(trades: readonly HeldTrade[], collateral: bigint): number {
  const size = sum(trades, ({ base, entry }) => valueUsd(base, entry));
  return collateral === 0n ? 1 : Math.max(1, Number(divideInteger(size, collateral, 'half-up')));
}

/** The liquidation price that is reached first. */
function firstLiquidation(trades: readonly HeldTrade[], long: boolean): bigint | null {
  const prices = trades.map(({ liquidation }) => liquidation).filter((price) => price > 0n);
  if (prices.length === 0) return null;
  return prices.reduce((first, price) => ((long ? price > first : price < first) ? price : first));
}
