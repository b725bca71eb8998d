import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');
let copy: string;

/** A project of one source, built by our script with our settings. */
beforeEach(() => {
  copy = mkdtempSync(path.join(os.tmpdir(), 'build-'));
  for (const name of [
    'scripts/preflight.mjs',
    'scripts/build.mjs',
    'scripts/build-client.mjs',
    'scripts/build-web.mjs',
    'tsconfig.json',
    'tsconfig.build.json',
    'package.json',
  ])
    cpSync(path.join(root, name), path.join(copy, name));
  mkdirSync(path.join(copy, 'app'));
  writeFileSync(path.join(copy, 'app/cli.ts'), 'export const answer: number = 42;\n');
});
afterEach(() => rmSync(copy, { recursive: true, force: true }));

const install = (): void => symlinkSync(path.join(root, 'node_modules'), path.join(copy, 'node_modules'));
const build = (...steps: string[]) => spawnSync(process.execPath, [path.join(copy, 'scripts/build.mjs'), ...steps], { encoding: 'utf8' });
const chunks = (): string[] => readdirSync(path.join(copy, 'dist/chunks')).filter((name) => name.endsWith('.js'));
const output = (): string => path.join(copy, 'dist/app/cli.js');

describe('the build', () => {
  it('makes what is missing, also when it was made before', () => {
    install();
    expect(build()).toMatchObject({ status: 0, stdout: '', stderr: '' });
    rmSync(output());
    expect(build()).toMatchObject({ status: 0, stdout: '', stderr: '' });
    expect(existsSync(output())).toBe(true);
  });

  it('leaves alone what is fresh and makes anew what changed', () => {
    install();
    build();
    const first = statSync(output()).mtimeMs;
    build();
    expect(statSync(output()).mtimeMs).toBe(first);
    writeFileSync(path.join(copy, 'app/cli.ts'), 'export const answer: number = 43;\n');
    build();
    expect(readFileSync(output(), 'utf8')).toContain('43');
  });

  it('fails on a text it cannot read; types are the business of another script', () => {
    install();
    writeFileSync(path.join(copy, 'app/cli.ts'), 'export const answer: = 42;\n');
    const { status, stderr } = build();
    expect(status).not.toBe(0);
    expect(stderr).toContain('app/cli.ts:1:');
    writeFileSync(path.join(copy, 'app/cli.ts'), 'export const answer: string = 42;\n');
    expect(build()).toMatchObject({ status: 0, stdout: '', stderr: '' });
  });

  it('joins what a command loads, and removes what is no longer part of it', () => {
    install();
    mkdirSync(path.join(copy, 'app/commands'));
    writeFileSync(path.join(copy, 'app/part.ts'), 'export const shared: { answer: number } = { answer: 42 };\n');
    const command = (name: string, text: string): void => writeFileSync(path.join(copy, `app/commands/${name}.ts`), text);
    command('one', "import { shared } from '../part.js';\nconsole.log(shared.answer);\n");
    command('two', "import { shared } from '../part.js';\nconsole.log(shared.answer + 1);\n");
    build();
    const run = (name: string): string =>
      spawnSync(process.execPath, [path.join(copy, `dist/app/commands/${name}.js`)], { encoding: 'utf8' }).stdout;
    expect([run('one'), run('two')]).toEqual(['42\n', '43\n']);
    expect(chunks()).toHaveLength(1);
    expect(existsSync(path.join(copy, 'dist/app/part.js'))).toBe(false);
    rmSync(path.join(copy, 'app/commands/two.ts'));
    build();
    expect([run('one'), chunks(), existsSync(path.join(copy, 'dist/app/commands/two.js'))]).toEqual(['42\n', [], false]);
  });

  it('makes each source for itself when asked to', () => {
    install();
    writeFileSync(path.join(copy, 'app/part.ts'), 'export const shared: number = 1;\n');
    expect(build('modules')).toMatchObject({ status: 0, stdout: '', stderr: '' });
    expect(readFileSync(path.join(copy, 'dist/modules/app/part.js'), 'utf8')).toContain('shared = 1');
    expect(existsSync(output())).toBe(false);
  });

  it('without dependencies asks for them in one line', () => {
    expect(build()).toMatchObject({ status: 1, stdout: '', stderr: 'The dependencies are not installed: run `npm ci` first.\n' });
  });

  it('in a production install says what is missing', () => {
    mkdirSync(path.join(copy, 'node_modules/express'), { recursive: true });
    expect(build()).toMatchObject({ status: 1, stderr: 'The compiler is not installed: run `npm ci` without --omit=dev first.\n' });
  });

  it('is made by an install, so that the first start need not wait for it', () => {
    install();
    expect(build('--after-install')).toMatchObject({ status: 0, stdout: '', stderr: '' });
    expect(existsSync(output())).toBe(true);
  });

  it('fails no install: not a production install, nor where it may not write', () => {
    mkdirSync(path.join(copy, 'node_modules/express'), { recursive: true });
    expect(build('--after-install')).toMatchObject({ status: 0, stdout: '', stderr: '' });
    rmSync(path.join(copy, 'node_modules'), { recursive: true });
    install();
    writeFileSync(path.join(copy, 'dist'), 'a file in the way\n');
    const { status, stderr } = build('--after-install');
    expect(status).toBe(0);
    expect(stderr).toContain('cannot be written to');
  });

  it('says where it may not write', () => {
    install();
    writeFileSync(path.join(copy, 'dist'), 'a file in the way\n');
    const { status, stderr } = build();
    expect(status).toBe(1);
    expect(stderr).toBe(`The folder ${path.join(copy, 'dist')} cannot be written to (EEXIST): the sources are compiled into it.\n`);
  });
});
