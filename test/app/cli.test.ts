import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');
const { version, bin } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
  version: string;
  bin: Record<string, string>;
};

/** The compiled command line, as the npm scripts and the images start it. */
const run = (...words: string[]) =>
  spawnSync(process.execPath, [path.join(root, 'dist/app/cli.js'), ...words], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] ?? '' },
  });

const COMMANDS = ['sandbox', 'start', 'migrate', 'config', 'probe', 'relayer', 'restore', 'proof'];

describe('diamond-gateway', () => {
  it('prints version, commit and Node', () => {
    const { status, stdout } = run('--version');
    expect(status).toBe(0);
    expect(stdout).toMatch(new RegExp(`^diamond-gateway ${version} \\(commit ([0-9a-f]{40}|unknown), Node ${process.versions.node}\\)\n$`));
  });

  it('lists every command for `help`, and without a command ends with 2', () => {
    const help = run('help');
    expect(help.status).toBe(0);
    for (const command of COMMANDS) expect(help.stdout).toMatch(new RegExp(`^  ${command} `, 'm'));
    expect(run()).toMatchObject({ status: 2, stdout: help.stdout });
  });

  it('explains each command without running it', () => {
    for (const command of COMMANDS) {
      const { status, stdout, stderr } = run(command, '--help');
      expect({ command, status, stderr }).toEqual({ command, status: 0, stderr: '' });
      expect(stdout).toContain(`Usage: diamond-gateway ${command}`);
    }
  });

  it('refuses a command that does not exist', () => {
    for (const word of ['stat', 'constructor', '--chain'])
      expect(run(word)).toMatchObject({
        status: 2,
        stdout: '',
        stderr: expect.stringContaining(`no command ${JSON.stringify(word)}`) as string,
      });
  });

  it('runs a command with the words after it', () => {
    expect(run('config')).toMatchObject({ status: 1, stderr: expect.stringContaining('DATABASE_URL') as string });
    const folder = mkdtempSync(path.join(os.tmpdir(), 'proof-'));
    try {
      const file = path.join(folder, 'proof.json');
      writeFileSync(file, '{}');
      expect(run('proof', file)).toMatchObject({ status: 2, stderr: expect.stringContaining('no whole proof') as string });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('has a launcher for npx that passes words and exit code on', () => {
    const launcher = path.join(root, bin['diamond-gateway'] ?? '');
    expect(spawnSync(process.execPath, [launcher, 'nope'], { encoding: 'utf8' })).toMatchObject({ status: 2 });
    expect(spawnSync(process.execPath, [launcher, '--version'], { encoding: 'utf8' }).stdout).toContain(`diamond-gateway ${version}`);
  });
});
