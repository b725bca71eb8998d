import type { PriceControls } from '../controls.js';
import type { MarketHours } from './market-hours.js';
import type { PriceBackend } from './price-backend.js';
import { priceUnits } from './price-grid.js';
import type { PriceWalk } from './price-walk.js';

export function createPriceControls(walk: PriceWalk, hours: MarketHours, backend: PriceBackend): PriceControls {
  return {
    jump: (pairIndex, price) => walk.jump(pairIndex, priceUnits(price)),
    glide: (pairIndex, price, overMs) => walk.glide(pairIndex, priceUnits(price), overMs),
    walk: (pairIndex) => walk.resume(pairIndex),
    setOpen: (pairIndex, isOpen) => hours.set(pairIndex, isOpen),
    pauseFeed: (paused) => backend.setPaused(paused),
  };
}
