import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly { readonly title: string; readonly status: string; readonly failureMessages: readonly string[] }[];
  }[];
}

/** Programs that a run must judge as their titles say. */
const FILES = {
  'outcomes.mjs': `
    it('passes', () => expect(1).toBe(1));
    it('fails: a wrong value', () => expect(1).toBe(2));
    it('fails: an error that no code catches', async () => {
      setImmediate(() => { throw new Error('thrown later'); });
      await new Promise((resolve) => setTimeout(resolve, 20));
    });
    it('fails: a rejection without a handler', async () => {
      Promise.reject(new Error('nothing waits for it'));
      await new Promise((resolve) => setTimeout(resolve, 20));
    });
    it('passes: a rejection that is handled later', async () => {
      const rejected = Promise.reject(new Error('handled'));
      await new Promise((resolve) => setTimeout(resolve, 20));
      await rejected.catch(() => {});
    });
    it('fails: fewer assertions than it announced', () => expect.assertions(1));
    it.skip('pending', () => {});
    describe('below a hook that fails', () => {
      beforeAll(() => { throw new Error('the hook fails'); });
      it('fails: its hook', () => {});
    });
    it('fails: it takes too long', () => new Promise(() => {}), 10);`,
  'after-all.mjs': `
    afterAll(() => { throw new Error('the last hook fails'); });
    it('passes', () => {});`,
  'no-module.mjs': `
    import './does-not-exist.mjs';
    it('is never reached', () => {});`,
  'clean.mjs': `it('passes, whatever the files before it did', () => expect([1]).toEqual([1]));`,
};

let folder: string;
let report: Report;

beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'run-file-'));
  await Promise.all(Object.entries(FILES).map(([name, text]) => writeFile(path.join(folder, name), text)));
  const config = {
    rootDir: folder,
    testRunner: fileURLToPath(new URL('run-file.mjs', import.meta.url)),
    transform: {},
    moduleFileExtensions: ['mjs', 'js'],
    testMatch: ['**/*.mjs'],
  };
  await writeFile(path.join(folder, 'config.json'), JSON.stringify(config));
  const jest = createRequire(import.meta.url).resolve('jest/bin/jest');
  const args = [jest, '--config', path.join(folder, 'config.json'), '--json', '--maxWorkers=1'];
  const failed = await promisify(execFile)(process.execPath, args).catch((error: unknown) => error as { stdout: string });
  report = JSON.parse(failed.stdout) as Report;
});
afterAll(() => rm(folder, { recursive: true }));

const file = (name: string) => {
  const found = report.testResults.find((result) => path.basename(result.name) === name);
  if (!found) throw new Error(`the report has no ${name}`);
  return found;
};

it('each test ends as its title says, with its cause', () => {
  const results = file('outcomes.mjs').assertionResults;
  expect(results.map(({ title, status }) => ({ title, asExpected: title.startsWith(status.replace(/(?:ed)$/, '')) }))).toEqual(
    results.map(({ title }) => ({ title, asExpected: true })),
  );
  const causes = results.filter(({ status }) => status === 'failed').map(({ failureMessages }) => failureMessages.join('\n'));
  const EXPECTED = [
    /Expected:.*2/,
    /thrown later/,
    /nothing waits for it/,
    /expect\.assertions/,
    /the hook fails/,
    /Exceeded timeout of 10 ms/,
  ];
  expect(causes).toHaveLength(EXPECTED.length);
  for (const [at, cause] of EXPECTED.entries()) expect(causes[at]).toMatch(cause);
});

it.each([
  ['after-all.mjs', /the last hook fails/],
  ['no-module.mjs', /does-not-exist/],
])('%s fails as a file', (name, cause) => {
  expect(file(name)).toMatchObject({ status: 'failed', message: expect.stringMatching(cause) as string });
});

it('a file behind one that failed passes', () => {
  expect(file('clean.mjs').status).toBe('passed');
});
