import { createLogger } from '../core/adapters/telemetry/log.js';
import { systemClock } from '../core/adapters/system/clock.js';
import { forgetSecrets } from '../core/config/secrets.js';
import { readLauncher, readOrExit, runProgram } from '../app/lifecycle.js';
import { readSettings } from '../app/read-settings.js';
import { banner } from './banner.js';
import { readSandboxSettings } from './settings.js';
import { startSandbox } from './start-sandbox.js';

/** `npm start`: the whole venue on loopback. */
const { settings } = readOrExit(() => readSettings(process.env, readSandboxSettings));
forgetSecrets(process.env);
const log = createLogger(settings.LOG_LEVEL);
const clock = systemClock;

await runProgram({
  log,
  clock,
  launcher: readLauncher(process.env),
  async run(lifecycle) {
    const { url, controls, publicToken } = await startSandbox({
      settings,
      lifecycle,
      clock,
      log,
      write: (line) => process.stdout.write(line),
    });
    process.stdout.write(`${banner(url, controls, publicToken)}\n`);
  },
});
