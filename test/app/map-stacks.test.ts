import { spawnSync } from 'node:child_process';
import path from 'node:path';

const dist = path.resolve(import.meta.dirname, '../../dist');

/** The stack of an error inside the built sandbox, which gets none of what it needs. */
const stackOf = (...flags: string[]): string => {
  const script = `
    process.argv[2] = '--version';
    await import(${JSON.stringify(path.join(dist, 'app/cli.js'))});
    const { runSandbox } = await import(${JSON.stringify(path.join(dist, 'sandbox/run.js'))});
    await runSandbox({}, null).catch((error) => console.log(error.stack));
    console.log(String(new Error('with\\nlines').stack).split('\\n').slice(0, 2).join('|'));
    process.exit();`;
  return spawnSync(process.execPath, [...flags, '--input-type=module', '-e', script], { encoding: 'utf8' }).stdout;
};

describe('a stack of the built program', () => {
  it.each([[[]], [['--enable-source-maps']]])('names files and lines of the sources, with the flags %p', (flags: string[]) => {
    const stack = stackOf(...flags);
    expect(stack).toMatch(/TypeError: .*/);
    expect(stack).toMatch(/assembleSandbox \(.*\/sandbox\/assemble\.ts:\d+:\d+\)/);
    expect(stack).toMatch(/runSandbox \(.*\/sandbox\/run\.ts:\d+:\d+\)/);
    expect(stack).toContain('Error: with|lines');
  });
});
