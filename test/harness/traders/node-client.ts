import { createPublicClient, custom, type PublicClient } from 'viem';
import type { ChainControls } from '../../../sandbox/controls.js';

/** What any outsider may ask the node, without a socket in between: a request over HTTP takes longer than most answers. */
export const nodeClient = (chain: ChainControls): PublicClient =>
  createPublicClient({
    cacheTime: 0,
    pollingInterval: 20,
    transport: custom(
      { request: ({ method, params = [] }: { method: string; params?: readonly unknown[] }) => chain.request(method, params) },
      { retryCount: 0 },
    ),
  });
