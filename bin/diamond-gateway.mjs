#!/usr/bin/env node
// `npx diamond-gateway <command>` in a clone: compiles what changed, then runs the command in a process of its own.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

// `import.meta.dirname` is missing in old versions of Node, which the build refuses in a sentence.
const root = fileURLToPath(new URL('..', import.meta.url));
const node = process.execPath;

// A production image has no sources; there the compiled files are all there is.
if (existsSync(path.join(root, 'tsconfig.build.json'))) {
  const { status } = spawnSync(node, [path.join(root, 'scripts/build.mjs')], { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
const program = path.join(root, 'dist/app/cli.js');
const child = spawn(node, ['--max-semi-space-size=64', '--enable-source-maps', program, ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: { ...process.env, LAUNCHER_PID: String(process.pid) },
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('exit', (code, signal) => (signal === null ? process.exit(code ?? 1) : process.kill(process.pid, signal)));
