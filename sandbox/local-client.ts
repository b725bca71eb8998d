import { createPublicClient, custom, type PublicClient } from 'viem';

export interface Rpc {
  /** Throws the node's error replies. */
  request(method: string, params?: readonly unknown[]): Promise<unknown>;
}

/** viem on a node of this process: typed reads without a socket. */
export function createLocalClient(rpc: Rpc): PublicClient {
  return createPublicClient({
    cacheTime: 0,
    transport: custom(
      { request: ({ method, params }: { method: string; params?: readonly unknown[] }) => rpc.request(method, params) },
      { retryCount: 0 },
    ),
  });
}
