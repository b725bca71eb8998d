import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..');

const { dependencies, optionalDependencies } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as Record<
  'dependencies' | 'optionalDependencies',
  Record<string, string>
>;

/** Packages that a file loads when it is loaded: types are gone by then, and Node has its own. */
const packagesOf = (file: string): string[] =>
  [...readFileSync(path.join(root, file), 'utf8').matchAll(/^(?:import|export)\s+(?!type\s)(?:[^'";]*?\sfrom\s+)?['"]([^.'"][^'"]*)['"]/gm)]
    .map(([, name = '']) => name)
    .filter((name) => !name.startsWith('node:'))
    .map((name) => name.split('/', name.startsWith('@') ? 2 : 1).join('/'));

const importsOf = (file: string): string[] =>
  [...readFileSync(path.join(root, file), 'utf8').matchAll(/(?:^import\s+|\bfrom\s+|\bimport\(\s*)['"](\.[^'"]+)['"]/gm)].map(
    ([, target]) => path.posix.normalize(path.posix.join(path.posix.dirname(file), target ?? '')).replace(/\.js$/, '.ts'),
  );

/** Everything an entry loads, however many steps away. */
function reachable(entry: string): string[] {
  const seen = new Set([entry]);
  for (const file of seen) for (const target of importsOf(file)) if (existsSync(path.join(root, target))) seen.add(target);
  return [...seen];
}

describe('a production entry', () => {
  it.each([
    ['app/commands/start.ts', 'app/compose/gateway.ts'],
    ['app/commands/migrate.ts', 'core/adapters/postgres/open-database.ts'],
  ])('%s never loads the sandbox', (entry, neighbour) => {
    const loaded = reachable(entry);
    expect(loaded).toContain(neighbour);
    expect(loaded.filter((file) => file.startsWith('sandbox/'))).toEqual([]);
  });

  it.each(['app/commands/start.ts', 'app/commands/migrate.ts', 'app/commands/relayer.ts'])(
    '%s needs no package that a production install leaves out',
    (entry) => {
      const needed = [...new Set(reachable(entry).flatMap(packagesOf))];
      expect(needed.filter((name) => !(name in dependencies))).toEqual([]);
    },
  );

  it('loads what it is known to load, and the sandbox only what its own install has', () => {
    expect(reachable('app/commands/start.ts').flatMap(packagesOf)).toEqual(expect.arrayContaining(['express', 'pg', 'viem']));
    const venue = [...new Set(reachable('sandbox/main.ts').flatMap(packagesOf))];
    expect(venue.filter((name) => !(name in dependencies) && !(name in optionalDependencies))).toEqual([]);
  });
});
