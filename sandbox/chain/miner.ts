import type { Cancel, Clock } from '../../core/ports.js';

/** Ticks on a fixed grid, never two at once; ticks missed while one was late are not made up for. */
export interface Miner {
  start(): void;
  /** Resolves when no tick is under way. */
  stop(): Promise<void>;
}

export function createMiner(clock: Clock, everyMs: number, tick: () => Promise<void>): Miner {
  let current: { cancel: Cancel } | null = null;
  let running: Promise<void> = Promise.resolve();

  function schedule(due: number): void {
    const mine = { cancel: clock.after(Math.max(0, due - clock.now()), () => void (running = run())) };
    current = mine;
    async function run(): Promise<void> {
      await tick();
      const late = Math.max(0, Math.floor((clock.now() - due) / everyMs));
      if (current === mine) schedule(due + (late + 1) * everyMs); // otherwise stopped, or started anew, meanwhile
    }
  }

  return {
    start() {
      if (current === null) schedule(clock.now() + everyMs);
    },
    async stop() {
      current?.cancel();
      current = null;
      await running;
    },
  };
}
