import { divideInteger } from '../../core/domain/decimal.js';
import type { Address } from '../../core/types.js';
import { PRICE_SCALE, ZERO_TEXT, formatSize, formatTick, formatUsd } from '../format.js';
import { coinPrice, coinSize, type Asset } from '../universe.js';
import type { AccountState } from './account-state.js';
import type { InfoContext } from './info-type.js';
import { netPositions } from './netting.js';
import { nextLeverage } from './next-leverage.js';

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
