import { readdirSync } from 'node:fs';
import { PHASES, useSandboxProcesses } from '../harness/process/sandbox-processes.js';

/** The sandbox as a person runs it, interrupted and killed at every step of its start. */

const { playground, start, nothingLeft, takenOverAfter } = useSandboxProcesses();

describe('Ctrl-C', () => {
  it.each(PHASES.map((phase, step) => [step, phase] as const))('at step %i (%s) ends everything with code 0', async (_step, phase) => {
    const sandbox = start();
    await sandbox.until(phase);
    sandbox.child.kill('SIGINT');
    expect(await sandbox.exit).toEqual({ code: 0, signal: null });
    await nothingLeft();
    expect(readdirSync(playground().folder)).toEqual([]);
  });
});

describe('kill -9', () => {
  it.each(PHASES.map((phase, step) => [step, phase] as const))(
    'at step %i (%s) leaves no process, and the next start takes the folder over',
    async (_step, phase) => expect(await takenOverAfter(phase)).toBe(200),
  );
});
