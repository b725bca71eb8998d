import { createLogger } from '../../core/adapters/telemetry/log.js';
import { systemClock } from '../../core/adapters/system/clock.js';
import { runProgram } from '../../app/lifecycle.js';

/** A program with two parts that fails, once it is up, in the way that its argument names. It writes each step to standard output. */
const [, , fault] = process.argv;
const write = (line: string): void => void process.stdout.write(`${line}\n`);

const FAULTS: Readonly<Record<string, () => void>> = {
  rejection: () => {
    void Promise.reject(new Error('nothing handles this'));
    setImmediate(() => {
      write('goes on');
      process.kill(process.pid, 'SIGTERM');
    });
  },
  exception: () => {
    throw new Error('nothing catches this');
  },
  nothing: () => {
    throw undefined as unknown as Error;
  },
  abort: () => {
    AbortSignal.abort().throwIfAborted();
  },
};

await runProgram({
  log: createLogger('info'),
  clock: systemClock,
  launcher: null,
  async run(lifecycle) {
    for (const part of ['first', 'second'])
      await lifecycle.start(
        part,
        () => write(`${part} started`),
        () => write(`${part} stopped`),
      );
    lifecycle.onRejection(() => write('reported'));
    lifecycle.onRejection(() => {
      throw new Error('a listener that fails');
    });
    setImmediate(FAULTS[fault ?? ''] ?? (() => undefined));
  },
});
