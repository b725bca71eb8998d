// The step of scripts/build.mjs that bundles the pages of web/ into dist/web: hashed names, compressed copies, one list of files.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

/** A page is a folder of web/ with a main.tsx and a title; adding one is adding a folder and a row. */
const PAGES = {
  venue: 'Venue',
  connect: 'Connect',
  account: 'Account',
  operator: 'Operator',
};
const HASH_LENGTH = 10;
/** Quality 5: a third of the time of 10, and 7 % larger; a first start waits for it. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT } };

const hashOf = (bytes) => createHash('sha256').update(bytes).digest('hex').slice(0, HASH_LENGTH);

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

/** Returns the written files. They are written into a folder beside it and moved at the end: a gateway that starts meanwhile finds all of them or none. */
export async function buildWeb({ build }, root) {
  const web = path.join(root, 'web');
  rmSync(path.join(root, 'dist/web/manifest.json'), { force: true }); // a gateway that starts meanwhile does not find the old pages
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
  });
  const target = path.join(root, 'dist/web');
  const draft = `${target}.${process.pid}`;
  removeOldDrafts(target);
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
  await takePlace(draft, target);
  return filesBelow(target).map((name) => path.relative(root, name));
}

/** What builds left that were ended before their end; a build that still runs keeps its own. */
function removeOldDrafts(target) {
  const { dir, base } = path.parse(target);
  if (!existsSync(dir)) return;
  for (const name of readdirSync(dir)) {
    const [, pid] = name.startsWith(`${base}.`) ? (/\.(\d+)$/.exec(name) ?? []) : [];
    if (pid !== undefined && !isRunning(Number(pid))) rmSync(path.join(dir, name), { recursive: true, force: true });
  }
}

function isRunning(pid) {
  if (pid === process.pid) return false; // the number of an ended process, given again
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

const TRIES = 10;
const PAUSE_MS = 50;

/** Two builds may end at once: the folder that one has just removed is there again, from the other. */
async function takePlace(draft, target) {
  for (let tries = 1; ; tries += 1) {
    try {
      rmSync(target, { recursive: true, force: true });
      return renameSync(draft, target);
    } catch (error) {
      if (!['ENOTEMPTY', 'EEXIST'].includes(error.code) || tries === TRIES) throw error;
      await new Promise((done) => setTimeout(done, PAUSE_MS));
    }
  }
}

const filesBelow = (folder) =>
  readdirSync(folder, { recursive: true })
    .map((name) => path.join(folder, name))
    .filter((name) => statSync(name).isFile());

async function compressAll(folder) {
  await Promise.all(
    filesBelow(folder).map(async (file) => {
      const bytes = readFileSync(file);
      const [br, gz] = await Promise.all([promisify(brotliCompress)(bytes, BROTLI), promisify(gzip)(bytes, { level: 9 })]);
      writeFileSync(`${file}.br`, br);
      writeFileSync(`${file}.gz`, gz);
    }),
  );
}
