import { getAddress } from 'viem';
import { collateralDifferences, collateralDoubts, PUBLISHED_COLLATERALS } from '../../core/chains/collaterals.js';
import { CHAINS, CHAIN_SLUGS } from '../../core/chains/chains.js';
import type { Collateral } from '../../core/domain/market.js';
import { requireAgreed } from '../../core/gateway.js';
import { collateralsOf } from '../../sandbox/deploy-collaterals.js';

describe('the chains', () => {
  it('are the five of the interface, under their own ids and contracts', () => {
    expect(CHAINS.map(({ slug, chainId, diamond, testnet }) => [slug, chainId, diamond, testnet])).toEqual([
      ['arbitrum', 42161, '0xFF162c694eAA571f685030649814282eA457f169', false],
      ['base', 8453, '0x6cD5aC19a07518A8092eEFfDA4f1174C72704eeb', false],
      ['polygon', 137, '0x209A9A01980377916851af2cA075C2b170452018', false],
      ['megaeth', 4326, '0x2D5B1ba6E2093a5b927Fe5bF8C049B107de31eaF', false],
      ['arbitrum-sepolia', 421614, '0xd659a15812064C79E189fd950A189b15c75d3186', true],
    ]);
  });

  it('have collaterals whose addresses are written without a mistake', () => {
    const addresses = Object.values(PUBLISHED_COLLATERALS)
      .flat()
      .flatMap(({ address }) => address ?? []);
    expect(addresses.map((address) => getAddress(address.toLowerCase()))).toEqual(addresses);
    expect(Object.entries(PUBLISHED_COLLATERALS).map(([slug, rows]) => [slug, rows.map(({ symbol }) => symbol)])).toEqual([
      ['arbitrum', ['DAI', 'WETH', 'USDC', 'GNS']],
      ['base', ['USDC', 'BtcUSD']],
      ['polygon', ['DAI', 'WETH', 'USDC']],
      ['megaeth', ['USDm']],
      ['arbitrum-sepolia', ['DAI', 'WETH', 'USDC', 'GNS']],
    ]);
  });

  it.each(CHAIN_SLUGS)('hold the same in the sandbox, apart from unpublished addresses: %s', (slug) => {
    const published = PUBLISHED_COLLATERALS[slug];
    const found = collateralsOf(slug).slice(0, published.length);
    expect(found.map(({ symbol }) => symbol)).toEqual(published.map(({ symbol }) => symbol));
    expect(collateralDifferences(published, found)).toEqual([]);
  });
});

describe('collaterals that differ', () => {
  const published = PUBLISHED_COLLATERALS.base;
  const USDC = { address: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913', decimals: 6, isActive: true } as const;
  const OTHER = { address: '0x00000000000000000000000000000000000000aa', decimals: 8, isActive: true } as const;

  it.each([
    ['none where an address was never published', [USDC, OTHER], []],
    ['another token', [OTHER, OTHER], [/^collateral 1 \(USDC\) is 0x0+aa in the Diamond, but was published as 0x8335/]],
    ['another precision', [{ ...USDC, decimals: 18 }, OTHER], [/^collateral 1 \(USDC\) has 18 decimals .* published with 6/]],
    ['fewer', [USDC], [/^collateral 2 \(BtcUSD\) was published, but the Diamond has none/]],
    ['more', [USDC, OTHER, OTHER], [/^collateral 3 at 0x0+aa is in the Diamond, but was not published/]],
  ])('are reported one by one: %s', (_, found, expected) => {
    expect(collateralDifferences(published, found)).toEqual(expected.map((text) => expect.stringMatching(text) as string));
  });

  it('between backend and contract keep openings with them off, and no others', () => {
    const figures = { isActive: true, precision: 0n, precisionDelta: 0n, priceUsd: 0n, pairs: [] };
    const fromBackend: readonly Collateral[] = [
      { ...figures, index: 1, symbol: 'USDC', address: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913', decimals: 6 },
      { ...figures, index: 2, symbol: 'BtcUSD', address: '0x00000000000000000000000000000000000000bb', decimals: 8 },
      { ...figures, index: 3, symbol: 'NEW', address: '0x00000000000000000000000000000000000000cc', decimals: 8 },
    ];
    const found = [USDC, OTHER];
    expect(collateralDoubts(fromBackend, found)).toEqual([
      expect.stringMatching(/^collateral 2 \(BtcUSD\) is 0x0+aa .* 0x0+bb at the backend/),
    ]);
    const facts = { chainId: 8453, block: 1n, missing: [], collaterals: found };
    const state = {
      facts,
      contract: null,
      checked: null,
      head: null,
      fault: null,
      followed: { block: null, caughtUpAt: null, fault: null, failing: null },
      catchUp: null,
    };
    const refused = fromBackend.filter((collateral) => {
      try {
        requireAgreed({ state }, collateral);
        return false;
      } catch (error) {
        return (error as { code?: string }).code === 'NOT_READY';
      }
    });
    expect(refused.map(({ symbol }) => symbol)).toEqual(['BtcUSD']);
  });
});
