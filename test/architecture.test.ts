import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..');

/** The allowed directions: a folder, what it may import besides itself, and its packages where they are restricted. The first match counts. */
const ALLOWED: readonly { folder: string; sees: readonly string[]; packages?: readonly string[] }[] = [
  { folder: 'core/domain', sees: ['core/errors.ts', 'core/types.ts'], packages: [] },
  {
    folder: 'core/ports',
    sees: ['core/types.ts', 'core/errors.ts', 'core/domain', 'core/chains', 'core/access', 'core/config', 'core/observability'],
  },
  { folder: 'core/adapters', sees: ['core'] },
  { folder: 'core', sees: [], packages: ['zod', 'viem/utils', 'viem', 'lru-cache'] },
  { folder: 'http', sees: ['core'], packages: ['express', 'ws', 'node:'] },
  { folder: 'native-api', sees: ['core', 'http'], packages: ['express', 'ws', 'zod', 'viem', 'node:'] },
  { folder: 'facade', sees: ['core', 'http'], packages: ['express', 'ws', 'zod', 'viem', '@msgpack/msgpack', 'lru-cache', 'node:'] },
  // The routes of the operator never see a key, so of the relayer they see only its port.
  { folder: 'relayer/operator', sees: ['core', 'http'], packages: ['express', 'zod', 'viem/utils', 'prom-client', 'node:'] },
  {
    folder: 'relayer',
    sees: ['core/types.ts', 'core/errors.ts', 'core/ports', 'core/domain', 'core/chains', 'core/config', 'core/observability'],
    packages: ['viem', 'zod', 'ethers', 'node:'],
  },
  { folder: 'sandbox', sees: ['core', 'http', 'native-api', 'facade', 'relayer', 'app'] },
  // The probe looks through the same adapters as the gateway, and at no key.
  { folder: 'app/probe', sees: ['core'], packages: ['viem', 'ws', 'node:'] },
  { folder: 'app', sees: ['core', 'http', 'native-api', 'facade', 'relayer', 'sandbox/main.ts'] },
  // Pages run in browsers and know the gateway by its public API alone.
  {
    folder: 'web',
    sees: ['client'],
    packages: ['preact', '@preact/signals', 'lightweight-charts', '@msgpack/msgpack', 'viem', '@diamond-gateway/client'],
  },
  // Published by itself, and runs in browsers: it sees nothing of the gateway and nothing of Node.
  { folder: 'client', sees: [], packages: ['viem/accounts', 'viem/utils'] },
];
/** Only what starts a process wires adapters. */
const ADAPTERS = 'core/adapters';
const MAY_WIRE = ['core/adapters', 'sandbox', 'app/probe', 'app'];

const ruleOf = (file: string) => ALLOWED.find(({ folder }) => inside(file, folder));
const inside = (file: string, place: string): boolean => file === place || file.startsWith(`${place}/`);

const sources = ['app', 'http', 'core', 'native-api', 'facade', 'relayer', 'sandbox', 'web', 'client/src'].flatMap((folder) =>
  readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => `${folder}/${name}`),
);

function importsOf(file: string): string[] {
  const source = readFileSync(path.join(root, file), 'utf8');
  // Pages show programs of clients as text; their imports are not ours.
  const text = file.startsWith('web/') ? source.replace(/`[^`]*`/g, '``') : source;
  return [...text.matchAll(/(?:^import\s+|\bfrom\s+|\bimport\(\s*)['"]([^'"]+)['"]/gm)].map(([, target]) => target ?? '');
}

const resolveImport = (file: string, target: string): string => {
  const source = path.posix.normalize(path.posix.join(path.posix.dirname(file), target)).replace(/\.js$/, '.ts');
  return file.startsWith('web/') && existsSync(path.join(root, `${source}x`)) ? `${source}x` : source;
};

/** Files that lead back to themselves by their imports, types included: the first circle that a walk from each file meets. */
function circles(): string[][] {
  const known = new Set(sources);
  const imports = new Map(sources.map((file) => [file, importsOf(file).map((target) => resolveImport(file, target))]));
  const found: string[][] = [];
  const done = new Set<string>();
  const walk = (file: string, trail: readonly string[]): void => {
    const at = trail.indexOf(file);
    if (at >= 0) return void found.push([...trail.slice(at), file]);
    if (done.has(file) || !known.has(file)) return;
    for (const next of imports.get(file) ?? []) walk(next, [...trail, file]);
    done.add(file);
  };
  for (const file of sources) walk(file, []);
  return found;
}

function complaint(file: string, target: string): string | null {
  const rule = ruleOf(file);
  if (!rule) return null;
  if (!target.startsWith('.'))
    return !rule.packages || rule.packages.some((name) => target === name || target.startsWith(name.endsWith(':') ? name : `${name}/`))
      ? null
      : `${file} imports ${target}`;
  const resolved = resolveImport(file, target);
  const isAllowed = inside(resolved, rule.folder) || rule.sees.some((place) => inside(resolved, place));
  const isWiring = inside(resolved, ADAPTERS) && !MAY_WIRE.includes(rule.folder);
  return isAllowed && !isWiring ? null : `${file} imports ${resolved}`;
}

describe('the source tree', () => {
  it('has files to check', () => expect(sources.length).toBeGreaterThan(300));

  it('has no source file at the root and at most five loose ones in core', () => {
    const loose = (folder: string) => readdirSync(path.join(root, folder)).filter((name) => name.endsWith('.ts'));
    expect(loose('.')).toEqual([]);
    expect(loose('core').length).toBeLessThanOrEqual(5);
  });

  it('has a table of at most twenty directions', () => expect(ALLOWED.length).toBeLessThanOrEqual(20));

  it('has no import circle, types included', () => expect(circles()).toEqual([]));

  it.each(ALLOWED.map(({ folder }) => folder))('lets %s import only what it may see', (folder) => {
    const complaints = sources
      .filter((file) => ruleOf(file)?.folder === folder)
      .flatMap((file) => importsOf(file).map((target) => complaint(file, target)));
    expect(complaints.filter(Boolean)).toEqual([]);
  });
});

describe('time and randomness', () => {
  const SOURCES = new RegExp(
    [
      /\b(?:setTimeout|setInterval|performance\.now|Date\.now|new Date\(\)|AbortSignal\.timeout|timers\/promises|hrtime)\b/,
      /\b(?:Math\.random|randomUUID|randomInt|randomFill|getRandomValues|(?<!\.)randomBytes\(\d)/,
      // Of the database server.
      /\b(?:clock_timestamp|statement_timestamp|transaction_timestamp|current_timestamp|gen_random_uuid|default now\(\)|interval ')/,
    ]
      .map(({ source }) => source)
      .join('|'),
  );
  /** Where they are not those of the gateway. */
  const EXCEPT = new Map([
    ['core/adapters/system', 'the clock and the generator themselves'],
    ['core/adapters/postgres/embedded', 'processes and files of the machine'],
    ['core/adapters/postgres/connect-database.ts', 'the silence of a socket'],
    ['core/adapters/postgres/migrations', 'defaults of columns that people read; the simulation replaces the clock of its server'],
    ['core/adapters/backend/backend-feed.ts', 'the spread of retries; tests give their own'],
    ['http/listen.ts', 'the ends of connections'],
    ['http/respond.ts', 'the ends of connections'],
    ['relayer/command-client.ts', 'a command of the operator'],
  ]);

  it('come from the clock and the generator of the gateway', () => {
    const found = sources.filter(
      (file) => /^(?:core|facade|native-api|relayer|http)\//.test(file) && SOURCES.test(readFileSync(path.join(root, file), 'utf8')),
    );
    expect(found.filter((file) => ![...EXCEPT.keys()].some((place) => inside(file, place)))).toEqual([]);
    expect([...EXCEPT.keys()].filter((place) => !found.some((file) => inside(file, place)))).toEqual([]);
  });
});

describe('combined abort signals', () => {
  /** Node keeps a little of each at its sources for as long as these live: 20 MB a day where one is made for every block. */
  const ONCE = new Map([['core/adapters/postgres/embedded/server.ts', 'one for each start of the server']]);

  it('are not made again and again', () => {
    const found = sources.filter(
      (file) =>
        /^(?:core|facade|native-api|relayer|http)\//.test(file) && readFileSync(path.join(root, file), 'utf8').includes('AbortSignal.any'),
    );
    expect(found).toEqual([...ONCE.keys()]);
  });
});

describe('the tests, whose files share the modules of a worker', () => {
  const files = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  const textOf = (file: string): string => readFileSync(path.join(import.meta.dirname, file), 'utf8');

  it('have no helper that registers anything when it is imported: that would be for the first file only', () => {
    const helpers = files.filter((file) => !file.endsWith('.test.ts'));
    expect(helpers.length).toBeGreaterThan(20);
    expect(helpers.filter((file) => /^(?:before|after)(?:All|Each)\(|^(?:describe|it|test)[.(]/m.test(textOf(file)))).toEqual([]);
  });

  it('teach the matchers nothing that later files would hear of', () => {
    const words = ['expect', 'extend'].join('.');
    expect(files.filter((file) => textOf(file).includes(words) || /addEqualityTester|addSnapshotSerializer/.test(textOf(file)))).toEqual([
      path.basename(import.meta.filename),
    ]);
  });
});
