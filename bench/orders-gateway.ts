import { createLogger } from '../core/adapters/log.js';
import { systemClock } from '../core/adapters/system-clock.js';
import type { Config } from '../core/config.js';
import { startGateway, startStore } from '../compose.js';
import { createLifecycle } from '../lifecycle.js';
import { listen } from '../native-api/listen.js';

/** A gateway in a process of its own, so that its processor time is nobody else's: no node, no oracle, no load generator. */
const log = createLogger('silent');
const lifecycle = createLifecycle(log);

/** A key travels as text: functions cannot. */
export interface GatewayUnderMeasurement {
  readonly config: Omit<Config, 'chains'> & { readonly chains: readonly Omit<Config['chains'][number], 'relayer'>[] };
  /** Of the relayer on every chain; null = the facade is read-only. */
  readonly relayerKey: `0x${string}` | null;
}

process.once('message', (message) => void start(message as GatewayUnderMeasurement));
process.once('disconnect', () => void lifecycle.end().finally(() => process.exit()));

async function start({ config: given, relayerKey }: GatewayUnderMeasurement): Promise<void> {
  const relayer = relayerKey === null ? null : { keys: () => [relayerKey], maxFeePerGas: 10n ** 13n };
  const config: Config = { ...given, chains: given.chains.map((chain) => ({ ...chain, relayer })) };
  const http = await listen('127.0.0.1', 0);
  const surroundings = { lifecycle, clock: systemClock, log };
  const store = await startStore(surroundings, config.database);
  await startGateway({ ...surroundings, config, store, http });
  process.on('message', () => process.send?.(process.cpuUsage()));
  process.send?.(http.url);
}
