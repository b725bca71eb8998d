import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..');

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
    ['main.ts', 'compose.ts'],
    ['migrate.ts', 'core/adapters/store/open-database.ts'],
  ])('%s never loads the sandbox', (entry, neighbour) => {
    const loaded = reachable(entry);
    expect(loaded).toContain(neighbour);
    expect(loaded.filter((file) => file.startsWith('sandbox/'))).toEqual([]);
  });
});
