import { eventually } from '../harness/time/eventually.js';
import { createPlayground, type Playground, type SandboxProcess } from '../harness/process/sandbox-process.js';

/** `npm start` as a whole: npm, what it starts, and what happens to one when the other is ended. */

const READY = /ready: (http:\/\/[\d.:]+)/;
const CHAIN = /starting the chain/;

let playground: Playground;
let sandbox: SandboxProcess;

beforeEach(() => (playground = createPlayground()));
afterEach(async () => {
  endGroup('SIGKILL');
  await nothingLeft();
  playground.remove();
});

const nothingLeft = () =>
  eventually(
    () => playground.leftovers(),
    (left) => left.length === 0,
  );

function endGroup(signal: NodeJS.Signals): void {
  try {
    process.kill(-(sandbox.child.pid ?? NaN), signal);
  } catch {
    // the whole group is gone already
  }
}

describe('npm start', () => {
  it.each([
    ['SIGTERM', CHAIN],
    ['SIGTERM', READY],
    ['SIGHUP', READY],
  ] as const)(
    'ends everything when npm alone gets %s at %s',
    async (signal, phase) => {
      sandbox = playground.npmStart();
      await sandbox.until(phase);
      sandbox.child.kill(signal);
      await sandbox.exit;
      expect(await nothingLeft()).toEqual([]);
      expect(sandbox.output()).not.toMatch(/^ +at /m);
    },
    60_000,
  );

  it.each([CHAIN, READY])('leaves nothing behind when npm is killed at %s', async (phase) => {
    sandbox = playground.npmStart();
    await sandbox.until(phase);
    sandbox.child.kill('SIGKILL');
    expect(await nothingLeft()).toEqual([]);
  });

  it('ends without a complaint when Ctrl-C reaches npm and the sandbox at once', async () => {
    sandbox = playground.npmStart();
    await sandbox.until(READY);
    endGroup('SIGINT');
    await sandbox.exit;
    expect(await nothingLeft()).toEqual([]);
    expect(sandbox.output().split('Ctrl-C ends everything.')[1]?.trim()).toBe('');
  });
});
