import path from 'node:path';
import { basics, startProcess } from '../harness/process/sandbox-process.js';

const PROGRAM = path.join(import.meta.dirname, 'faulty-program.ts');
const ended = ['second stopped', 'first stopped'];

async function run(fault: string): Promise<{ readonly code: number | null; readonly steps: string[]; readonly output: string }> {
  const program = startProcess(process.execPath, ['--import', 'tsx', PROGRAM, fault], { env: basics() });
  const { code } = await program.exit;
  const output = program.output();
  const steps = output.split('\n').filter((line) => /^(?:first|second|goes|reported)/.test(line));
  return { code, steps: steps.slice(2), output };
}

describe('a program', () => {
  it('logs and reports a rejection that nothing handles, and goes on', async () => {
    const { code, steps, output } = await run('rejection');
    expect(output).toContain('"event":"process.unhandled-rejection"');
    expect(output).toContain('nothing handles this');
    expect(steps).toEqual(['reported', 'goes on', ...ended]);
    expect(code).toBe(0);
  });

  it.each([
    ['an exception', 'exception', 'nothing catches this'],
    ['an exception that is nothing at all', 'nothing', 'The program failed.'],
    ['an AbortError that no signal of its own caused', 'abort', 'The program failed.'],
  ])('that does not catch %s ends in order and with a failure', async (_name, fault, words) => {
    const { code, steps, output } = await run(fault);
    expect(output).toContain('"event":"process.uncaught-exception"');
    expect(output).toContain(words);
    expect(steps).toEqual(ended);
    expect(code).toBe(1);
  });
});
