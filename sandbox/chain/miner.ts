import type { Clock } from '../../core/ports/clock.js';
import type { Cancel } from '../../core/types.js';

/** Mines one block after the other, never two at once, at a pace that depends on the pending transactions. */
export interface Miner {
  start(): void;
  /** Resolves when no block is being mined. */
  stop(): Promise<void>;
  /** Recomputes the pace after a new transaction. */
  wake(): void;
}

export interface MinerOptions {
  readonly clock: Clock;
  /** The current time between two blocks. */
  readonly paceMs: () => number;
  readonly mine: () => Promise<void>;
}

export function createMiner({ clock, paceMs, mine }: MinerOptions): Miner {
  let current: { cancel: Cancel } | null = null;
  let running: Promise<void> = Promise.resolve();
  let isMining = false;
  /** When the last block was due, not when it was done: a slow block does not slow the pace. */
  let last = clock.now();

  function schedule(): void {
    current?.cancel();
    const due = Math.max(clock.now(), last + paceMs()); // blocks that were missed while one was late are not made up for
    const own = { cancel: clock.after(due - clock.now(), () => void (running = run())) };
    current = own;
    async function run(): Promise<void> {
      last = due;
      isMining = true;
      await mine();
      isMining = false;
      if (current === own) schedule(); // otherwise stopped, or started anew, meanwhile
    }
  }

  return {
    start() {
      if (current !== null) return;
      last = clock.now();
      schedule();
    },
    async stop() {
      current?.cancel();
      current = null;
      await running;
    },
    wake() {
      if (current !== null && !isMining) schedule();
    },
  };
}
