// Bundles the pages of web/ into dist/web, as scripts/build.mjs does beside the compiler: hashed names, compressed copies, one list of files.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

const ownRoot = fileURLToPath(new URL('..', import.meta.url));

/** A page is a folder of web/ with a main.tsx and a title; adding one is adding a folder and a row. */
const PAGES = {
  venue: 'Venue',
  connect: 'Connect',
  account: 'Account',
  operator: 'Operator',
};
const HASH_LENGTH = 10;
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 10, [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT } };

const changedAt = (file) => (existsSync(file) ? statSync(file).mtimeMs : 0);
const hashOf = (bytes) => createHash('sha256').update(bytes).digest('hex').slice(0, HASH_LENGTH);

/** What the pages are made of: their own sources, and those of the client they use. */
function sourcesOf(root) {
  const inside = (folder) =>
    existsSync(path.join(root, folder))
      ? readdirSync(path.join(root, folder), { recursive: true })
          .filter((name) => /\.(?:tsx?|css|svg)$/.test(name) && !name.includes('node_modules'))
          .map((name) => path.join(root, folder, name))
      : [];
  return [path.join(root, 'scripts/build-web.mjs'), path.join(root, 'web/NOTICE'), ...inside('web'), ...inside('client')];
}

export const isWebFresh = (root = ownRoot) => {
  const built = changedAt(path.join(root, 'dist/web/manifest.json'));
  return !existsSync(path.join(root, 'web')) || sourcesOf(root).every((source) => built > changedAt(source));
};

const htmlOf = (title, script, style) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Diamond Gateway</title>
<link rel="icon" href="/favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/assets/${style}">
<script type="module" src="/assets/${script}"></script>
</head>
<body>
<div id="page"></div>
<noscript>This page needs JavaScript. The API behind it does not: see <a href="/docs">/docs</a> and <a href="/llms.txt">/llms.txt</a>.</noscript>
</body>
</html>
`;

/** Written into a folder beside it and moved at the end: a gateway that starts meanwhile finds the old pages or the new ones. */
export async function buildWeb(root = ownRoot) {
  const { build } = await import('esbuild');
  const web = path.join(root, 'web');
  const pages = Object.keys(PAGES).filter((page) => existsSync(path.join(web, page, 'main.tsx')));
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: Object.fromEntries([
      ...pages.map((page) => [page, path.join(web, page, 'main.tsx')]),
      ['style', path.join(web, 'ui/styles.css')],
    ]),
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    outdir: path.join(root, 'dist/web/assets'),
    legalComments: 'none',
    logLevel: 'silent',
  });
  const target = path.join(root, 'dist/web');
  const draft = `${target}.${process.pid}`;
  mkdirSync(path.join(draft, 'assets'), { recursive: true });
  const assets = {};
  for (const { path: file, contents } of outputFiles) {
    const { name, ext } = path.parse(file);
    assets[`${name}${ext}`] = `${name}-${hashOf(contents)}${ext}`;
    writeFileSync(path.join(draft, 'assets', assets[`${name}${ext}`]), contents);
  }
  for (const page of pages)
    writeFileSync(path.join(draft, `${page}.html`), htmlOf(PAGES[page], assets[`${page}.js`] ?? '', assets['style.css'] ?? ''));
  writeFileSync(path.join(draft, 'favicon.svg'), readFileSync(path.join(web, 'ui/favicon.svg')));
  if (existsSync(path.join(web, 'NOTICE'))) writeFileSync(path.join(draft, 'assets/NOTICE.txt'), readFileSync(path.join(web, 'NOTICE')));
  await compressAll(draft);
  writeFileSync(
    path.join(draft, 'manifest.json'),
    JSON.stringify({ pages, assets: readdirSync(path.join(draft, 'assets')).filter((name) => !/\.(?:br|gz)$/.test(name)) }, null, 2),
  );
  rmSync(target, { recursive: true, force: true });
  renameSync(draft, target);
}

async function compressAll(folder) {
  const files = readdirSync(folder, { recursive: true })
    .map((name) => path.join(folder, name))
    .filter((name) => statSync(name).isFile());
  await Promise.all(
    files.map(async (file) => {
      const bytes = readFileSync(file);
      const [br, gz] = await Promise.all([promisify(brotliCompress)(bytes, BROTLI), promisify(gzip)(bytes, { level: 9 })]);
      writeFileSync(`${file}.br`, br);
      writeFileSync(`${file}.gz`, gz);
    }),
  );
}

/** The reasons of esbuild, one line each, as the compiler prints its own. */
const reasonsOf = (error) =>
  Array.isArray(error.errors) && error.errors.length > 0
    ? error.errors
        .map(({ location, text }) => `${location ? `${location.file}(${location.line},${location.column}): ` : ''}${text}`)
        .join('\n')
    : (error.stack ?? String(error));

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    await buildWeb();
  } catch (error) {
    console.log(reasonsOf(error));
    process.exitCode = 1;
  }
}
