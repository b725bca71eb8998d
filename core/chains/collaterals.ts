import type { ChainSlug } from './chains.js';
import type { Collateral } from '../domain/market.js';
import type { ChainCollateral } from '../ports/chain.js';
import type { Address } from '../types.js';

/** Published data of a collateral. Some of it was never verified on chain, so it is checked at start and the chain wins. */
export interface PublishedCollateral {
  readonly symbol: string;
  /** EIP-55; null where none is published. */
  readonly address: Address | null;
  readonly decimals: number | null;
}

const row = (symbol: string, address: Address | null, decimals: number | null): PublishedCollateral => ({ symbol, address, decimals });

/** In the order of their indices, from 1. */
export const PUBLISHED_COLLATERALS: Readonly<Record<ChainSlug, readonly PublishedCollateral[]>> = {
  arbitrum: [
    row('DAI', '0xDA10009cBd5D07dd0CeCc66161FC93D7c9000da1', 18),
    row('WETH', '0x82aF49447D8a07e3bd95BD0d56f35241523fBab1', 18),
    row('USDC', '0xaf88d065e77c8cC2239327C5EDb3A432268e5831', 6),
    row('GNS', '0x18c11FD286C5EC11c3b683Caa813B77f5163A122', 18),
  ],
  base: [row('USDC', '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913', 6), row('BtcUSD', null, null)],
  polygon: [
    row('DAI', '0x8f3Cf7ad23Cd3CaDbD9735AFf958023239c6A063', 18),
    row('WETH', '0x7ceB23fD6bC0adD59E62ac25578270cFf1b9f619', 18),
    row('USDC', '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359', 6),
  ],
  megaeth: [row('USDm', '0xFAfDdbb3FC7688494971a79cc65DCa3EF82079E7', 18)],
  'arbitrum-sepolia': [
    row('DAI', '0xfBb7E7FEE1525958bf5a4F04ed8D7be547AB6d27', 18),
    row('WETH', '0x980B62Da83eFf3D4576C647993b0c1D7faf17c73', 18),
    row('USDC', '0x4cC7EbEeD5EA3adf3978F19833d2E1f3e8980cD6', 6),
    row('GNS', '0xA5a0eB8710f9a949ad5F4501C3494F2FdA58FFe3', 18),
  ],
};

/** Messages for the operator, one per collateral that differs on chain from its publication. */
export function collateralDifferences(published: readonly PublishedCollateral[], found: readonly ChainCollateral[]): string[] {
  return Array.from({ length: Math.max(published.length, found.length) }, (_, at) => {
    const [listed, real] = [published[at], found[at]];
    const named = `collateral ${at + 1}${listed === undefined ? '' : ` (${listed.symbol})`}`;
    if (real === undefined) return `${named} was published, but the Diamond has none`;
    if (listed === undefined) return `${named} at ${real.address} is in the Diamond, but was not published`;
    if (listed.address !== null && listed.address.toLowerCase() !== real.address.toLowerCase())
      return `${named} is ${real.address} in the Diamond, but was published as ${listed.address}; the Diamond's is used`;
    if (listed.decimals !== null && listed.decimals !== real.decimals)
      return `${named} has ${real.decimals} decimals in the Diamond, but was published with ${listed.decimals}; the Diamond's are used`;
    return null;
  }).filter((text) => text !== null);
}

/** The same for the backend's current data: openings with a collateral whose token differs are disabled. */
export const collateralDoubts = (listed: readonly Collateral[], found: readonly ChainCollateral[]): string[] =>
  listed.flatMap(({ index, symbol, address }) => {
    const real = found[index - 1]?.address;
    if (real === undefined || real.toLowerCase() === address.toLowerCase()) return [];
    return [`collateral ${index} (${symbol}) is ${real} in the Diamond, but ${address} at the backend: opening with it is off`];
  });
