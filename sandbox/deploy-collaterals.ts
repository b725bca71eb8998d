import { getAddress } from 'viem';
import type { ChainSlug } from '../core/chains/chains.js';
import { PUBLISHED_COLLATERALS, type PublishedCollateral } from '../core/chains/collaterals.js';
import type { Address } from '../core/types.js';

/**
 * The collaterals that a chain's Diamond has in the sandbox: the published ones, in the order of their indices from 1. Where no address is
 * published the sandbox has its own, `0x5a4db0…`, which cannot be mistaken for a real token. Tokens other than stablecoins keep their index
 * and are disabled.
 */
export interface CollateralRow {
  readonly symbol: string;
  readonly address: Address;
  readonly decimals: number;
  readonly gToken: Address;
  readonly isActive: boolean;
  /** 1e8. */
  readonly priceUsd: bigint;
}

const DOLLAR = 100_000_000n;

const own = (kind: 'c0' | 'fa' | '0c' | '9a', number: number): Address =>
  getAddress(`0x5a4db0${kind}${number.toString(16).padStart(32, '0')}`);

/** Addresses of the facets, in the order of the artefact. */
export const facetAddress = (position: number): Address => own('fa', position + 1);
export const oracleAddress = (position: number): Address => own('0c', position + 1);

/** Usual prices of tokens that are no stablecoin. */
const DORMANT: Readonly<Record<string, bigint>> = { WETH: 3000n * DOLLAR, GNS: 2n * DOLLAR, BtcUSD: DOLLAR };

/** Stablecoins that the sandbox adds to those of a chain, so that it has one with 6 and one with 18 decimals. */
const ADDED: Readonly<Partial<Record<ChainSlug, readonly PublishedCollateral[]>>> = {
  base: [{ symbol: 'DAI', address: null, decimals: 18 }],
  megaeth: [
    { symbol: 'USDC', address: null, decimals: 6 },
    { symbol: 'DAI', address: null, decimals: 18 },
  ],
};

export const collateralsOf = (slug: ChainSlug): readonly CollateralRow[] =>
  [...PUBLISHED_COLLATERALS[slug], ...(ADDED[slug] ?? [])].map(({ symbol, address, decimals }, at) => ({
    symbol,
    address: address ?? own('c0', at + 1),
    decimals: decimals ?? 18,
    gToken: own('9a', at + 1),
    isActive: DORMANT[symbol] === undefined,
    priceUsd: DORMANT[symbol] ?? DOLLAR,
  }));

/** Absent if the chain's wrapped native token is not published. */
export const WRAPPED_NATIVE: Readonly<Partial<Record<ChainSlug, Address>>> = {
  arbitrum: '0x82aF49447D8a07e3bd95BD0d56f35241523fBab1',
  base: '0x4200000000000000000000000000000000000006',
  polygon: '0x0d500B1d8E8eF31E21C99d1Db9A6444d3ADf1270',
  'arbitrum-sepolia': '0x980B62Da83eFf3D4576C647993b0c1D7faf17c73',
};
