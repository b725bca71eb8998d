import type { BlockHead } from '../core/types.js';
import type { Lifecycle } from '../app/lifecycle.js';
import type { ChainNode } from './chain/chain-node.js';
import type { ChainControls } from './controls.js';
import { createFaultProxy } from './fault-proxy.js';
import { seedChain } from './seed-chain.js';
import { createLocalClient } from './local-client.js';
import { openNode } from './open-node.js';
import { followChain } from './oracle/follow.js';
import { createKeeper } from './oracle/keeper.js';
import { createOracle } from './oracle/oracle.js';
import { createOrderBook } from './oracle/order-book.js';
import { createSender } from './sender.js';
import type { VenueChainOptions } from './venue-chain-options.js';

export interface VenueChain {
  readonly controls: ChainControls;
  readonly node: ChainNode;
  /** The gateway's RPC URL: the proxy in front of the node. */
  readonly gatewayRpcUrl: string;
  /** Called when the price of this pair changed. */
  lookAt(pairIndex: number): void;
}

/** Oracle requests time out by block count, so while one is pending, blocks come at the chain's usual pace. */
const PACE_WITH_REQUESTS_MS = 250;

/** One chain of the venue: node, Diamond, oracle, keeper, and the proxy in front of the node for the gateway. */
export async function startVenueChain(lifecycle: Lifecycle, options: VenueChainOptions): Promise<VenueChain> {
  const { definition, clock } = options;
  const log = options.log.child({ chain: definition.slug });
  let hasRequests = (): boolean => false;
  const idleMs = (): number => (hasRequests() ? Math.min(PACE_WITH_REQUESTS_MS, options.idleBlockMs) : options.idleBlockMs);
  const node = await lifecycle.start(
    `node of ${definition.slug}`,
    () => openNode({ ...options, idleMs }),
    (made) => made.close(),
  );
  const operator = createSender(node, definition.chainId, options.accounts.operator.signer, 'rich');
  const { collaterals, faucet } = await seedChain({ ...options, node, operator });

  const client = createLocalClient(node);
  const book = createOrderBook(client, definition.diamond);
  hasRequests = () => book.requests.size > 0;
  const shared = { diamond: definition.diamond, book, sender: operator, clock, log, priceOf: options.priceOf, isOpen: options.isOpen };
  const oracle = await lifecycle.start(
    'oracle',
    () => createOracle({ ...shared, delayMs: options.oracleMs }),
    (made) => made.stop(),
  );
  let chainTime = 0;
  const keeper = await lifecycle.start(
    'keeper',
    () => createKeeper({ ...shared, client, chainTime: () => chainTime }),
    (made) => made.stop(),
  );
  const onFresh = ({ timestamp }: BlockHead): void => {
    chainTime = Number(timestamp);
    oracle.look();
    keeper.lookAtAll();
  };
  const follow = { book, log, onFresh, onReorg: () => operator.resync(), head: () => node.head(), onBlock: node.onBlock.bind(node) };
  await lifecycle.start(
    'follower of the oracle',
    () => followChain(follow),
    (stop) => stop(),
  );
  const proxy = await lifecycle.start(
    'fault proxy',
    () => createFaultProxy({ target: node.url, answer: node.answer?.bind(node), clock }),
    (made) => made.close(),
  );

  return {
    node,
    gatewayRpcUrl: proxy.url,
    lookAt: (pairIndex) => keeper.lookAt(pairIndex),
    controls: {
      definition,
      rpcUrl: node.url,
      collaterals,
      request: (method, params) => node.request(method, params),
      faucet,
      mine: (blocks) => node.mine(blocks),
      reorg: (depth, drop) => node.reorg({ depth, drop }),
      pauseMining: (paused) => (paused ? node.pauseMining() : node.resumeMining()),
      setRpcFault: (fault) => proxy.set(fault),
      setBaseFee: (gwei) => node.setBaseFee(gwei),
      warp: (seconds) => node.warp(seconds),
      setOraclePolicy(pairIndex, policy) {
        oracle.setPolicy(pairIndex, policy);
        oracle.look();
      },
      resetOracle() {
        oracle.reset();
        oracle.look();
      },
    },
  };
}
