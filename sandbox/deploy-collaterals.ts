import { getAddress } from 'viem';
import type { ChainSlug } from '../core/chains/chains.js';
import type { Address } from '../core/types.js';

/**
 * The collaterals each chain's Diamond registers, in the order of their indices from 1. Addresses are those of the real tokens and
 * vaults. If none is published, the sandbox uses its own, `0x5a4db0…`, which cannot be mistaken for a real token. Tokens other than
 * stablecoins keep their index and are disabled.
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

const stable = (symbol: string, decimals: number, address: Address, gToken: Address): CollateralRow => ({
  symbol,
  address,
  decimals,
  gToken,
  isActive: true,
  priceUsd: DOLLAR,
});
const dormant = (symbol: string, priceUsd: bigint, address: Address, gToken: Address): CollateralRow => ({
  symbol,
  address,
  decimals: 18,
  gToken,
  isActive: false,
  priceUsd,
});
const ether = (address: Address, gToken: Address): CollateralRow => dormant('WETH', 3000n * DOLLAR, address, gToken);

export const COLLATERALS: Readonly<Record<ChainSlug, readonly CollateralRow[]>> = {
  arbitrum: [
    stable('DAI', 18, '0xDA10009cBd5D07dd0CeCc66161FC93D7c9000da1', '0xd85E038593d7A098614721EaE955EC2022B9B91B'),
    ether('0x82aF49447D8a07e3bd95BD0d56f35241523fBab1', '0x5977A9682D7AF81D347CFc338c61692163a2784C'),
    stable('USDC', 6, '0xaf88d065e77c8cC2239327C5EDb3A432268e5831', '0xd3443ee1e91aF28e5FB858Fbd0D72A63bA8046E0'),
    dormant('GNS', 2n * DOLLAR, '0x18c11FD286C5EC11c3b683Caa813B77f5163A122', '0x4BeeF1113F968326905224D2Ca272f3032A9a9F4'),
  ],
  base: [
    stable('USDC', 6, '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913', '0xad20523A7dC37bAbc1CC74897E4977232b3D02e5'),
    dormant('BtcUSD', DOLLAR, own('c0', 2), '0xB7Cb7cB7C3cD96e251c9bF8800B9631134BbAdc6'),
    stable('DAI', 18, own('c0', 3), own('9a', 3)),
  ],
  polygon: [
    stable('DAI', 18, '0x8f3Cf7ad23Cd3CaDbD9735AFf958023239c6A063', '0x91993f2101cc758D0dEB7279d41e880F7dEFe827'),
    ether('0x7ceB23fD6bC0adD59E62ac25578270cFf1b9f619', '0x1544E1fF1a6f6Bdbfb901622C12bb352a43464Fb'),
    stable('USDC', 6, '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359', '0x29019Fe2e72E8d4D2118E8D0318BeF389ffe2C81'),
  ],
  megaeth: [
    stable('USDm', 18, '0xFAfDdbb3FC7688494971a79cc65DCa3EF82079E7', '0x46344456f130e9dcdeA7F98cDb0E02fB9F4ab72D'),
    stable('USDC', 6, own('c0', 2), own('9a', 2)),
    stable('DAI', 18, own('c0', 3), own('9a', 3)),
  ],
  'arbitrum-sepolia': [
    stable('DAI', 18, '0xfBb7E7FEE1525958bf5a4F04ed8D7be547AB6d27', '0xD6e33C7560009D60052d7A5E0476A8Db295bF8C7'),
    ether('0x980B62Da83eFf3D4576C647993b0c1D7faf17c73', '0xfd7E69042812f3416C18261673b55eD005F67E01'),
    stable('USDC', 6, '0x4cC7EbEeD5EA3adf3978F19833d2E1f3e8980cD6', '0xb0C25646774Ad985B4f9ccD262623bA6D6F64677'),
    dormant('GNS', 2n * DOLLAR, '0xA5a0eB8710f9a949ad5F4501C3494F2FdA58FFe3', '0x5ed4bEA869300DB39bE2a92a8B42e53453742a43'),
  ],
};

/** null if the chain's wrapped native token is not published. */
export const WRAPPED_NATIVE: Readonly<Record<ChainSlug, Address | null>> = {
  arbitrum: '0x82aF49447D8a07e3bd95BD0d56f35241523fBab1',
  base: '0x4200000000000000000000000000000000000006',
  polygon: '0x0d500B1d8E8eF31E21C99d1Db9A6444d3ADf1270',
  megaeth: null,
  'arbitrum-sepolia': '0x980B62Da83eFf3D4576C647993b0c1D7faf17c73',
};
