import { systemClock, systemRandom } from '../core/adapters/system/clock.js';
import type { Config } from '../core/config/config.js';
import { startGateway, type startStore } from './compose/gateway.js';
import { runProgram, type Program } from './lifecycle.js';
import { listen } from '../http/listen.js';

interface RunOptions extends Pick<Program, 'launcher' | 'log'> {
  readonly config: Config;
  /** Opens the database as the gateway does. */
  readonly openStore: typeof startStore;
}

/** Runs one gateway as a process, from listening to shutdown. */
export const runGateway = ({ config, log, launcher, openStore }: RunOptions): Promise<never> =>
  runProgram({
    log,
    clock: systemClock,
    launcher,
    async run(lifecycle) {
      const http = await lifecycle.start(
        'http',
        () => {
          const { connections, trustedProxies } = config.access;
          const onFault = (error: unknown): void => log.error('http.listener-failed', { error });
          return listen(config.host, config.port, { randomBytes: systemRandom, connections, trustedProxies, onFault });
        },
        (made) => made.close(),
      );
      const store = await openStore({ lifecycle, clock: systemClock, log }, config.database);
      await startGateway({ config, store, lifecycle, clock: systemClock, log, http });
      log.info('gateway.listening', { url: http.url, chains: config.chains.map(({ chain }) => chain.slug) });
    },
  });
