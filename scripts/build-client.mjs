// Compiles client/src into client/dist. `npm run build` needs the JavaScript only, which examples import as @diamond-gateway/client;
// `npm pack` in client/ (--types) also needs the declarations.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const [source, dist] = ['client/src', 'client/dist'].map((folder) => path.join(root, folder));
const compiler = path.join(root, 'node_modules/typescript7/bin/tsc');

const sources = () => (existsSync(source) ? readdirSync(source) : []).filter((name) => name.endsWith('.ts'));
const changedAt = (file) => (existsSync(file) ? statSync(file).mtimeMs : 0);
const outputOf = (name) => path.join(dist, name.replace(/\.ts$/, '.js'));

/** Every source has an output that is younger. */
export const isClientFresh = () => sources().every((name) => changedAt(outputOf(name)) > changedAt(path.join(source, name)));

export async function buildClient() {
  if (isClientFresh()) return;
  const { build } = await import('esbuild');
  await build({
    entryPoints: sources().map((name) => path.join(source, name)),
    outdir: dist,
    format: 'esm',
    target: 'es2022',
    logLevel: 'warning',
  });
}

/** From nothing, so that no file of an earlier version is packed; with types checked. */
function packClient() {
  rmSync(dist, { recursive: true, force: true });
  const { status } = spawnSync(process.execPath, [compiler, '-p', path.join(root, 'client/tsconfig.json')], { stdio: 'inherit' });
  process.exit(status ?? 1);
}

if (process.argv.includes('--types')) packClient();
