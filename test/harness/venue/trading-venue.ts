import type { ChainControls } from '../../../sandbox/controls.js';
import { BUSY_AGENTS } from '../traders/agent-trader.js';
import { firstChain } from './first-chain.js';
import { startOwnVenue, type TestVenue } from './own-venue.js';
import { sharedVenue } from './shared-venue.js';

/** A limit that rests and a market order that fills while bitcoin stands at 60,000. */
export const LIMIT = { market: 'BTC/USD', side: 'long', type: 'limit', size: '0.02', leverage: '10', price: '50000' };
export const MARKET = { market: 'BTC/USD', side: 'long', type: 'market', size: '0.02', leverage: '10' };

const BTC = 0;

/** The shared venue with bitcoin at 60,000, or with `isOwn` a venue like that for this file alone. */
export async function tradingVenue({ isOwn = false } = {}): Promise<{ sandbox: TestVenue; chain: ChainControls }> {
  const sandbox = await (isOwn ? startOwnVenue(BUSY_AGENTS) : sharedVenue());
  sandbox.controls.prices.jump(BTC, '60000');
  return { sandbox, chain: firstChain(sandbox) };
}
