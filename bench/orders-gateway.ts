import type { Config } from '../core/config/config.js';
import { built } from './built.js';
import { createRecording } from './recording.js';

/**
 * A gateway in a process of its own, so that its processor time contains no node, no oracle, no load generator. It runs what is
 * built, as production does: the loader that runs sources adds work to every function it loads.
 */
const { createLogger } = await built<typeof import('../core/adapters/telemetry/log.js')>('core/adapters/telemetry/log.js');
const { systemClock, systemRandom } = await built<typeof import('../core/adapters/system/clock.js')>('core/adapters/system/clock.js');
const { startGateway, startStore } = await built<typeof import('../app/compose/gateway.js')>('app/compose/gateway.js');
const { createLifecycle } = await built<typeof import('../app/lifecycle.js')>('app/lifecycle.js');
const { listen } = await built<typeof import('../http/listen.js')>('http/listen.js');

const log = createLogger('silent');
const lifecycle = createLifecycle(log);
const record = createRecording();

/** A key travels as text: functions cannot. */
export interface GatewayUnderMeasurement {
  readonly config: Omit<Config, 'chains'> & { readonly chains: readonly Omit<Config['chains'][number], 'relayer'>[] };
  /** Of the relayer on every chain; null = the facade is read-only. */
  readonly relayerKey: `0x${string}` | null;
}

/** Where the time goes: between two such messages everything is recorded and written there. */
export interface ProfileTo {
  readonly profile: string;
}

process.once('message', (message) => void start(message as GatewayUnderMeasurement));
process.once('disconnect', () => void lifecycle.end().finally(() => process.exit()));

async function start({ config: given, relayerKey }: GatewayUnderMeasurement): Promise<void> {
  const relayer = relayerKey === null ? null : { keys: () => [relayerKey], maxFeePerGas: 10n ** 13n };
  const config: Config = { ...given, chains: given.chains.map((chain) => ({ ...chain, relayer })) };
  const http = await listen('127.0.0.1', 0, { randomBytes: systemRandom });
  const surroundings = { lifecycle, clock: systemClock, log };
  const store = await startStore(surroundings, config.database);
  await startGateway({ ...surroundings, config, store, http });
  process.on('message', (message) => void answer(message as 'cpu' | ProfileTo));
  process.send?.(http.url);
}

/** Of all threads: also what compiles, collects garbage and reads sockets for us. */
async function answer(message: 'cpu' | ProfileTo): Promise<void> {
  if (message !== 'cpu') await record(message.profile);
  process.send?.(process.cpuUsage());
}
