import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { z } from 'zod';
import type { Logger } from '../core/ports/log.js';
import type { Clock } from '../core/ports/clock.js';
import type { ChainSlug } from '../core/chains/chains.js';
import type { ChainConfig } from '../core/config/config.js';
import { NO_REFERRERS } from '../core/trading/order-variables.js';
import type { Lifecycle } from '../app/lifecycle.js';
import { sandboxAccounts } from './accounts.js';
import { createMarketHours } from './backend/market-hours.js';
import { createPriceBackend, createPriceControls } from './backend/price-backend.js';
import { createPriceWalk, MAX_PRICE, type PriceWalk } from './backend/price-walk.js';
import type { Progress } from './banner.js';
import type { BackendAddresses, SandboxControls } from './controls.js';
import type { DataFolder } from './data-folder.js';
import { SANDBOX_MARKETS, type SandboxMarket } from './markets.js';
import type { SandboxSettings } from './settings.js';
import { startVenueChain, type VenueChain } from './venue-chain.js';
import type { Cancel } from '../core/types.js';

/** Wei per gas; the sandbox's base fee can be set far above any real one. */
const SANDBOX_MAX_FEE = 10_000n * 10n ** 9n;

/** The node runs in this process: if it is late, the machine is busy. */
const NODE_PATIENCE_MS = 30_000;

export interface SandboxVenue {
  readonly controls: SandboxControls;
  readonly chains: readonly VenueChain[];
  /** The gateway's configuration: local hosts that behave like the real ones. */
  readonly chainConfigs: readonly ChainConfig[];
}

export interface VenueOptions {
  readonly settings: SandboxSettings;
  readonly folder: DataFolder;
  readonly clock: Clock;
  readonly log: Logger;
  readonly progress: Progress;
  /** Absent: all of the sandbox. */
  readonly markets?: readonly (SandboxMarket | null)[];
  /** Prices come slower while no client of the gateway is connected. */
  readonly isWatched?: () => boolean;
}

/** Everything around the gateway: prices, chains with their oracles, and the backend that publishes both. */
export async function startVenue(
  lifecycle: Lifecycle,
  { settings, folder, clock, log, progress, markets = SANDBOX_MARKETS, isWatched = () => true }: VenueOptions,
): Promise<SandboxVenue> {
  const accounts = sandboxAccounts(settings.SANDBOX_SEED);
  const hours = createMarketHours({ markets, clock });
  const startPrices = folder.prices === null ? new Map<number, bigint>() : readPrices(folder.prices, log);
  const walk = createPriceWalk({
    seed: settings.SANDBOX_SEED,
    markets,
    clock,
    tickMs: settings.SANDBOX_PRICE_MS,
    isOpen: hours.isOpen,
    isWatched,
    startPrices,
  });
  const common = {
    accounts,
    markets,
    clock,
    log,
    progress,
    blockMs: settings.SANDBOX_BLOCK_MS,
    idleBlockMs: settings.SANDBOX_IDLE_BLOCK_MS,
    oracleMs: settings.SANDBOX_ORACLE_MS,
  };
  const externalUrl = settings.SANDBOX_RPC_URL ?? null;

  const chains: VenueChain[] = [];
  for (const definition of settings.SANDBOX_CHAINS) {
    const own = {
      definition,
      externalUrl,
      dataDir: folder.chain(definition.slug),
      priceOf: (pairIndex: number) => walk.price(pairIndex),
      isOpen: (pairIndex: number) => hours.isOpen(pairIndex),
    };
    chains.push(await startVenueChain(lifecycle, { ...common, ...own }));
  }

  progress.step('starting the price backend');
  const sources = chains.map(({ controls, node }) => ({
    chain: controls.definition,
    read: (method: string, params: readonly unknown[]) => node.request(method, params),
    onBlock: (listener: () => void) => node.onBlock(listener),
  }));
  const backend = createPriceBackend({ chains: sources, markets, walk, hours, clock, log });
  await lifecycle.start(
    'price backend',
    () => backend.start(),
    () => backend.stop(),
  );
  await lifecycle.start(
    'price walk',
    () => walk.start(),
    () => walk.stop(),
  );
  const { prices } = folder;
  if (prices !== null)
    await lifecycle.start(
      'kept prices',
      () => keepPrices(prices, walk, clock, log),
      (stop) => stop(),
    );
  walk.onTick(({ pairIndex }) => {
    for (const chain of chains) chain.lookAt(pairIndex);
  });

  const backendOf = (slug: ChainSlug): BackendAddresses => ({
    backendUrl: backend.backendUrl(slug),
    pricingUrl: backend.pricingUrl,
    globalUrl: backend.pricingUrl,
  });
  return {
    chains,
    controls: {
      seed: settings.SANDBOX_SEED,
      backendOf,
      accounts,
      chains: chains.map(({ controls }) => controls),
      prices: createPriceControls(walk, hours, backend),
      relayer: accounts.relayer.address,
    },
    chainConfigs: chains.map(({ controls, gatewayRpcUrl }) => ({
      chain: controls.definition,
      rpcUrls: [gatewayRpcUrl],
      nodePatienceMs: NODE_PATIENCE_MS,
      wsUrls: [gatewayRpcUrl.replace(/^http/, 'ws')],
      ...backendOf(controls.definition.slug),
      startBlock: 0n,
      relayer: { keys: () => [accounts.relayer.privateKey], maxFeePerGas: SANDBOX_MAX_FEE },
      referrers: settings.referrers.get(controls.definition.slug) ?? NO_REFERRERS,
    })),
  };
}

const Stored = z.strictObject({
  version: z.literal(1),
  /** By pair index, 1e10. */
  prices: z.record(
    z.string().regex(/^\d{1,5}$/),
    z
      .string()
      .regex(/^[1-9]\d{0,17}$/)
      .transform(BigInt)
      .refine((price) => price <= MAX_PRICE),
  ),
});

const SAVE_EVERY_MS = 1_000;

/** The market prices when the sandbox ended, however it ended: restored positions must not face a price from another day. */
export function readPrices(file: string, log: Logger): ReadonlyMap<number, bigint> {
  if (!existsSync(file)) return new Map();
  try {
    const { prices } = Stored.parse(JSON.parse(readFileSync(file, 'utf8')));
    return new Map(Object.entries(prices).map(([pairIndex, price]) => [Number(pairIndex), price]));
  } catch (error) {
    log.warn('sandbox.prices-unreadable', { file, error });
    return new Map();
  }
}

/** Saves the prices periodically; the returned function saves them for the last time. */
export function keepPrices(file: string, walk: PriceWalk, clock: Clock, log: Logger): Cancel {
  const save = (): void => {
    try {
      replaceFile(
        file,
        JSON.stringify({ version: 1, prices: Object.fromEntries([...walk.prices()].map(([at, price]) => [at, String(price)])) }),
      );
    } catch (error) {
      log.warn('sandbox.prices-unwritten', { file, error });
    }
  };
  const stop = clock.every(SAVE_EVERY_MS, save);
  return () => {
    stop();
    save();
  };
}

/** Atomic, also across a power failure. */
function replaceFile(file: string, text: string): void {
  const draft = `${file}.draft`;
  const handle = openSync(draft, 'w', 0o600);
  try {
    writeSync(handle, text);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  renameSync(draft, file);
}
