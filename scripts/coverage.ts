/**
 * Which statements and branches of the product the tests reach: `npm run test:coverage [-- folder]`. Runs `npm test` with
 * NODE_V8_COVERAGE, unless a folder with such records is named, and maps the records of all processes back to the sources.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

interface Recorded {
  readonly result: readonly { readonly url: string; readonly functions: readonly { readonly ranges: readonly Range[] }[] }[];
  readonly 'source-map-cache'?: Readonly<Record<string, { readonly lineLengths: readonly number[]; readonly data: SourceMapData | null }>>;
}

interface SourceMapData {
  readonly mappings: string;
  readonly sources: readonly string[];
  readonly sourceRoot?: string;
}

/** A statement, or one way that a condition can go. */
interface Part {
  readonly kind: 'statement' | 'branch';
  readonly start: number;
  readonly end: number;
  reached: boolean;
}

const FOLDERS = ['core', 'facade', 'native-api', 'relayer'];
const root = path.resolve(import.meta.dirname, '..');

const sources = new Map(
  FOLDERS.flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
      .map((name) => path.join(root, folder, name)),
  ).map((file) => [file, readParts(file)] as const),
);

function readParts(file: string): { readonly lines: readonly number[]; readonly parts: Part[] } {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.ESNext, true);
  const parts: Part[] = [];
  const add = (kind: Part['kind'], node: ts.Node): void =>
    void parts.push({ kind, start: node.getStart(source), end: node.getEnd(), reached: false });
  const visit = (node: ts.Node): void => {
    if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node) || ts.isImportDeclaration(node) || ts.isExportDeclaration(node))
      return;
    if (ts.isStatement(node) && !ts.isBlock(node) && !ts.isFunctionDeclaration(node)) add('statement', node);
    if (ts.isIfStatement(node)) {
      add('branch', node.thenStatement);
      if (node.elseStatement) add('branch', node.elseStatement);
    }
    if (ts.isConditionalExpression(node)) [node.whenTrue, node.whenFalse].forEach((way) => add('branch', way));
    if (ts.isBinaryExpression(node) && isLogical(node.operatorToken.kind)) add('branch', node.right);
    if (ts.isCaseOrDefaultClause(node) && node.statements[0]) add('branch', node.statements[0]);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return { lines: source.getLineStarts(), parts };
}

function isLogical(kind: ts.SyntaxKind): boolean {
  return [ts.SyntaxKind.AmpersandAmpersandToken, ts.SyntaxKind.BarBarToken, ts.SyntaxKind.QuestionQuestionToken].includes(kind);
}

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** The numbers of one segment of a source map: base 64, five bits a digit, the lowest bit is the sign. */
function decode(segment: string): number[] {
  const numbers: number[] = [];
  let [value, shift] = [0, 0];
  for (const digit of segment) {
    const bits = DIGITS.indexOf(digit);
    value += (bits & 31) << shift;
    shift += 5;
    if (bits & 32) continue;
    numbers.push(value & 1 ? -(value >>> 1) : value >>> 1);
    [value, shift] = [0, 0];
  }
  return numbers;
}

/** A bundler gives what it makes itself an address of another kind. */
const fileOf = (url: URL): string => (url.protocol === 'file:' ? fileURLToPath(url) : '');

/** For each source, pairs of an offset in it and the offset in the program that ran, in the order of the source. */
function pairsOf(url: string, { mappings, sources: names, sourceRoot = '' }: SourceMapData, lengths: readonly number[]) {
  const files = names.map((name) => fileOf(new URL(sourceRoot + name, url)));
  const pairs = new Map<string, [number, number][]>();
  let [lineStart, source, line, column] = [0, 0, 0, 0];
  for (const [index, segments] of mappings.split(';').entries()) {
    let generated = 0;
    for (const segment of segments === '' ? [] : segments.split(',')) {
      const [moved = 0, otherSource, lines = 0, columns = 0] = decode(segment);
      generated += moved;
      if (otherSource === undefined) continue;
      source += otherSource;
      line += lines;
      column += columns;
      const file = files[source] ?? '';
      const start = sources.get(file)?.lines[line];
      if (start === undefined) continue;
      const found = pairs.get(file) ?? [];
      pairs.set(file, found);
      found.push([start + column, lineStart + generated]);
    }
    lineStart += (lengths[index] ?? 0) + 1;
  }
  for (const found of pairs.values()) found.sort(([a], [b]) => a - b);
  return pairs;
}

/** Which offsets ran: of the ranges around an offset the shortest decides, and ranges are nested. */
function countsOf(functions: Recorded['result'][number]['functions']): (offset: number) => number {
  const ranges = functions.flatMap(({ ranges: of }) => of).sort((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset);
  const edges: [number, number][] = [];
  const open: Range[] = [];
  const close = (upTo: number): void => {
    for (let last = open.at(-1); last && last.endOffset <= upTo; last = open.at(-1)) {
      open.pop();
      edges.push([last.endOffset, open.at(-1)?.count ?? 0]);
    }
  };
  for (const range of ranges) {
    close(range.startOffset);
    open.push(range);
    edges.push([range.startOffset, range.count]);
  }
  close(Infinity);
  return (offset) => {
    let [low, high] = [0, edges.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((edges[middle]?.[0] ?? 0) <= offset) low = middle + 1;
      else high = middle;
    }
    return edges[low - 1]?.[1] ?? 0;
  };
}

type Pairs = ReturnType<typeof pairsOf>;
const known = new Map<string, Pairs>();

function take(record: Recorded): void {
  for (const { url, functions } of record.result) {
    const map = record['source-map-cache']?.[url];
    if (!url.startsWith('file:') || url.includes('/node_modules/') || !map?.data) continue;
    const key = `${url} ${map.lineLengths.length} ${map.data.mappings.length}`;
    const pairs = known.get(key) ?? pairsOf(url.split('?')[0] ?? url, map.data, map.lineLengths);
    known.set(key, pairs);
    const countAt = countsOf(functions);
    for (const [file, found] of pairs) markReached(sources.get(file)?.parts ?? [], found, countAt);
  }
}

function markReached(parts: readonly Part[], pairs: readonly [number, number][], countAt: (offset: number) => number): void {
  for (const part of parts) {
    if (part.reached) continue;
    let [low, high] = [0, pairs.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((pairs[middle]?.[0] ?? 0) < part.start) low = middle + 1;
      else high = middle;
    }
    const [at, generated] = pairs[low] ?? [Infinity, 0];
    if (at < part.end && countAt(generated) > 0) part.reached = true;
  }
}

function record(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'coverage-'));
  const { status } = spawnSync('npm', ['test'], { cwd: root, stdio: 'inherit', env: { ...process.env, NODE_V8_COVERAGE: folder } });
  if (status !== 0) process.exitCode = 1;
  return folder;
}

const [given] = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const folder = given ?? record();
for (const name of readdirSync(folder).filter((each) => each.endsWith('.json')))
  take(JSON.parse(readFileSync(path.join(folder, name), 'utf8')) as Recorded);
if (given === undefined) rmSync(folder, { recursive: true, force: true });

const percent = (parts: readonly Part[]): string => {
  const reached = parts.filter((part) => part.reached).length;
  return `${((100 * reached) / Math.max(1, parts.length)).toFixed(2).padStart(6)} % of ${String(parts.length).padStart(5)}`;
};
const all = [...sources].flatMap(([file, { parts }]) => parts.map((part) => ({ ...part, file: path.relative(root, file) })));
for (const top of [...FOLDERS, '']) {
  const of = all.filter(({ file }) => file.startsWith(top));
  const [statements, branches] = (['statement', 'branch'] as const).map((kind) => percent(of.filter((part) => part.kind === kind)));
  console.log(`${(top || 'all').padEnd(12)} statements ${statements}   branches ${branches}`);
}
if (process.argv.includes('--unreached'))
  for (const { file, kind, start } of all.filter((part) => !part.reached)) {
    const line = (sources.get(path.join(root, file))?.lines ?? []).filter((at) => at <= start).length;
    console.log(`${file}:${line} ${kind}`);
  }
