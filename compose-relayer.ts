import type { ChainDefinition, ChainSlug } from './core/chains.js';
import type { Gateway, Venue } from './core/gateway.js';
import type { Chain, Clock, Logger, Store } from './core/ports.js';
import { followRooms } from './core/relay/follow-rooms.js';
import { LANE_WAITS } from './core/relay/lane-waits.js';
import { reclaimLost } from './core/relay/reclaim-lost.js';
import { runScheduledCancels } from './core/relay/schedule-cancels.js';
import type { Relayer } from './core/relay/relayer.js';
import type { RelayerConfig } from './core/relay/relayer-variables.js';
import { namesTarget } from './facade/trade/names-target.js';
import { reencode } from './facade/trade/reencode.js';
import { createRelayer, type RunningRelayer } from './relayer/create-relayer.js';
import { createWallet } from './relayer/wallet.js';

interface Parts {
  readonly chain: ChainDefinition & { readonly slug: ChainSlug };
  readonly node: Chain;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
}

/** More than any trading call takes, far less than would empty a wallet. */
const MAX_GAS = 8_000_000n;

/** The one place where a key becomes a wallet. */
export function composeRelayer({ keys, maxFeePerGas }: RelayerConfig, { chain, node, store, clock, log }: Parts): RunningRelayer {
  const { slug } = chain;
  return createRelayer({
    definition: chain,
    wallets: keys().map(createWallet),
    node: node.relay,
    delegateOf: (trader) => node.delegateOf(trader),
    store: store.relay,
    clock,
    log,
    settings: {
      maxFeePerGas,
      maxGas: MAX_GAS,
      ...LANE_WAITS,
      async reencode(action, job) {
        if (!(await namesTarget(store, chain, action, job))) return [];
        const units = new Map((await store.facade.assets.all(slug)).map(({ pairIndex, multiplier }) => [pairIndex, BigInt(multiplier)]));
        return reencode(action, job, (asset) => units.get(asset) ?? 1n);
      },
    },
    async onRefused({ orderId, purpose, trader }) {
      if (orderId !== null && trader !== null && purpose === 'action') await store.orders.giveUp(slug, trader, orderId, clock.now());
    },
    async onSigned({ orderId, purpose }, hash) {
      if (orderId !== null && purpose === 'action') await store.orders.recordHash(slug, orderId, hash, clock.now());
    },
  });
}

const isRunning = (relayer: Relayer | null): relayer is RunningRelayer => relayer !== null && 'start' in relayer;

/** Sends until it is stopped; looks for receipts with every block. */
export function runRelayer(gateway: Gateway, venue: Venue): () => Promise<void> {
  const { relayer } = venue;
  if (!isRunning(relayer)) return () => Promise.resolve();
  relayer.start();
  const stopHeads = gateway.bus.on('head', (event) => {
    if (event.venue === venue) relayer.onHead(event.block);
  });
  const stopSchedules = runScheduledCancels(gateway, venue);
  const stopReclaims = reclaimLost(gateway, venue);
  const stopRooms = followRooms(gateway, venue);
  return async () => {
    stopHeads();
    stopSchedules();
    stopReclaims();
    stopRooms();
    await relayer.stop();
  };
}
