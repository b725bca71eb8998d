/**
 * Changes one expression at a time in code where a mistake costs money, and runs the tests that import the changed file directly:
 * `npm run test:mutants -- [--seed 1] [--count 200] [--only core/domain]`. Mutants that no test notices are printed. The work is done in
 * a copy of the tree, which is removed afterwards.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import ts from 'typescript';
import { startTestServer } from '../test/harness/database/test-server.js';

interface Mutant {
  readonly file: string;
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

const FOLDERS = ['core/domain', 'core/access', 'core/trading', 'facade/signing', 'relayer'];
const SLOWEST_RUN_MS = 180_000;

const SWAPPED: Partial<Record<ts.SyntaxKind, string>> = {
  [ts.SyntaxKind.LessThanToken]: '<=',
  [ts.SyntaxKind.LessThanEqualsToken]: '<',
  [ts.SyntaxKind.GreaterThanToken]: '>=',
  [ts.SyntaxKind.GreaterThanEqualsToken]: '>',
  [ts.SyntaxKind.EqualsEqualsEqualsToken]: '!==',
  [ts.SyntaxKind.ExclamationEqualsEqualsToken]: '===',
  [ts.SyntaxKind.PlusToken]: '-',
  [ts.SyntaxKind.MinusToken]: '+',
  [ts.SyntaxKind.AsteriskToken]: '/',
  [ts.SyntaxKind.SlashToken]: '*',
  [ts.SyntaxKind.AmpersandAmpersandToken]: '||',
  [ts.SyntaxKind.BarBarToken]: '&&',
};

function mutantsOf(file: string): Mutant[] {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.ESNext, true);
  const found: Mutant[] = [];
  const add = (node: ts.Node, text: string): void => void found.push({ file, start: node.getStart(source), end: node.getEnd(), text });
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isInterfaceDeclaration(node)) return;
    if (ts.isBinaryExpression(node)) {
      const swapped = SWAPPED[node.operatorToken.kind];
      if (swapped !== undefined) add(node.operatorToken, swapped);
    }
    if (node.kind === ts.SyntaxKind.TrueKeyword) add(node, 'false');
    if (node.kind === ts.SyntaxKind.FalseKeyword) add(node, 'true');
    if (ts.isNumericLiteral(node)) add(node, `(${node.text} + 1)`);
    if (ts.isBigIntLiteral(node)) add(node, `(${node.text} + 1n)`);
    if (ts.isIfStatement(node) || ts.isConditionalExpression(node)) {
      const condition = ts.isIfStatement(node) ? node.expression : node.condition;
      add(condition, `!(${condition.getText(source)})`);
    }
    if (ts.isExpressionStatement(node)) add(node, ';');
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

const filesBelow = (folder: string, suffix: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(suffix))
    .map((name) => path.posix.join(folder, name));

/** Source file to the test files that import it. */
function directTests(): ReadonlyMap<string, readonly string[]> {
  const tests = new Map<string, string[]>();
  for (const test of filesBelow('test', '.test.ts').filter((name) => !name.endsWith('.slow.test.ts')))
    for (const [, imported = ''] of readFileSync(test, 'utf8').matchAll(/from '(\.[^']+)\.js'/g)) {
      const source = path.posix.join(path.posix.dirname(test), `${imported}.ts`);
      tests.set(source, [...(tests.get(source) ?? []), test]);
    }
  return tests;
}

/** Numerical Recipes' generator: the same seed selects the same mutants everywhere. */
function createChooser(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '200' },
    only: { type: 'string', default: '' },
  },
});

const tests = directTests();
const sources = FOLDERS.flatMap((folder) => filesBelow(folder, '.ts')).filter((file) => file.startsWith(values.only));
const tested = sources.filter((file) => tests.has(file));
const candidates = tested.flatMap(mutantsOf);
const choose = createChooser(Number(values.seed));
const chosen: Mutant[] = [];
while (chosen.length < Number(values.count) && candidates.length > 0) chosen.push(...candidates.splice(choose(candidates.length), 1));

const tree = mkdtempSync(path.join(tmpdir(), 'mutants-'));
const LEFT_OUT = new Set(['node_modules', '.git', 'coverage'].map((name) => path.resolve(name)));
cpSync('.', tree, { recursive: true, filter: (name) => !LEFT_OUT.has(path.resolve(name)) });
symlinkSync(path.resolve('node_modules'), path.join(tree, 'node_modules'));
const stopCluster = await startTestServer(process.env);

/** True if a test fails or does not end. */
function isKilled({ file, start, end, text }: Mutant): boolean {
  const original = readFileSync(file, 'utf8');
  writeFileSync(path.join(tree, file), original.slice(0, start) + text + original.slice(end));
  const jest = ['--import', 'tsx', 'node_modules/jest/bin/jest.js', '--runInBand', '--bail=1', '--forceExit', ...(tests.get(file) ?? [])];
  const { status } = spawnSync(process.execPath, jest, { cwd: tree, stdio: 'ignore', timeout: SLOWEST_RUN_MS, killSignal: 'SIGKILL' });
  writeFileSync(path.join(tree, file), original);
  return status !== 0;
}

const survivors: Mutant[] = [];
for (const [index, mutant] of chosen.entries()) {
  if (!isKilled(mutant)) {
    survivors.push(mutant);
    const text = readFileSync(mutant.file, 'utf8');
    const line = text.slice(0, mutant.start).split('\n').length;
    console.log(`survived ${mutant.file}:${line}  ${text.slice(mutant.start, mutant.end).slice(0, 80)}  ->  ${mutant.text.slice(0, 80)}`);
  }
  if ((index + 1) % 10 === 0) console.log(`${index + 1} of ${chosen.length}, ${survivors.length} survived`);
}
await stopCluster();
rmSync(tree, { recursive: true, force: true });
console.log(
  `${chosen.length - survivors.length} of ${chosen.length} mutants were killed (seed ${values.seed}); ` +
    `${sources.length - tested.length} of ${sources.length} files have no test that imports them directly`,
);
