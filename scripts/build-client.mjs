// Compiles client/src into client/dist. `npm run build` needs the JavaScript only, which examples import as @diamond-gateway/client;
// `npm pack` in client/ (--types) also needs the declarations.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = path.join(root, 'client/dist');
const compiler = path.join(root, 'node_modules/typescript7/bin/tsc');

/** The step of scripts/build.mjs; returns the written files. */
export async function buildClient({ build }, project) {
  const folder = path.join(project, 'client/src');
  const { metafile } = await build({
    absWorkingDir: project,
    entryPoints: readdirSync(folder)
      .filter((name) => name.endsWith('.ts'))
      .map((name) => path.join(folder, name)),
    outdir: 'client/dist',
    format: 'esm',
    target: 'es2022',
    metafile: true,
  });
  return Object.keys(metafile.outputs);
}

/** From nothing, so that no file of an earlier version is packed; with types checked. */
function packClient() {
  rmSync(dist, { recursive: true, force: true });
  const { status } = spawnSync(process.execPath, [compiler, '-p', path.join(root, 'client/tsconfig.json')], { stdio: 'inherit' });
  // The compiler indents by four spaces, which are a noticeable part of the package.
  for (const name of readdirSync(dist).filter((each) => /\.(?:js|d\.ts)$/.test(each))) {
    const file = path.join(dist, name);
    writeFileSync(
      file,
      readFileSync(file, 'utf8').replace(/^(?: {4})+/gm, (spaces) => '\t'.repeat(spaces.length / 4)),
    );
  }
  process.exit(status ?? 1);
}

if (process.argv.includes('--types')) packClient();
