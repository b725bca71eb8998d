import { ZERO_TEXT, formatExact, formatRate, formatSize, formatTick, formatUsd, valueUsd } from '../format.js';
import { coinPrice, type Universe } from '../universe.js';
import type { AccountState, HeldTrade } from './account-state.js';
import { netPositions, type NetPosition } from './netting.js';

/** What closing the trade now would pay, before the closing fee. */
const tradeValue = ({ collateralUsd, pnlUsd, fundingUsd, realizedUsd }: HeldTrade): bigint =>
  collateralUsd + pnlUsd - fundingUsd + realizedUsd;

export const accountValue = ({ trades, spendableUsd }: AccountState): bigint =>
  trades.reduce((total, trade) => total + tradeValue(trade), spendableUsd);

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
