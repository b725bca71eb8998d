import type { MarketTrade } from '../../../core/domain/market.js';
import type { Venue } from '../../../core/gateway.js';
import { showTrade } from '../../../facade/info/tape.js';
import type { Asset } from '../../../facade/universe.js';

const E18 = 10n ** 18n;
const DIAMOND = '0x00000000000000000000000000000000000000Dd';
const TRADER = '0x1111111111111111111111111111111111111111';
const venue = { definition: { diamond: DIAMOND } } as unknown as Venue;
const asset = { coin: 'SOL', szDecimals: 2, multiplier: 1n } as Asset;
const trade = (changes: Partial<MarketTrade>): MarketTrade => ({
  pairIndex: 0,
  price: 110n * 10n ** 10n,
  sizeUsd: 1_000n * E18,
  side: 'long',
  action: 'open',
  at: 1_000,
  txHash: '0xab',
  trader: TRADER,
  ...changes,
});

describe('a trade from before the chain was followed', () => {
  it.each([
    ['an opening', { sizeUsd: 1_100n * E18 }, '10.0', 'B'],
    ['the close of ten that were bought at 100', { action: 'close', pnlUsd: 100n * E18 }, '10.0', 'A'],
    ['the close of ten that were sold at 100', { action: 'sl', side: 'short', pnlUsd: -100n * E18 }, '10.0', 'B'],
  ] as const)('that is %s has the size that was traded', (_what, changes, sz, side) => {
    expect(showTrade(venue, asset, trade(changes))).toMatchObject({ sz, side, px: '110.00' });
  });

  it('names buyer and seller, and zero addresses where the backend gives none', () => {
    expect(showTrade(venue, asset, trade({})).users).toEqual([TRADER, DIAMOND.toLowerCase()]);
    const unsaid = Object.fromEntries(Object.entries(trade({ action: 'close' })).filter(([field]) => field !== 'trader'));
    expect(showTrade(venue, asset, unsaid as unknown as MarketTrade).users).toEqual([DIAMOND.toLowerCase(), `0x${'0'.repeat(40)}`]);
  });
});
