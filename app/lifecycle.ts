import { setMaxListeners } from 'node:events';
import type { Logger } from '../core/ports/log.js';
import type { Clock } from '../core/ports/clock.js';
import { redactText } from '../core/observability/redact.js';
import { StartError } from '../core/errors.js';

/** A second signal within this time is the same Ctrl-C: a terminal sends it to the whole group and npm forwards it once more. */
const SAME_SIGNAL_MS = 500;
/** A shutdown that takes longer is forced; child processes notice the exit by themselves. */
const PATIENCE_MS = 9_000;
const LAUNCHER_POLL_MS = 500;

/** How a part is stopped. */
export interface Ending {
  /** The shutdown does not wait longer for this part: another replica, or the next start, finishes its work. */
  readonly withinMs?: number;
  /** It is stopped concurrently with adjacent parts that have the same flag. */
  readonly isBeside?: boolean;
}

export interface Lifecycle {
  /** Aborts when the process must stop or cannot continue. */
  readonly stopping: AbortSignal;
  /** Runs one step of the start. Its result is stopped with `stop`, in reverse order, also if a signal arrives meanwhile. */
  start<Part>(name: string, make: () => Promise<Part> | Part, stop: (part: Part) => Promise<void> | void, ending?: Ending): Promise<Part>;
  /** A running part failed for good: the program ends with this error as its last line. */
  fail(error: unknown): void;
  /** Adds a listener for unhandled rejections. The program continues after one. */
  onRejection(listener: (reason: unknown) => void): void;
}

/** Thrown by `start` once a stop was requested, so that a partial start unwinds like a failed one. */
class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

export interface Program {
  readonly log: Logger;
  readonly clock: Clock;
  /** The process whose end ends this program; null for none. */
  readonly launcher: number | null;
  /** Resolves when everything is up. */
  readonly run: (lifecycle: Lifecycle) => Promise<void>;
}

/** The last line of output: a sentence for known errors, the stack for others. */
function explain(error: unknown): string {
  if (error instanceof StartError) return error.message;
  return redactText(error instanceof Error ? (error.stack ?? error.message) : String(error));
}

/** The npm scripts pass npm's pid. npm forwards signals, but if it is killed with -9 this process must notice and end as well. */
export function readLauncher(environment: Readonly<Record<string, string | undefined>>): number | null {
  const pid = Number(environment['LAUNCHER_PID']);
  return Number.isSafeInteger(pid) && pid > 0 ? pid : null;
}

/** For settings that are read before the program runs. */
export function readOrExit<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    process.stderr.write(`${explain(error)}\n`);
    process.exit(1);
  }
}

/** Runs a command to completion. */
export async function runToEnd(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    process.stderr.write(`${explain(error)}\n`);
    process.exitCode = 1;
  }
}

/** Runs a main program: signals, shutdown order, exit code and the error line are handled only here. */
export async function runProgram({ log, clock, launcher, run }: Program): Promise<never> {
  const stopping = new AbortController();
  const lifecycle = createLifecycle(log, stopping, clock);
  const asked = new Promise<void>((resolve) => stopping.signal.addEventListener('abort', () => resolve()));
  stopping.signal.addEventListener('abort', () => void clock.after(PATIENCE_MS, () => process.exit(1)));
  listenForSignals(clock, () => stopping.abort());
  if (launcher !== null) clock.every(LAUNCHER_POLL_MS, () => process.ppid !== launcher && stopping.abort());
  // After an uncaught exception any state may be half changed, so the program shuts down. A rejection belongs to one task that failed by
  // itself: stopping for it would let a single request end every replica.
  process.on('uncaughtException', (error) => {
    log.error('process.uncaught-exception', { error });
    lifecycle.fail(error);
  });
  process.on('unhandledRejection', (reason) => lifecycle.rejected(reason));

  const failure = await run(lifecycle)
    .then(() => asked)
    .then(
      () => causeOf(stopping.signal),
      // After a stop was requested, an interrupted step is no failure.
      (error: unknown) => (stopping.signal.aborted ? causeOf(stopping.signal) : error),
    );
  if (failure !== null) process.stderr.write(`${explain(failure)}\n`);
  await lifecycle.end();
  process.exit(failure === null ? 0 : 1);
}

interface StartedPart {
  readonly name: string;
  readonly stop: () => Promise<void> | void;
  readonly ending: Ending;
}

/** A signal aborts without a reason; the platform fills in an AbortError. */
const causeOf = ({ reason }: AbortSignal): unknown => (reason instanceof DOMException ? null : reason);

/** Wraps errors that look like a signal's reason (nothing, an AbortError), so that a failure always ends with a non-zero exit code. */
const asFailure = (error: unknown): unknown =>
  error === undefined || error === null || error instanceof DOMException ? new Error('The program failed.', { cause: error }) : error;

export interface OwnedLifecycle extends Lifecycle {
  /** Asks everything to stop, then ends the parts in reverse order. */
  end(): Promise<void>;
  /** Reports a rejection that nothing handled. Never throws. */
  rejected(reason: unknown): void;
}

/** Without signals or exits, to embed the venue. `runProgram` adds the process and a clock; without a clock every part is awaited. */
export function createLifecycle(log: Logger, stopping = new AbortController(), clock: Clock | null = null): OwnedLifecycle {
  const parts: StartedPart[] = [];
  const rejectionListeners: ((reason: unknown) => void)[] = [];
  // Every waiting request adds a listener: many at a time are no leak.
  setMaxListeners(0, stopping.signal);
  const goOn = (): void => {
    if (stopping.signal.aborted) throw new Interrupted();
  };
  return {
    stopping: stopping.signal,
    async start(name, make, stop, ending = {}) {
      goOn();
      const part = await make();
      parts.push({ name, stop: () => stop(part), ending });
      goOn();
      return part;
    },
    fail: (error) => stopping.abort(asFailure(error)),
    onRejection: (listener) => void rejectionListeners.push(listener),
    rejected(reason) {
      log.error('process.unhandled-rejection', { error: reason });
      for (const listener of rejectionListeners)
        try {
          listener(reason);
        } catch (error) {
          log.error('process.rejection-listener-failed', { error });
        }
    },
    async end() {
      stopping.abort();
      await endAll(parts, log, clock);
    },
  };
}

async function endAll(parts: StartedPart[], log: Logger, clock: Clock | null): Promise<void> {
  for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
    const together = [part];
    while (part.ending.isBeside && parts.at(-1)?.ending.isBeside) together.push(...parts.splice(-1));
    await Promise.all(together.map((each) => endPart(each, log, clock)));
  }
}

async function endPart({ name, stop, ending: { withinMs } }: StartedPart, log: Logger, clock: Clock | null): Promise<void> {
  log.debug('lifecycle.stopping', { part: name });
  const ended = Promise.resolve()
    .then(stop)
    .catch((error: unknown) => log.error('lifecycle.stop-failed', { part: name, error }));
  if (clock === null || withinMs === undefined) return ended;
  const over = new AbortController();
  const isLeft = await Promise.race([ended.then(() => false), clock.sleep(withinMs, over.signal).then(() => true)]);
  over.abort();
  if (isLeft) log.warn('lifecycle.left-behind', { part: name, withinMs });
}

function listenForSignals(clock: Clock, stop: () => void): void {
  let firstAt: number | null = null;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => {
      if (firstAt === null) {
        firstAt = clock.now();
        stop();
      } else if (clock.now() - firstAt > SAME_SIGNAL_MS) process.exit(1);
    });
}
