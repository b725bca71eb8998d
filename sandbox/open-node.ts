import { renameSync } from 'node:fs';
import { StartError } from '../core/errors.js';
import type { ChainNode } from './chain/chain-node.js';
import { createExternalNode } from './chain/external-node.js';
import { createChainNode, type RunningChainNode } from './chain/node.js';
import { isSeeded } from './seed-chain.js';
import type { VenueChainOptions } from './venue-chain-options.js';

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
