import { groupOf, type MarketConfig } from '../../../core/domain/market.js';
import { firstChain } from './first-chain.js';
import type { TestVenue } from './own-venue.js';

/**
 * Opens or shuts a market together with all others of its class, whatever day it is. "Closed" is said of a class only: one market that is
 * shut while others of its class are open is reported as disabled.
 */
export function setClassOpen(sandbox: TestVenue, pairIndex: number, isOpen: boolean): void {
  const config = sandbox.gateway.venues.get(firstChain(sandbox).definition.slug)?.feed.config();
  if (!config) throw new Error('the sandbox has no markets yet');
  const wanted = classOf(config, pairIndex);
  for (const pair of config.pairs) if (pair && classOf(config, pair.index) === wanted) sandbox.controls.prices.setOpen(pair.index, isOpen);
}

function classOf({ pairs, groups }: MarketConfig, pairIndex: number): string {
  const group = groups.find(({ index }) => index === pairs[pairIndex]?.groupIndex);
  if (!group) throw new Error(`there is no market at pair ${pairIndex}`);
  return groupOf(group.name);
}
