import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import SharedRuntime from './shared-runtime.cjs';

/**
 * The files of this folder replace parts of jest that its makers may change without a word. Each of them is held here against the version
 * that is installed, so that an update fails in this file and not as two hundred slower or odder ones.
 */

const require = createRequire(import.meta.url);
const { dependencies, devDependencies } = require('../../package.json') as Record<string, Record<string, string>>;

it.each(['jest', 'jest-runtime', 'jest-mock'])('%s is pinned to one version', (name) => {
  expect({ ...dependencies, ...devDependencies }[name]).toMatch(/^\d+\.\d+\.\d+$/);
});

it.each(['unstable_shouldLoadAsEsm', 'unstable_importModule', 'requireInternalModule'])('the runtime of jest has the method %s', (name) => {
  const original = Object.getPrototypeOf(SharedRuntime.prototype) as Record<string, unknown>;
  expect(typeof original[name]).toBe('function');
});

it('the files of a worker share the modules of Node', async () => {
  const again = (await import('./shared-runtime.cjs')) as { default: unknown };
  expect(again.default).toBe(SharedRuntime);
  expect(require.cache[fileURLToPath(new URL('shared-runtime.cjs', import.meta.url))]).toBeDefined();
});

it('a worker that is ended stops listening to its parent, which end-of-run.ts waits for', async () => {
  const child = fork(fileURLToPath(new URL('ended-worker.cjs', import.meta.url)), { execArgv: [], stdio: 'ignore' });
  const [INITIALIZE, END] = [0, 2];
  child.send([INITIALIZE, true, require.resolve('./dearest-files.cjs'), []]);
  child.send([END, true]);
  const [[said], exit] = await Promise.all([once(child, 'message'), once(child, 'exit')]);
  expect([said, exit]).toEqual(['let go', [0, null]]);
});

it("jest's framework makes a store that follows promises, and none where shared-runtime.cjs loads it", () => {
  const program = `
    const hooks = require('node:async_hooks');
    let made = 0;
    hooks.AsyncLocalStorage = class { constructor() { made += 1; } };
    const framework = require('node:path').join(require.resolve('jest-circus/package.json'), '../build/jestAdapterInit.js');
    const Runtime = require(${JSON.stringify(fileURLToPath(new URL('shared-runtime.cjs', import.meta.url)))});
    made = 0;
    Runtime.prototype.requireInternalModule(framework);
    const shared = made;
    delete require.cache[framework];
    require(framework);
    console.log(JSON.stringify({ shared, alone: made - shared }));`;
  expect(JSON.parse(execFileSync(process.execPath, ['-e', program], { encoding: 'utf8' }))).toEqual({ shared: 0, alone: 1 });
});
