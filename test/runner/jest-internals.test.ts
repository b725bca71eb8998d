import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);

it('a worker that is ended stops listening to its parent, which end-of-run.ts waits for', async () => {
  const child = fork(fileURLToPath(new URL('ended-worker.cjs', import.meta.url)), { execArgv: [], stdio: 'ignore' });
  const [INITIALIZE, END] = [0, 2];
  child.send([INITIALIZE, true, require.resolve('./dearest-files.cjs'), []]);
  child.send([END, true]);
  const [[said], exit] = await Promise.all([once(child, 'message'), once(child, 'exit')]);
  expect([said, exit]).toEqual(['let go', [0, null]]);
});
