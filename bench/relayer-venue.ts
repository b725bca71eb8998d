import type { Address } from '../core/types.js';
import type { ChainControls } from '../sandbox/controls.js';
import { built } from './built.js';
import { createRecording } from './recording.js';

const { createLogger } = await built<typeof import('../core/adapters/telemetry/log.js')>('core/adapters/telemetry/log.js');
const { systemClock } = await built<typeof import('../core/adapters/system/clock.js')>('core/adapters/system/clock.js');
const { createLifecycle } = await built<typeof import('../app/lifecycle.js')>('app/lifecycle.js');
const { createProgress } = await built<typeof import('../sandbox/banner.js')>('sandbox/banner.js');
const { openDataFolder } = await built<typeof import('../sandbox/data-folder.js')>('sandbox/data-folder.js');
const { readSandboxSettings } = await built<typeof import('../sandbox/settings.js')>('sandbox/settings.js');
const { startVenue } = await built<typeof import('../sandbox/venue.js')>('sandbox/venue.js');

/** The node, its oracle and the price backend in a process of their own: what they cost is not the gateway's. */
const log = createLogger('silent');
const lifecycle = createLifecycle(log);
const record = createRecording();

export type VenueOrder =
  | { readonly kind: 'start' }
  | { readonly kind: 'traders'; readonly count: number; readonly delegate: Address }
  | { readonly kind: 'fund'; readonly address: Address; readonly eth: string }
  | { readonly kind: 'pause'; readonly paused: boolean }
  /** Microseconds of processor time since the start, of all threads. */
  | { readonly kind: 'cpu' }
  /** Between two of them all is recorded, and written to the file that the second one names. */
  | { readonly kind: 'profile'; readonly file: string };

export interface VenueUrls {
  readonly rpcUrl: string;
  readonly backendUrl: string;
  readonly pricingUrl: string;
}

let started: ChainControls | null = null;
process.on('message', (order) => void obey(order as VenueOrder).then((answer) => process.send?.(answer ?? null)));
process.once('disconnect', () => void lifecycle.end().finally(() => process.exit()));

function chain(): ChainControls {
  if (started === null) throw new Error('the venue has not been started');
  return started;
}

async function obey(order: VenueOrder): Promise<unknown> {
  switch (order.kind) {
    case 'start':
      return start();
    case 'traders':
      return Promise.all(
        Array.from({ length: order.count }, () =>
          chain().faucet.createTrader({ usdc: '100000000', eth: '10', approve: true, delegate: order.delegate }),
        ),
      );
    case 'fund':
      return chain().faucet.fund(order.address, { eth: order.eth });
    case 'pause':
      return chain().pauseMining(order.paused);
    case 'cpu':
      return usedCpu();
    case 'profile':
      return record(order.file);
  }
}

function usedCpu(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** The node itself, as raw transactions reach it: no proxy stands between. */
async function start(): Promise<VenueUrls> {
  const progress = createProgress(
    () => systemClock.now(),
    () => undefined,
  );
  const parts = { settings: readSandboxSettings({}), folder: openDataFolder(undefined), clock: systemClock, log, progress };
  const { controls, chainConfigs } = await startVenue(lifecycle, parts);
  started = controls.chains[0] ?? null;
  const [config] = chainConfigs;
  if (!config) throw new Error('the venue has no chain');
  return { rpcUrl: chain().rpcUrl, backendUrl: config.backendUrl, pricingUrl: config.pricingUrl };
}
