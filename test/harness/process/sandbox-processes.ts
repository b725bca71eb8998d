import path from 'node:path';
import { eventually } from '../time/eventually.js';
import { createPlayground, type Playground, type SandboxProcess } from './sandbox-process.js';

export const READY = /ready: (http:\/\/[\d.:]+)/;
/** What the sandbox shows while it starts, in this order. */
export const PHASES = [
  /starting the chain/,
  /putting the Diamond/,
  /funding the demo accounts/,
  /starting the price backend/,
  /starting the gateway/,
  READY,
];

export interface SandboxProcesses {
  readonly playground: () => Playground;
  readonly start: (environment?: Record<string, string>) => SandboxProcess;
  /** Until no process is left of any that was started. */
  readonly nothingLeft: () => Promise<unknown>;
  readonly readyUrl: (sandbox: SandboxProcess) => Promise<string>;
  /** Kills one that has come so far by the signal that cannot be caught, and starts the next on its folder: what that one's `/ready` answers. */
  readonly takenOverAfter: (phase: RegExp) => Promise<number>;
}

/** For a whole test file: each test has a playground of its own, and whatever it leaves running is ended. */
export function useSandboxProcesses(): SandboxProcesses {
  let playground: Playground;
  const running: SandboxProcess[] = [];
  const nothingLeft = () =>
    eventually(
      () => playground.leftovers(),
      (left) => left.length === 0,
    );
  beforeEach(() => (playground = createPlayground()));
  afterEach(async () => {
    for (const { child, exit } of running.splice(0)) {
      child.kill('SIGKILL');
      await exit;
    }
    await nothingLeft();
    playground.remove();
  });
  const start = (environment: Record<string, string> = {}): SandboxProcess => {
    const started = playground.start(environment);
    running.push(started);
    return started;
  };
  const readyUrl = async (sandbox: SandboxProcess): Promise<string> => (await sandbox.until(READY))[1] ?? '';
  return {
    playground: () => playground,
    start,
    nothingLeft,
    readyUrl,
    async takenOverAfter(phase) {
      const data = path.join(playground.folder, 'data');
      const killed = start({ SANDBOX_DATA: data });
      await killed.until(phase);
      killed.child.kill('SIGKILL');
      await killed.exit;
      await nothingLeft();
      return (await fetch(`${await readyUrl(start({ SANDBOX_DATA: data }))}/ready`)).status;
    },
  };
}
