import { expectedReclaim } from '../../../core/trading/reclaim-time.js';

const request = { requestedBlock: 1_000n, requestedAt: 1_700_000_000_000, timeoutBlocks: 200n };
const at = (block: bigint, seconds: number) => ({
  head: { number: block, timestamp: 1_700_000_000n + BigInt(seconds) },
  expectedBlockMs: 250,
  now: 5_000_000,
});

describe('when an unanswered request can be reclaimed', () => {
  it('is estimated at the usual pace of the chain while too few blocks have passed', () =>
    expect(expectedReclaim(request, at(1_010n, 30))).toBe(5_000_000 + 190 * 250));

  it('is estimated at the pace of the chain since the request after enough blocks', () =>
    expect(expectedReclaim(request, at(1_100n, 100))).toBe(5_000_000 + 100 * 1000));

  it('is now, from the very block on', () => {
    expect(expectedReclaim(request, at(1_199n, 0))).toBe(5_000_000 + 250);
    expect(expectedReclaim(request, at(1_200n, 50))).toBe(5_000_000);
    expect(expectedReclaim(request, at(9_000n, 50))).toBe(5_000_000);
  });

  it('does not trust a clock that stands still or runs backwards', () => {
    for (const seconds of [0, -50]) expect(expectedReclaim(request, at(1_100n, seconds))).toBe(5_000_000 + 100 * 250);
  });
});
