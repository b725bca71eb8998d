import { renameSync } from 'node:fs';
import type { BlockHead, Cancel } from '../core/types.js';
import type { Lifecycle } from '../app/lifecycle.js';
import type { ChainNode } from './chain/chain-node.js';
import type { ChainControls } from './controls.js';
import { createFaultProxy } from './fault-proxy.js';
import { isSeeded, seedChain, type VenueChainOptions } from './seed-chain.js';
import { createLocalClient, createSender } from './sender.js';
import { createKeeper } from './oracle/keeper.js';
import { createOracle } from './oracle/oracle.js';
import { createOrderBook, type OrderBook } from './oracle/order-book.js';
import { StartError } from '../core/errors.js';
import { createExternalNode } from './chain/external-node.js';
import { createChainNode, type RunningChainNode } from './chain/node.js';
import type { Logger } from '../core/ports/log.js';

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
      operator,
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

const PROGRESS_BLOCKS = 20_000;

/** `idleMs`: time between two blocks while no transaction is pending. */
export type NodeOptions = VenueChainOptions & { readonly idleMs: () => number };

export async function openNode(options: NodeOptions): Promise<ChainNode> {
  return options.externalUrl === null ? openEngine(options) : openExternal(options, options.externalUrl);
}

async function openExternal({ definition, clock, log, progress }: VenueChainOptions, url: string): Promise<ChainNode> {
  progress.step(`connecting to the external node for ${definition.name}`);
  const node = await createExternalNode({ url, clock, log }).catch((error: unknown) => {
    throw new StartError(`SANDBOX_RPC_URL does not answer as a node: ${new URL(url).host}.`, { cause: error });
  });
  if (node.chainId !== definition.chainId)
    throw new StartError(
      `SANDBOX_RPC_URL serves chain id ${node.chainId}, but ${definition.slug} is ${definition.chainId}; start it with that chain id.`,
    );
  return node;
}

/** A stored chain that was killed before its set-up completed is set aside and replaced by a new one. */
async function openEngine(options: NodeOptions): Promise<ChainNode> {
  const { dataDir, definition, progress, clock } = options;
  const node = await startEngine(options);
  if (node.restored.discarded)
    progress.step(
      `the stored chain of ${definition.name} cannot be used: ${node.restored.discarded.reason}; starting afresh (it was moved to ${node.restored.discarded.movedTo})`,
    );
  if (dataDir === null || node.restored.blocks === 0 || (await isSeeded(node))) return node;
  await node.close();
  renameSync(dataDir, `${dataDir}.unfinished-${clock.now()}`);
  progress.step(`the stored chain of ${definition.name} was never finished; starting afresh`);
  return startEngine(options);
}

function startEngine({ definition, clock, log, blockMs, idleMs, dataDir, progress }: NodeOptions): Promise<RunningChainNode> {
  const onProgress = (made: number, total: number): void => {
    if (made % PROGRESS_BLOCKS === 0 && made > 0) progress.step(`replaying ${definition.name}: block ${made} of ${total}`);
  };
  progress.step(`starting the chain ${definition.name}`);
  return createChainNode({
    chainId: definition.chainId,
    balances: new Map(),
    clock,
    log,
    blockMs,
    idleMs,
    paused: true,
    onProgress,
    ...(dataDir === null ? {} : { dataDir }),
  });
}

interface FollowOptions {
  readonly book: OrderBook;
  readonly log: Logger;
  readonly onBlock: (listener: (head: BlockHead) => void) => Cancel;
  readonly head: () => Promise<BlockHead>;
  /** The book is up to date with this block, the newest. */
  readonly onFresh: (head: BlockHead) => void;
  readonly onReorg: () => void;
}

/** Keeps the book up to date, one step at a time: blocks that arrive during a step are handled together in the next one. */
async function followChain({ book, log, onBlock, head, onFresh, onReorg }: FollowOptions): Promise<Cancel> {
  let seen = await head();
  let reorganised = false;
  let newest = seen;
  let running = false;

  async function catchUp(): Promise<void> {
    running = true;
    while (newest.hash !== seen.hash) {
      const target = newest;
      const rebuild = reorganised;
      reorganised = false;
      if (rebuild) onReorg();
      await (rebuild ? book.rebuild() : book.refresh(seen.number + 1n, target.number));
      seen = target;
      onFresh(seen);
    }
    running = false;
  }

  await book.rebuild();
  onFresh(seen);
  return onBlock((block) => {
    if (block.parentHash !== newest.hash) reorganised = true;
    newest = block;
    if (!running)
      catchUp().catch((error: unknown) => {
        running = false;
        reorganised = true;
        log.warn('oracle.follow-failed', { error });
      });
  });
}
