import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..');

/** Who may import whom: a folder and what it sees besides itself. Packages are listed where a room is choosy about them. */
const ALLOWED: readonly { room: string; sees: readonly string[]; packages?: readonly string[] }[] = [
  { room: 'core/domain', sees: ['core/errors.ts'], packages: [] },
  {
    room: 'core/adapters',
    sees: [
      'core/types.ts',
      'core/ports',
      'core/market-feed.ts',
      'core/domain',
      'core/errors.ts',
      'core/chains.ts',
      'core/diamond-functions.ts',
      'core/config.ts',
      'core/database-pool.ts',
      'core/database-variables.ts',
      'core/redact.ts',
      'core/bus.ts',
      'core/start-error.ts',
      'core/access',
      'core/tracking/tracking-store.ts',
      'core/account/account-store.ts',
      'core/markets/candle-store.ts',
      'core/account/account-chain.ts',
      'core/orders/orders-store.ts',
      'core/orders/rehearsal.ts',
      'core/notifications/notice-source.ts',
      'core/notifications/notification-store.ts',
      'core/limits.ts',
      'core/relay',
      'core/facade',
      'core/journal/journal-store.ts',
      'core/metrics.ts',
      'core/histogram.ts',
      'core/mask-secrets.ts',
      'core/request-scope.ts',
      'core/tracing.ts',
      'core/tracing-variables.ts',
      'core/metrics-store.ts',
    ],
  },
  { room: 'core', sees: [], packages: ['zod', 'viem/utils', 'viem'] },
  { room: 'native-api', sees: ['core'], packages: ['express', 'ws', 'zod', 'viem', 'node:'] },
  { room: 'facade', sees: ['core'], packages: ['express', 'ws', 'zod', 'viem', '@msgpack/msgpack', 'node:'] },
  // Before the room around it: the operator's door must not see keys, so it sees nothing of the relayer but its port.
  { room: 'relayer/operator', sees: ['core'], packages: ['express', 'zod', 'prom-client', 'node:'] },
  {
    room: 'relayer',
    sees: [
      'core/types.ts',
      'core/ports',
      'core/domain',
      'core/errors.ts',
      'core/chains.ts',
      'core/demo-key.ts',
      'core/relay',
      'core/tracking/tracking-store.ts',
    ],
    packages: ['viem', 'zod', 'ethers', 'node:'],
  },
  // A command of its own: it looks through the same adapters as the gateway, and at no key.
  { room: 'probe', sees: ['core'], packages: ['viem', 'ws', 'node:'] },
  { room: 'sandbox', sees: ['core', 'native-api', 'facade', 'relayer', 'compose.ts', 'lifecycle.ts', 'read-settings.ts'] },
];
/** Doors and use cases never reach into adapters; mains, the sandbox and tests wire them. */
const NOT_FOR_DOORS = 'core/adapters';

const roomOf = (file: string) => ALLOWED.find(({ room }) => inside(file, room));
const inside = (file: string, place: string): boolean => file === place || file.startsWith(`${place}/`);

const sources = ['core', 'native-api', 'facade', 'relayer', 'probe', 'sandbox'].flatMap((folder) => {
  try {
    return readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => `${folder}/${name}`);
  } catch {
    return []; // a door that is not built yet
  }
});

function importsOf(file: string): string[] {
  const text = readFileSync(path.join(root, file), 'utf8');
  return [...text.matchAll(/(?:^import\s+|\bfrom\s+|\bimport\(\s*)['"]([^'"]+)['"]/gm)].map(([, target]) => target ?? '');
}

const resolveImport = (file: string, target: string): string =>
  path.posix.normalize(path.posix.join(path.posix.dirname(file), target)).replace(/\.js$/, '.ts');

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
  const room = roomOf(file);
  if (!room) return null;
  if (!target.startsWith('.'))
    return !room.packages || room.packages.some((name) => target === name || target.startsWith(name.endsWith(':') ? name : `${name}/`))
      ? null
      : `${file} imports ${target}`;
  const resolved = resolveImport(file, target);
  const allowed = inside(resolved, room.room) || room.sees.some((place) => inside(resolved, place));
  const reachesIn = inside(resolved, NOT_FOR_DOORS) && !inside(file, NOT_FOR_DOORS) && !['sandbox', 'probe'].includes(room.room);
  return allowed && !reachesIn ? null : `${file} imports ${resolved}`;
}

describe('the house', () => {
  it('has rooms to check', () => expect(sources.length).toBeGreaterThan(20));

  it('has no import circle, types included', () => expect(circles()).toEqual([]));

  it.each(ALLOWED.map(({ room }) => room))('lets %s import only what it may see', (room) => {
    const complaints = sources
      .filter((file) => roomOf(file)?.room === room)
      .flatMap((file) => importsOf(file).map((target) => complaint(file, target)));
    expect(complaints.filter(Boolean)).toEqual([]);
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
