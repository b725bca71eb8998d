import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { findBuiltPages, PAGE_NAMES } from '../../http/built-pages.js';

const KIB = 1024;
const found = findBuiltPages(import.meta.dirname);
if (found === null) throw new Error('The pages are not built: run `npm run build` first.');
const { folder, assets } = found;

const packed = (name: string): number => statSync(path.join(folder, `${name}.gz`)).size;
/** The page itself and every file it names. */
const filesOf = (page: string): string[] => {
  const html = `${page}.html`;
  const named = [...readFileSync(path.join(folder, html), 'utf8').matchAll(/(?:src|href)="\/(assets\/[^"]+|favicon\.svg)"/g)];
  return [html, ...named.map(([, name = '']) => name)];
};
const sizeOf = (files: readonly string[]): number => files.reduce((sum, name) => sum + packed(name), 0);

describe('what a browser loads, packed with gzip', () => {
  it.each(PAGE_NAMES)('%s has at most 150 KiB in at most four files', (page) => {
    const files = filesOf(page);
    expect(files.length).toBeLessThanOrEqual(4);
    expect(sizeOf(files)).toBeLessThanOrEqual(150 * KIB);
  });

  it('has at most 400 KiB in all', () => {
    const all = [...new Set([...PAGE_NAMES.flatMap(filesOf), ...[...assets].map((name) => `assets/${name}`)])];
    expect(sizeOf(all)).toBeLessThanOrEqual(400 * KIB);
  });
});
