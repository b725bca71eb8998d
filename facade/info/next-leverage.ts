import type { MarketConfig } from '../../core/domain/market.js';
import type { LeverageSetting } from '../../core/ports/stores/leverage.js';
import type { Asset } from '../universe.js';

/** The leverage of the next opening. */
export function nextLeverage(
  config: MarketConfig,
  asset: Asset,
  { settings, usual }: { readonly settings: ReadonlyMap<number, LeverageSetting>; readonly usual: number },
): LeverageSetting {
  const group = asset.pair && config.groups[asset.pair.groupIndex];
  const least = group ? Math.ceil(Number(group.minLeverage) / 1000) : 1;
  return settings.get(asset.id) ?? { leverage: Math.max(least, Math.min(usual, asset.maxLeverage)), isCross: true };
}
