import { createPublicClient, fallback, http } from 'viem';
import type { ChainDefinition } from '../../chains.js';
import type { BlockHead, Chain } from '../../ports.js';
import { accountFacts, chainTrades, openOrders, openTrades } from './account.js';
import { delegateOf } from './delegation.js';
import { identify } from './identify.js';
import { createRelayNode } from './relay-node.js';
import { replay } from './replay.js';
import { createViews } from './views.js';
import { readBlocks, readInputs, readLogs } from './logs.js';
import { openingFacts, rehearse } from './rehearse.js';
import { seenTransaction } from './transaction.js';
import { isValidSignature } from './wallet-signature.js';

const RPC_TIMEOUT_MS = 8_000;
const BATCH_SIZE = 100;

export interface ViemChainOptions {
  readonly definition: ChainDefinition;
  readonly rpcUrls: readonly string[];
}

/** The Chain port over JSON-RPC. One file per question; calls of one turn of the event loop travel as one batch. */
export function createViemChain({ definition, rpcUrls }: ViemChainOptions): Chain {
  const client = createPublicClient({
    transport: fallback(
      rpcUrls.map((url) => http(url, { timeout: RPC_TIMEOUT_MS, retryCount: 0, batch: { batchSize: BATCH_SIZE } })),
      { retryCount: 1 },
    ),
    cacheTime: 0,
  });
  return {
    relay: createRelayNode(client),
    views: createViews(client, definition),
    identify: () => identify(client, definition),
    delegateOf: (trader) => delegateOf(client, definition, trader),
    isValidSignature: (wallet, digest, signature) => isValidSignature(client, wallet, digest, signature),
    logs: (from, to) => readLogs(client, definition, from, to),
    replay: (transaction, block) => replay(client, transaction, block),
    inputs: (hashes) => readInputs(client, hashes),
    trades: (refs, block) => chainTrades(client, definition, refs, block),
    openOrders: (trader, block) => openOrders(client, definition, trader, block),
    openTrades: (query) => openTrades(client, definition, query),
    nativeBalance: (address) => client.getBalance({ address }),
    accountFacts: (trader, tokens) => accountFacts(client, definition, trader, tokens),
    blocks: (numbers) => readBlocks(client, numbers),
    rehearse: (rehearsal) => rehearse(client, definition, rehearsal),
    openingFacts: (trader, opening) => openingFacts(client, definition.diamond, trader, opening),
    transaction: (hash) => seenTransaction(client, hash),
    async head(): Promise<BlockHead> {
      const { number, hash, parentHash, timestamp } = await client.getBlock({ blockTag: 'latest' });
      return { number, hash, parentHash, timestamp };
    },
  };
}
