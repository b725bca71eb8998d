import { setMaxListeners } from 'node:events';
import type { Logger } from '../core/ports/log.js';
import type { Clock } from '../core/ports/clock.js';
import { redactText } from '../core/observability/redact.js';
import { StartError } from '../core/config/start-error.js';

/** A second signal this soon is the same Ctrl-C: a terminal sends it to the whole group and npm forwards it once more. */
const SAME_SIGNAL_MS = 500;
/** An end that takes longer than this is forced; children notice our death by themselves. */
const PATIENCE_MS = 9_000;
const LAUNCHER_POLL_MS = 500;

/** How a part may end. */
export interface Ending {
  /** A program that ends waits no longer for it: what it was doing is finished by another replica, or at the next start. */
  readonly withinMs?: number;
  /** It ends together with those before and after it that say the same. */
  readonly isBeside?: boolean;
}

export interface Lifecycle {
  /** Aborts when the process is asked to stop or cannot go on. */
  readonly stopping: AbortSignal;
  /** Runs one step of the start. What it made is ended with `stop`, in reverse order, also when a signal came in the middle. */
  start<Part>(name: string, make: () => Promise<Part> | Part, stop: (part: Part) => Promise<void> | void, ending?: Ending): Promise<Part>;
  /** A running part broke for good: the program ends with this as its last line. */
  fail(error: unknown): void;
  /** Adds a listener for promises that were rejected and that nothing handled. The program goes on after one. */
  onRejection(listener: (reason: unknown) => void): void;
}

/** Thrown out of `start` once a stop was asked for, so that a half-made start unwinds like a failed one. */
class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

export interface Program {
  readonly log: Logger;
  readonly clock: Clock;
  /** The process that has to live as long as we do, null for none. */
  readonly launcher: number | null;
  /** Resolves when everything is up. */
  readonly run: (lifecycle: Lifecycle) => Promise<void>;
}

/** The last line a person reads: a sentence where we know what went wrong, the trace where we do not. */
function explain(error: unknown): string {
  if (error instanceof StartError) return error.message;
  return redactText(error instanceof Error ? (error.stack ?? error.message) : String(error));
}

/** Our npm scripts tell us who npm is. It passes signals on, but cannot pass on its own kill -9, and whoever ran it believes us gone then. */
export function readLauncher(environment: Readonly<Record<string, string | undefined>>): number | null {
  const pid = Number(environment['LAUNCHER_PID']);
  return Number.isSafeInteger(pid) && pid > 0 ? pid : null;
}

/** For what has to be read before there is a program to run. */
export function readOrExit<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    process.stderr.write(`${explain(error)}\n`);
    process.exit(1);
  }
}

/** A command that does one thing and ends. */
export async function runToEnd(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    process.stderr.write(`${explain(error)}\n`);
    process.exitCode = 1;
  }
}

/** Runs a main: signals, the order of the end, the exit code and the one clear line on failure live here and nowhere else. */
export async function runProgram({ log, clock, launcher, run }: Program): Promise<never> {
  const stopping = new AbortController();
  const lifecycle = createLifecycle(log, stopping, clock);
  const asked = new Promise<void>((resolve) => stopping.signal.addEventListener('abort', () => resolve()));
  stopping.signal.addEventListener('abort', () => void clock.after(PATIENCE_MS, () => process.exit(1)));
  listenForSignals(clock, () => stopping.abort());
  if (launcher !== null) clock.every(LAUNCHER_POLL_MS, () => process.ppid !== launcher && stopping.abort());
  // After an uncaught exception any state may be half changed, so the program ends in order. A rejection belongs to one task that failed by
  // itself: ending for it would let a single request end every replica.
  process.on('uncaughtException', (error) => {
    log.error('process.uncaught-exception', { error });
    lifecycle.fail(error);
  });
  process.on('unhandledRejection', (reason) => lifecycle.rejected(reason));

  const failure = await run(lifecycle)
    .then(() => asked)
    .then(
      () => causeOf(stopping.signal),
      // Once a stop was asked for, a step that broke off did what it should.
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

/** A signal aborts without a reason of its own, which the platform fills with an AbortError. */
const causeOf = ({ reason }: AbortSignal): unknown => (reason instanceof DOMException ? null : reason);

/** What would be taken for a signal (nothing at all, an AbortError) is wrapped, so that a failure always ends with a non-zero exit code. */
const asFailure = (error: unknown): unknown =>
  error === undefined || error === null || error instanceof DOMException ? new Error('The program failed.', { cause: error }) : error;

export interface OwnedLifecycle extends Lifecycle {
  /** Asks everything to stop, then ends the parts in reverse order. */
  end(): Promise<void>;
  /** Reports a rejection that nothing handled. Never throws. */
  rejected(reason: unknown): void;
}

/** Without signals or exits: for whoever embeds the venue. `runProgram` adds the process around it, and a clock: only then is anything left behind. */
export function createLifecycle(log: Logger, stopping = new AbortController(), clock: Clock | null = null): OwnedLifecycle {
  const parts: StartedPart[] = [];
  const rejectionListeners: ((reason: unknown) => void)[] = [];
  // Every request that waits for something listens to it while it waits: many at a time are no leak.
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
