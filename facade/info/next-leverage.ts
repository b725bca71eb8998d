import type { MarketConfig } from '../../core/domain/market.js';
import type { LeverageSetting } from '../../core/facade/leverage-store.js';
import type { Asset } from '../universe.js';

/** For a trader who never chose: low, because a trade here is backed by its own collateral and not by the whole account. */
const USUAL_LEVERAGE = 5;

/** What the next opening takes. */
export function nextLeverage(config: MarketConfig, asset: Asset, settings: ReadonlyMap<number, LeverageSetting>): LeverageSetting {
  const group = asset.pair && config.groups[asset.pair.groupIndex];
  const least = group ? Math.ceil(Number(group.minLeverage) / 1000) : 1;
  return settings.get(asset.id) ?? { leverage: Math.max(least, Math.min(USUAL_LEVERAGE, asset.maxLeverage)), isCross: true };
}
