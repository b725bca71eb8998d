/** What a wallet is offered for a chain that it does not know: the nodes that the chains themselves publish. The page never calls them. */
export const PUBLIC_NODES: Readonly<Record<string, string | undefined>> = {
  arbitrum: 'https://arb1.arbitrum.io/rpc',
  base: 'https://mainnet.base.org',
  polygon: 'https://polygon.drpc.org',
  'arbitrum-sepolia': 'https://sepolia-rollup.arbitrum.io/rpc',
};
