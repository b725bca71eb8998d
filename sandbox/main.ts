import { createLogger } from '../core/adapters/telemetry/log.js';
import { systemClock } from '../core/adapters/system/clock.js';
import { forgetSecrets } from '../core/config/source.js';
import { readLauncher, readOrExit, runProgram } from '../app/lifecycle.js';
import { readSettings } from '../app/read-settings.js';
import { layGround } from './ground.js';
import { readSandboxSettings } from './settings.js';

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
    const common = { settings, lifecycle, clock, log };
    const ground = await layGround(common);
    const { runSandbox } = await import('./run.js');
    await runSandbox(common, ground);
  },
});
