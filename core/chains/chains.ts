/** Chains as data. A new chain is a new row; variable names such as `RPC_URL_ARBITRUM_SEPOLIA` derive from its slug. */

export interface ChainDefinition {
  readonly slug: string;
  readonly chainId: number;
  readonly name: string;
  readonly testnet: boolean;
  /** EIP-55, as published; also the `verifyingContract` of every native signature. */
  readonly diamond: `0x${string}`;
  readonly nativeSymbol: string;
  /** The usual block time; only for estimates shown to people, never for state. */
  readonly expectedBlockMs: number;
  /** Default limit of the relayer's fee in gwei per gas: far above the chain's price on a busy day. */
  readonly maxFeeGwei: number;
  /** Limit in gwei of the tip that a node proposes. */
  readonly maxTipGwei: number;
  /** Network label of the protocol's backend hosts. */
  readonly backendNetwork: string;
}

const rows = [
  {
    slug: 'arbitrum',
    chainId: 42161,
    name: 'Arbitrum One',
    testnet: false,
    diamond: '0xFF162c694eAA571f685030649814282eA457f169',
    nativeSymbol: 'ETH',
    expectedBlockMs: 250,
    maxFeeGwei: 10,
    maxTipGwei: 1,
    backendNetwork: 'arbitrum',
  },
  {
    slug: 'base',
    chainId: 8453,
    name: 'Base',
    testnet: false,
    diamond: '0x6cD5aC19a07518A8092eEFfDA4f1174C72704eeb',
    nativeSymbol: 'ETH',
    expectedBlockMs: 2000,
    maxFeeGwei: 10,
    maxTipGwei: 1,
    backendNetwork: 'base',
  },
  {
    slug: 'polygon',
    chainId: 137,
    name: 'Polygon PoS',
    testnet: false,
    diamond: '0x209A9A01980377916851af2cA075C2b170452018',
    nativeSymbol: 'POL',
    expectedBlockMs: 2200,
    maxFeeGwei: 1000,
    maxTipGwei: 200,
    backendNetwork: 'polygon',
  },
  {
    slug: 'megaeth',
    chainId: 4326,
    name: 'MegaETH',
    testnet: false,
    diamond: '0x2D5B1ba6E2093a5b927Fe5bF8C049B107de31eaF',
    nativeSymbol: 'ETH',
    expectedBlockMs: 1000,
    maxFeeGwei: 2,
    maxTipGwei: 1,
    backendNetwork: 'megaeth',
  },
  {
    slug: 'arbitrum-sepolia',
    chainId: 421614,
    name: 'Arbitrum Sepolia',
    testnet: true,
    diamond: '0xd659a15812064C79E189fd950A189b15c75d3186',
    nativeSymbol: 'ETH',
    expectedBlockMs: 250,
    maxFeeGwei: 20,
    maxTipGwei: 1,
    backendNetwork: 'sepolia',
  },
] as const satisfies readonly ChainDefinition[];

export type ChainSlug = (typeof rows)[number]['slug'];

export const CHAINS: readonly (ChainDefinition & { readonly slug: ChainSlug })[] = rows;
export const CHAIN_SLUGS: readonly ChainSlug[] = rows.map((row) => row.slug);

export const isChainSlug = (text: string): text is ChainSlug => rows.some((row) => row.slug === text);

export function chainBySlug(slug: ChainSlug): ChainDefinition & { readonly slug: ChainSlug } {
  const found = CHAINS.find((row) => row.slug === slug);
  if (!found) throw new RangeError(`no chain is called ${slug}`);
  return found;
}

/** `RPC_URL` + `arbitrum-sepolia` → `RPC_URL_ARBITRUM_SEPOLIA`. */
export const chainVariable = (name: string, slug: ChainSlug): string => `${name}_${slug.toUpperCase().replaceAll('-', '_')}`;
