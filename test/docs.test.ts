import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { ALERT_KINDS } from '../core/ports/stores/alerts.js';
import { JOURNEYS, type Step } from './harness/journeys.js';

const root = path.resolve(import.meta.dirname, '..');
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');
const pages = ['README.md', 'CONTRIBUTING.md', ...readdirSync(path.join(root, 'docs')).map((name) => `docs/${name}`)].filter((name) =>
  name.endsWith('.md'),
);

const MAX_README_BYTES = 12_000;
const MAX_CELL_CHARACTERS = 200;
const MAX_GLOSSARY_WORDS = 20;

/** Without the blocks of code, in which neither links nor tables are meant. */
const proseOf = (text: string): string => text.replace(/^( *)```[\s\S]*?^\1```$/gm, '');

const cellsOf = (line: string): string[] =>
  line
    .replaceAll('\\|', '¦')
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
const tableLinesOf = (text: string): string[] =>
  proseOf(text)
    .split('\n')
    .filter((line) => line.startsWith('|'));

/** Anchors as GitHub makes them from headings. */
const anchorsOf = (text: string): Set<string> =>
  new Set(
    [...proseOf(text).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );

function brokenLinks(page: string): string[] {
  const targets = [...proseOf(read(page)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  return targets.filter((target) => {
    if (/^[a-z]+:/.test(target)) return false;
    const [place = '', anchor] = target.split('#');
    const file = place === '' ? page : path.posix.join(path.posix.dirname(page), place);
    if (!existsSync(path.join(root, file))) return true;
    return anchor !== undefined && !anchorsOf(read(file)).has(anchor);
  });
}

const importsOf = (file: string): string[] =>
  [...read(file).matchAll(/(?:^import\s+|\bfrom\s+|\bimport\(\s*)['"](\.[^'"]+)['"]/gm)].map(([, target = '']) =>
    path.posix.join(path.posix.dirname(file), target).replace(/\.js$/, '.ts'),
  );

function reachableFrom(file: string): Set<string> {
  const found = new Set<string>();
  const open = [file];
  for (let next = open.pop(); next !== undefined; next = open.pop())
    if (!found.has(next) && existsSync(path.join(root, next))) {
      found.add(next);
      open.push(...importsOf(next));
    }
  return found;
}

const architecture = read('docs/architecture.md');
const sectionOf = (heading: string): string => architecture.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? '';

function complaint(step: Step, before: readonly Step[]): string | null {
  const last = before.at(-1);
  if (last === undefined) return null;
  const { file, from, composedIn } = step;
  if (from !== undefined) {
    if (!before.some((each) => each.file === from)) return `${from} is named by ${file}, but is not before it`;
    return importsOf(from).includes(file) ? null : `${from} does not import ${file}`;
  }
  if (composedIn !== undefined) {
    const reached = reachableFrom(composedIn);
    return reached.has(file) && reached.has(last.file) ? null : `${composedIn} does not compose ${last.file} and ${file}`;
  }
  const implementsPort = last.file.startsWith('core/ports/') && importsOf(file).includes(last.file);
  return importsOf(last.file).includes(file) || implementsPort ? null : `${last.file} does not import ${file}`;
}

describe('the README', () => {
  it('is short', () => expect(statSync(path.join(root, 'README.md')).size).toBeLessThan(MAX_README_BYTES));

  it('links every page of the documentation', () => {
    const text = read('README.md');
    expect(pages.filter((page) => page !== 'README.md' && !text.includes(`](${page})`))).toEqual([]);
  });

  it('names only npm scripts that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const named = pages.flatMap((page) =>
      [...read(page).matchAll(/npm run ([a-z]+(?::[a-z]+)?)(?![a-z:*])/g)].map(([, name = '']) => name),
    );
    expect(named.length).toBeGreaterThan(20);
    expect([...new Set(named)].filter((name) => !(name in scripts))).toEqual([]);
  });
});

describe.each(pages)('%s', (page) => {
  it('has links that lead somewhere', () => expect(brokenLinks(page)).toEqual([]));

  it('has table cells that hold a phrase', () => {
    const cells = tableLinesOf(read(page)).flatMap(cellsOf);
    expect(cells.filter((cell) => cell.length > MAX_CELL_CHARACTERS)).toEqual([]);
  });

  it('names only files that exist', () => {
    const named = [
      ...read(page).matchAll(/`((?:app|http|core|native-api|facade|relayer|sandbox|test|examples|scripts|docker|docs)\/[\w./-]+\.\w+)`/g),
    ].map(([, file = '']) => file);
    expect(named.filter((file) => !existsSync(path.join(root, file)) && !MADE_BY_THE_OPERATOR.has(file))).toEqual([]);
  });
});

const MADE_BY_THE_OPERATOR: ReadonlySet<string> = new Set(['docker/gateway.env', 'docker/.env']);

describe('the architecture page', () => {
  it('has a glossary of at most twenty words', () => {
    const rows = tableLinesOf(sectionOf('Glossary')).slice(2);
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.length).toBeLessThanOrEqual(MAX_GLOSSARY_WORDS);
  });

  it.each(Object.entries(JOURNEYS))('draws the journey of a %s, whose files lead to one another', (name, steps) => {
    expect(architecture).toContain(`### A ${name}\n`);
    expect(steps.filter(({ file }) => !existsSync(path.join(root, file)))).toEqual([]);
    expect(steps.map((step, at) => complaint(step, steps.slice(0, at))).filter(Boolean)).toEqual([]);
  });

  it('has a row for each allowed direction', () => {
    const table = read('test/architecture.test.ts');
    const folders = [...table.matchAll(/^\s+(?:\{ )?folder: '([^']+)'/gm)].map(([, folder]) => folder);
    expect(folders.length).toBeGreaterThan(5);
    expect(tableLinesOf(sectionOf('Layers')).flatMap((line) => cellsOf(line).slice(0, 1))).toEqual(
      expect.arrayContaining(folders.map((folder) => `\`${folder}\``)),
    );
  });
});

it('every alert has a row in the table of alerts, and every row an alert', () => {
  const [, section = ''] = read('docs/observability.md').split('\n## Alerts\n');
  const kinds = tableLinesOf(section.split('\n## ')[0] ?? '').flatMap((line) => /^\| `([a-z-]+)`/.exec(line)?.[1] ?? []);
  expect(kinds.sort()).toEqual([...ALERT_KINDS].sort());
});
