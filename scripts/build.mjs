// Makes what `npm start`, `npm test` and the images run, out of the sources, into dist/. Types are checked by `npm run types`, not here.
// Without a name it makes everything that is not fresh; `node scripts/build.mjs modules` makes the named steps only.
import './preflight.mjs';
import { accessSync, constants, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildClient } from './build-client.mjs';
import { buildWeb } from './build-web.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = path.join(root, 'dist');
const stamps = path.join(dist, '.fresh');
const { include: FOLDERS } = JSON.parse(readFileSync(path.join(root, 'tsconfig.build.json'), 'utf8'));

/**
 * A step reads `inputs` (files and folders) and writes its outputs, whose paths it returns. It runs again when an input has
 * changed, come or gone, or an output is missing. Steps run side by side, so none reads what another one writes.
 */
const STEPS = [
  { name: 'commands', inputs: [...FOLDERS, 'package-lock.json'], make: bundleCommands },
  { name: 'client', inputs: ['client/src'], make: (esbuild) => buildClient(esbuild, root) },
  {
    name: 'pages',
    inputs: ['web', 'client/src', 'package-lock.json', 'scripts/build-web.mjs'],
    make: (esbuild) => buildWeb(esbuild, root),
  },
].filter(({ inputs: [first] }) => existsSync(path.join(root, first)));
/** Made only when named. */
const ON_REQUEST = [
  { name: 'modules', inputs: FOLDERS, make: transpileModules },
  { name: 'simulator', inputs: [...FOLDERS, 'test', 'scripts/simulate.ts'], make: bundleSimulator },
];

const OURS = {
  absWorkingDir: root,
  outbase: '.',
  format: 'esm',
  platform: 'node',
  target: 'node20',
  sourcemap: 'linked',
  sourcesContent: false,
};

/** Packages that stay packages: with native parts or files of their own, or needed seldom. The rest of each line is what knex can do without. */
const PACKAGES = [
  ...['@nomicfoundation/edr', '@bitauth/libauth', 'bufferutil', 'ethers', 'mime-db', 'utf-8-validate'],
  ...['@opentelemetry/exporter-trace-otlp-http', '@opentelemetry/resources', '@opentelemetry/sdk-trace'],
  ...['better-sqlite3', 'mariadb', 'mysql', 'mysql2', 'oracledb', 'pg-native', 'pg-query-stream', 'sqlite3', 'tedious'],
];

/**
 * Every command as one program with the packages it uses: finding, reading and linking two thousand small files takes three times as long
 * as running them. What several commands use lies in dist/chunks, what the sandbox alone uses in dist/sandbox.
 */
async function bundleCommands(esbuild) {
  const { metafile } = await esbuild.build({
    ...OURS,
    entryPoints: ['app/cli.ts', 'sandbox/main.ts', 'sandbox/run.ts', ...filesIn('app/commands')].filter((entry) =>
      existsSync(path.join(root, entry)),
    ),
    outdir: 'dist',
    bundle: true,
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
    external: PACKAGES,
    minifyWhitespace: true,
    minifySyntax: true,
    metafile: true,
    alias: { 'hash-wasm': 'hash-wasm/dist/index.esm.js' }, // which can be had in parts
    plugins: [onlyEnglish, leftInPackages],
    banner: { js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);" }, // for bundled CommonJS
  });
  return Object.keys(metafile.outputs);
}

/** zod says its complaints in fifty languages; all of them would be loaded with it. */
const onlyEnglish = {
  name: 'only English',
  setup(build) {
    build.onResolve({ filter: /^\.\.\/locales\/index\.js$/ }, ({ importer, resolveDir }) =>
      importer.includes('/zod/') ? { path: path.join(resolveDir, '../locales/en.js'), namespace: 'only-english' } : null,
    );
    build.onLoad({ filter: /./, namespace: 'only-english' }, ({ path: file }) => ({
      contents: `export { default as en } from ${JSON.stringify(file)};`,
      resolveDir: path.dirname(file),
    }));
  },
};

/** Parts of packages that nothing here asks for: drivers of other databases, tables of old alphabets. They are found where npm put them. */
const leftInPackages = {
  name: 'left in packages',
  setup(build) {
    const leave = (filter, folder) =>
      build.onResolve({ filter }, ({ path: file, importer }) =>
        path.dirname(importer).endsWith(folder) ? { path: path.posix.join(folder.slice(1), file), external: true } : null,
      );
    leave(/^\.\/(?:better-sqlite3|cockroachdb|mariadb|mssql|mysql2?|oracle|oracledb|pgnative|redshift|sqlite3)$/, '/knex/lib/dialects');
    leave(/^\.\/tables\/.*\.json$/, '/iconv-lite/encodings');
  },
};

/** Each source for itself, for measurements that load parts of the gateway: the loader that runs sources adds work to every function. */
async function transpileModules(esbuild) {
  const entryPoints = FOLDERS.flatMap(filesIn).filter((name) => name.endsWith('.ts'));
  const { metafile } = await esbuild.build({ ...OURS, entryPoints, outdir: 'dist/modules', metafile: true });
  return Object.keys(metafile.outputs);
}

/** One program: the loader that runs sources works on a thread, so its answers would come at any moment of a simulation. */
async function bundleSimulator(esbuild) {
  const { metafile } = await esbuild.build({
    ...OURS,
    entryPoints: ['scripts/simulate.ts'],
    outfile: 'dist/simulate.mjs',
    bundle: true,
    packages: 'external',
    metafile: true,
  });
  return Object.keys(metafile.outputs);
}

function filesIn(entry) {
  const found = statSync(path.join(root, entry), { throwIfNoEntry: false });
  if (found === undefined || found.isFile()) return found ? [entry] : [];
  return readdirSync(path.join(root, entry), { withFileTypes: true }).flatMap((each) => {
    const name = `${entry}/${each.name}`;
    return each.isDirectory() ? (each.name === 'node_modules' ? [] : filesIn(name)) : [name];
  });
}

/** Times and sizes of all inputs, as text; this script and the settings of the compiler are inputs of every step. */
const stateOf = ({ inputs }) =>
  ['scripts/build.mjs', 'tsconfig.json', 'tsconfig.build.json', ...inputs]
    .flatMap(filesIn)
    .map((name) => {
      const { mtimeMs, size } = statSync(path.join(root, name));
      return `${name} ${mtimeMs} ${size}`;
    })
    .join('\n');

const stampOf = ({ name }) => path.join(stamps, `${name}.json`);

function lastMade(step) {
  try {
    return JSON.parse(readFileSync(stampOf(step), 'utf8'));
  } catch {
    return null; // never made, or the last time was cut short
  }
}

async function runStep(step, esbuild, state) {
  const before = lastMade(step)?.outputs ?? [];
  rmSync(stampOf(step), { force: true });
  const outputs = await step.make(esbuild);
  const kept = new Set(outputs);
  for (const stale of before) if (!kept.has(stale)) rmSync(path.join(root, stale), { force: true });
  writeFileSync(stampOf(step), JSON.stringify({ state, outputs }));
}

/** Rejects with a sentence that says what is in the way. */
async function openCompiler() {
  process.env.GOGC ??= 'off'; // its process ends with the build: collecting garbage would take half of its time (memory stays below 400 MB)
  const compiler = await import('esbuild').catch(() => null);
  if (compiler === null) throw new Error('The compiler is not installed: run `npm ci` without --omit=dev first.');
  try {
    mkdirSync(dist, { recursive: true });
    mkdirSync(stamps, { recursive: true });
    accessSync(dist, constants.W_OK);
  } catch (error) {
    throw new Error(`The folder ${dist} cannot be written to (${error.code ?? error.message}): the sources are compiled into it.`);
  }
  return compiler;
}

/** Makes those of the named steps that are not fresh; without a name all but those made on request. Resolves with false if one failed. */
export const build = (names = []) => startBuild(names).all;

/** The same: `commands` resolves as soon as the gateway can be run, `all` with everything. The commands come first, with all processors. */
export function startBuild(names = []) {
  const wanted = names.length === 0 ? STEPS : [...STEPS, ...ON_REQUEST].filter(({ name }) => names.includes(name));
  const due = wanted
    .map((step) => ({ step, state: stateOf(step), last: lastMade(step) }))
    .filter(({ state, last }) => last?.state !== state || !last.outputs.every((output) => existsSync(path.join(root, output))));
  if (due.length === 0) return { commands: Promise.resolve(true), all: Promise.resolve(true) };
  const compiler = openCompiler().catch((error) => {
    console.error(error.message);
    return null;
  });
  const first = due.find(({ step: { name } }) => name === 'commands');
  const make = async ({ step, state }) => {
    const esbuild = await compiler;
    if (esbuild === null) return false;
    try {
      await runStep(step, esbuild, state);
      return true;
    } catch (error) {
      if (error.errors === undefined) console.error(error); // the compiler prints what it cannot read, with file and line
      return false;
    }
  };
  const commands = first === undefined ? Promise.resolve(true) : make(first);
  const all = commands.then(async (isMade) => {
    const results = await Promise.all(due.filter((each) => each !== first).map(make));
    await (await compiler)?.stop();
    return isMade && results.every(Boolean);
  });
  return { commands, all };
}

/** After an install, so that the first `npm start` need not compile. It never fails the install: the next command makes what is missing and says why. */
async function buildAfterInstall() {
  if ((await import('esbuild').catch(() => null)) === null) return; // an install without development dependencies runs what is built
  if (!(await build())) console.error('The sources were not compiled; the next command tries again.');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const names = process.argv.slice(2);
  if (names.includes('--after-install')) await buildAfterInstall();
  else if (!(await build(names))) process.exitCode = 1;
}
