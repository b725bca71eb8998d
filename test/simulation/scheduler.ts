import { createHash } from 'node:crypto';
import type { Cancel } from '../../core/types.js';
import type { Random } from '../fuzz/random.js';

/** Who an event belongs to: it waits while its owner is paused and vanishes when its owner is killed. */
export type Owner = 'world' | 'venue' | 'clients' | 'database' | 'replica-1' | 'replica-2' | 'replica-3';
export type OwnerState = 'running' | 'paused' | 'dead';

interface Event {
  readonly at: number;
  readonly label: string;
  readonly run: () => unknown;
}

/** Events of a lane run in their order: the bytes of one direction of a connection, or the timers of one owner. */
export interface Lane {
  readonly name: string;
  readonly owner: Owner;
  /** Behind the last event of the lane, and not before `delayMs` from now. */
  post(delayMs: number, label: string, run: () => unknown): void;
  /** Ordered by its moment alone. */
  schedule(delayMs: number, label: string, run: () => unknown): Cancel;
  /** Forgets what has not run. */
  clear(): void;
}

export interface Scheduler {
  /** The date at which the run starts. */
  readonly epoch: number;
  /** Milliseconds since the start of the run. */
  now(): number;
  lane(owner: Owner, name: string): Lane;
  stateOf(owner: Owner): OwnerState;
  /** How often the owner has been killed. */
  lifeOf(owner: Owner): number;
  setState(owner: Owner, state: OwnerState): void;
  /** Calls `task` when the owner is killed, or the run ends. */
  onDeath(owner: Owner, task: () => void): void;
  /** Runs one event; moves time only when none is due. False when nothing is left to run before `until`. */
  step(until?: number): Promise<boolean>;
  /** Runs events until the promise is settled, and returns its value. */
  drive<Result>(work: Promise<Result>, limitMs?: number): Promise<Result>;
  /** Runs everything that is due up to that moment, and moves time there. */
  runUntil(time: number): Promise<void>;
  steps(): number;
  note(line: string): void;
  /** The last lines, newest last. */
  recent(): readonly string[];
  hash(): string;
}

export interface SchedulerOptions {
  readonly random: Random;
  readonly epoch: number;
  /** Resolves when no code of the process runs or is about to run. */
  readonly settle: () => Promise<void>;
  /** Called with every line of the trace. */
  readonly onLine?: (line: string) => void;
  /** Called between two events. */
  readonly onStep?: () => void;
}

interface OwnedLane extends Lane {
  readonly queue: Event[];
}

const RECENT_LINES = 400;
/** More events at one moment than any healthy run has: a loop that never waits. */
const MOST_AT_ONE_MOMENT = 20_000;

/** Releases one event at a time, chosen by the seed among the lanes whose first event is due. */
export function createScheduler({ random, epoch, settle, onLine, onStep }: SchedulerOptions): Scheduler {
  let now = 0;
  let steps = 0;
  let atThisMoment = 0;
  const waiting = new Set<OwnedLane>();
  const states = new Map<Owner, OwnerState>();
  const lives = new Map<Owner, number>();
  const atDeath = new Map<Owner, (() => void)[]>();
  const digest = createHash('sha256');
  const lines: string[] = [];
  const inRealTime = createWatchdog();

  const note = (line: string): void => {
    digest.update(line).update('\n');
    lines.push(line);
    if (lines.length > 2 * RECENT_LINES) lines.splice(0, RECENT_LINES);
    onLine?.(line);
  };

  const stateOf = (owner: Owner): OwnerState => states.get(owner) ?? 'running';
  const lifeOf = (owner: Owner): number => lives.get(owner) ?? 0;

  function lane(owner: Owner, name: string): OwnedLane {
    const queue: Event[] = [];
    const life = lifeOf(owner);
    const insert = (event: Event): void => {
      // What is left of a killed process can do nothing more, even after its successor has started.
      if (stateOf(owner) === 'dead' || life !== lifeOf(owner)) return;
      let at = queue.length;
      while (at > 0 && (queue[at - 1]?.at ?? 0) > event.at) at -= 1;
      queue.splice(at, 0, event);
      waiting.add(made);
    };
    const made: OwnedLane = {
      name,
      owner,
      queue,
      post: (delayMs, label, run) => insert({ at: Math.max(now + delayMs, queue.at(-1)?.at ?? 0), label, run }),
      schedule(delayMs, label, run) {
        const event = { at: now + Math.max(0, delayMs), label, run };
        insert(event);
        return () => {
          const at = queue.indexOf(event);
          if (at >= 0) queue.splice(at, 1);
          if (queue.length === 0) waiting.delete(made);
        };
      },
      clear() {
        queue.length = 0;
        waiting.delete(made);
      },
    };
    return made;
  }

  /** Lanes whose first event is due; without one, time moves to the next event. */
  function due(until: number): OwnedLane[] {
    let next = Infinity;
    const ready: OwnedLane[] = [];
    for (const each of waiting) {
      if (stateOf(each.owner) !== 'running') continue;
      const at = each.queue[0]?.at ?? 0;
      if (at <= now) ready.push(each);
      else next = Math.min(next, at);
    }
    if (ready.length > 0 || next > until) return ready;
    now = next;
    atThisMoment = 0;
    return due(until);
  }

  async function step(until = Infinity): Promise<boolean> {
    await inRealTime(settle(), 'code of the process');
    onStep?.();
    const ready = due(until);
    if (ready.length === 0) return false;
    const chosen = ready.length > 1 ? random.pick(ready) : ready[0];
    const event = chosen?.queue.shift();
    if (chosen === undefined || event === undefined) return false;
    if (chosen.queue.length === 0) waiting.delete(chosen);
    steps += 1;
    atThisMoment += 1;
    if (atThisMoment > MOST_AT_ONE_MOMENT) throw new Error(`time stands still at ${now} ms: ${lines.slice(-8).join(' | ')}`);
    note(`${now} ${chosen.name} ${event.label}`);
    await inRealTime(Promise.resolve(event.run()), `${chosen.name} ${event.label}`);
    return true;
  }

  return {
    epoch,
    now: () => now,
    lane,
    stateOf,
    lifeOf,
    setState(owner, state) {
      states.set(owner, state);
      if (state !== 'dead') return;
      lives.set(owner, lifeOf(owner) + 1);
      for (const each of [...waiting]) if (each.owner === owner) each.clear();
      for (const task of atDeath.get(owner) ?? []) task();
      atDeath.delete(owner);
    },
    onDeath: (owner, task) => void atDeath.set(owner, [...(atDeath.get(owner) ?? []), task]),
    step,
    async drive(work, limitMs = 120_000) {
      const state = { isOver: false };
      const over = (): void => void (state.isOver = true);
      work.then(over, over);
      const end = now + limitMs;
      await settle();
      while (!state.isOver) {
        if (!(await step(end))) throw new Error(`nothing is left that could end this work (${now} ms)`);
      }
      return work;
    },
    async runUntil(time) {
      while (await step(time));
      await settle();
      now = Math.max(now, time);
    },
    steps: () => steps,
    note,
    recent: () => lines.slice(-RECENT_LINES),
    hash: () => digest.copy().digest('hex'),
  };
}

/** Real time in which an event must end: a simulation that waits for itself is reported, not waited for. */
const PATIENCE_MS = 60_000;
const { setTimeout: startTimer } = globalThis;

/** One timer for all events of a run: starting one for each takes as long as many events. */
function createWatchdog(): <Result>(work: Promise<Result>, what: string) => Promise<Result> {
  let fail = (): void => undefined;
  let watched = '';
  const timer = startTimer(() => fail(), PATIENCE_MS).unref();
  return (work, what) => {
    watched = what;
    timer.refresh();
    return new Promise((resolve, reject) => {
      fail = () => reject(new Error(`${watched} does not end`));
      work.then(resolve, reject);
    });
  };
}
