import { createPublicClient, custom, RpcRequestError, type PublicClient } from 'viem';
import { RpcFailure } from '../../../sandbox/chain/chain-node.js';
import type { ChainControls } from '../../../sandbox/controls.js';

/** What any outsider may ask the node, without a socket in between: a request over HTTP takes longer than most answers. */
export const nodeClient = (chain: ChainControls): PublicClient =>
  createPublicClient({
    cacheTime: 0,
    pollingInterval: 20,
    transport: custom({ request: (body: Body) => ask(chain, body) }, { retryCount: 0 }),
  });

interface Body {
  readonly method: string;
  readonly params?: readonly unknown[];
}

/** Fails as a request over HTTP does. */
async function ask(chain: ChainControls, body: Body): Promise<unknown> {
  try {
    return await chain.request(body.method, body.params ?? []);
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    throw new RpcRequestError({
      body: { ...body },
      error: { code: error.code, message: error.message, data: error.data },
      url: chain.rpcUrl,
    });
  }
}
