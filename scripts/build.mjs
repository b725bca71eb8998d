// Compiles the sources into dist/, as `npm start` and `npm test` do before anything else. Types are checked by `npm run types`, not here.
import './preflight.mjs';
import { spawn } from 'node:child_process';
import { accessSync, constants, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { isWebFresh } from './build-web.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = path.join(root, 'dist');
const project = path.join(root, 'tsconfig.build.json');
const compiler = path.join(root, 'node_modules/typescript7/bin/tsc');

function fail(sentence) {
  console.error(sentence);
  process.exit(1);
}

const sourcesOf = (entry) => {
  if (!existsSync(path.join(root, entry))) return []; // optional entry
  return readdirSync(path.join(root, entry), { recursive: true })
    .map((name) => path.join(entry, name))
    .filter((name) => name.endsWith('.ts'));
};

const changedAt = (file) => (existsSync(path.join(root, file)) ? statSync(path.join(root, file)).mtimeMs : 0);
const outputOf = (source) => path.join('dist', source.replace(/\.ts$/, '.js'));

/** Every source has an output that is younger than it and than the settings of the compiler. */
function isFresh() {
  const settings = Math.max(changedAt('tsconfig.json'), changedAt('tsconfig.build.json'));
  const { include } = JSON.parse(readFileSync(project, 'utf8'));
  return include.flatMap(sourcesOf).every((source) => changedAt(outputOf(source)) > Math.max(settings, changedAt(source)));
}

/** Resolves with the exit code; both builds run beside each other. */
const run = (...programArguments) =>
  new Promise((resolve) => {
    spawn(process.execPath, programArguments, { stdio: 'inherit' }).once('exit', (code) => resolve(code ?? 1));
  });

const isCompiled = isFresh();
const arePagesBuilt = isWebFresh(root);
if (!isCompiled || !arePagesBuilt) {
  if (!existsSync(compiler)) fail('The compiler is not installed: run `npm ci` without --omit=dev first.');
  try {
    mkdirSync(dist, { recursive: true });
    accessSync(dist, constants.W_OK);
  } catch (error) {
    fail(`The folder ${dist} cannot be written to (${error.code ?? error.message}): the sources are compiled into it.`);
  }
  const codes = await Promise.all([
    ...(arePagesBuilt ? [] : [run(path.join(root, 'scripts/build-web.mjs'))]),
    ...(isCompiled ? [] : [run(compiler, '-p', project)]),
  ]);
  process.exitCode = Math.max(...codes);
}
