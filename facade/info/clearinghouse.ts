import { formatExact, formatRate, formatSize, formatTick, formatUsd, PRICE_SCALE, USD_SCALE, valueUsd, ZERO_TEXT } from '../format.js';
import { coinPrice, coinSize, lotOf, type Asset, type Universe } from '../universe.js';
import type { AccountState, ValuedTrade } from './account-state.js';
import { decimal, divide, divideInteger, floorToLot, type Decimal } from '../../core/domain/decimal.js';
import type { LeverageSetting } from '../../core/ports/stores/exchange.js';
import type { Address } from '../../core/types.js';
import type { InfoContext } from './info-type.js';
import type { MarketConfig } from '../../core/domain/market.js';

/** What closing the trade now would pay, before the closing fee. */
const tradeValue = ({ collateralUsd, pnlUsd, fundingUsd, realizedUsd }: ValuedTrade): bigint =>
  collateralUsd + pnlUsd - fundingUsd + realizedUsd;

/** An order moves collateral from one of these parts to another, so that it changes the sum only by fees and price impact. */
export const accountValue = ({ trades, walletUsd, inOrdersUsd }: AccountState): bigint =>
  trades.reduce((total, trade) => total + tradeValue(trade), walletUsd + inOrdersUsd);

/** The reply to `clearinghouseState`; an unknown address has zeros. */
export function clearinghouseState({ assets }: Universe, state: AccountState, now: number) {
  const positions = netPositions(assets, state.trades, state.settings);
  const value = accountValue(state);
  const exposure = state.trades.reduce((total, { long, base, mark }) => total + valueUsd(long ? base : -base, mark), 0n);
  const marginSummary = {
    accountValue: formatUsd(value),
    totalNtlPos: formatUsd(positions.reduce((total, { valueUsd: worth }) => total + worth, 0n)),
    totalRawUsd: formatUsd(value - exposure),
    totalMarginUsed: formatUsd(positions.reduce((total, { marginUsd }) => total + marginUsd, 0n)),
  };
  return {
    marginSummary,
    // Clients that support only cross margin read this one.
    crossMarginSummary: marginSummary,
    crossMaintenanceMarginUsed: ZERO_TEXT,
    withdrawable: formatUsd(state.spendableUsd),
    assetPositions: positions.map((position) => ({ type: 'oneWay', position: show(position) })),
    time: now,
  };
}

function show(net: NetPosition) {
  const { asset, leverage, isCross, rawUsd, fundingUsd } = net;
  const funding = formatUsd(fundingUsd);
  return {
    coin: asset.coin,
    szi: formatSize(net.szi, asset.szDecimals, 'down'),
    leverage: isCross ? { type: 'cross', value: leverage } : { type: 'isolated', value: leverage, rawUsd: formatUsd(rawUsd) },
    entryPx: formatExact(coinPrice(asset, net.entry)),
    positionValue: formatUsd(net.valueUsd),
    unrealizedPnl: formatUsd(net.pnlUsd),
    returnOnEquity: formatRate(net.returnOnEquity),
    liquidationPx: net.liquidation === null ? null : formatTick(coinPrice(asset, net.liquidation), asset.szDecimals, 'half-up'),
    marginUsed: formatUsd(net.marginUsd),
    maxLeverage: asset.maxLeverage,
    // Funding stays in a trade until it is closed, so the total is the funding since opening.
    cumFunding: { allTime: funding, sinceOpen: funding, sinceChange: funding },
  };
}

/** All trades of a market as the one position a client sees. USD 1e18, prices 1e10 per base unit, size 1e18 units of the coin. */
interface NetPosition {
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

const signed = ({ long, base }: ValuedTrade): bigint => (long ? base : -base);
const sum = (trades: readonly ValuedTrade[], of: (trade: ValuedTrade) => bigint): bigint =>
  trades.reduce((total, trade) => total + of(trade), 0n);

/** Weighted by size. */
const average = (trades: readonly ValuedTrade[], of: (trade: ValuedTrade) => bigint): bigint =>
  divideInteger(
    sum(trades, (trade) => trade.base * of(trade)),
    sum(trades, ({ base }) => base),
    'half-up',
  );

/** By market, in the order of asset ids; a market whose trades cancel out has no row. */
export function netPositions(
  assets: readonly Asset[],
  trades: readonly ValuedTrade[],
  settings: ReadonlyMap<number, LeverageSetting>,
): NetPosition[] {
  const byPair = new Map<number, ValuedTrade[]>();
  for (const trade of trades) byPair.set(trade.pairIndex, [...(byPair.get(trade.pairIndex) ?? []), trade]);
  return [...byPair]
    .sort(([a], [b]) => a - b)
    .flatMap(([pairIndex, own]) => {
      const asset = assets[pairIndex];
      return (asset && net(asset, own, settings.get(pairIndex))) ?? [];
    });
}

function net(asset: Asset, trades: readonly ValuedTrade[], setting: LeverageSetting | undefined): NetPosition | null {
  const size = sum(trades, signed);
  if (floorToLot(size, lotOf(asset)) === 0n) return null;
  const leading = trades.filter(({ long }) => long === size > 0n);
  const entry = average(leading, (trade) => trade.entry);
  // Each trade has the mark of its own collateral; like the entry, the net size is valued at the average of its side.
  const mark = average(leading, (trade) => trade.mark);
  const worth = valueUsd(size < 0n ? -size : size, mark);
  const pnlUsd = sum(trades, (trade) => trade.pnlUsd);
  const collateral = sum(trades, (trade) => trade.collateralUsd);
  const leverage = ownLeverage(
    asset,
    sum(trades, ({ notionalUsd }) => notionalUsd),
    collateral,
  );
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

/** That of the trades together, as a whole number; the trader's setting is what the next order gets. */
const ownLeverage = ({ maxLeverage }: Asset, notionalUsd: bigint, collateralUsd: bigint): number =>
  collateralUsd === 0n ? 1 : Math.max(1, Math.min(maxLeverage, Number(divideInteger(notionalUsd, collateralUsd, 'half-up'))));

/** The liquidation price that is reached first. */
function firstLiquidation(trades: readonly ValuedTrade[], long: boolean): bigint | null {
  const prices = trades.map(({ liquidation }) => liquidation).filter((price) => price > 0n);
  if (prices.length === 0) return null;
  return prices.reduce((first, price) => ((long ? price > first : price < first) ? price : first));
}

interface Wanted {
  readonly asset: Asset;
  readonly user: Address;
  readonly state: AccountState;
}

/** The sizes that could be bought and sold now: an opening uses the wallet's funds, the opposite side closes the position first. */
export function activeAssetData({ gateway, venue, universe }: InfoContext, { asset, user, state }: Wanted) {
  const { leverage, isCross } = nextLeverage(venue.feed.config(), asset, { settings: state.settings, usual: gateway.facade.leverage });
  const position = netPositions(universe.assets, state.trades, state.settings).find((net) => net.asset === asset);
  const szi = position?.szi ?? 0n;
  const mark = venue.feed.lastPrice(asset.id)?.mark ?? 0n;
  const opening = mark === 0n ? 0n : divideInteger(state.spendableUsd * BigInt(leverage) * 10n ** BigInt(PRICE_SCALE), mark, 'down');
  const size = (closing: bigint): string => formatSize(coinSize(asset, opening) + closing, asset.szDecimals, 'down');
  const available = formatUsd(state.spendableUsd);
  return {
    user,
    coin: asset.coin,
    leverage: isCross
      ? { type: 'cross', value: leverage }
      : { type: 'isolated', value: leverage, rawUsd: position ? formatUsd(position.rawUsd) : ZERO_TEXT },
    maxTradeSzs: [size(szi < 0n ? -szi : 0n), size(szi > 0n ? szi : 0n)],
    availableToTrade: [available, available],
    markPx: formatTick(coinPrice(asset, mark), asset.szDecimals, 'half-up'),
  };
}

/** The leverage of the next opening. */
function nextLeverage(
  config: MarketConfig,
  asset: Asset,
  { settings, usual }: { readonly settings: ReadonlyMap<number, LeverageSetting>; readonly usual: number },
): LeverageSetting {
  const group = asset.pair && config.groups[asset.pair.groupIndex];
  const least = group ? Math.ceil(Number(group.minLeverage) / 1000) : 1;
  return settings.get(asset.id) ?? { leverage: Math.max(least, Math.min(usual, asset.maxLeverage)), isCross: true };
}
