import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

/** One changed expression: the text between two offsets of a file is replaced. */
export interface Mutant {
  readonly file: string;
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

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
const EQUALITIES = new Set([ts.SyntaxKind.EqualsEqualsEqualsToken, ts.SyntaxKind.ExclamationEqualsEqualsToken]);
/** Swapping the operator of such a condition negates it already. */
const isEquality = (node: ts.Node): boolean => ts.isBinaryExpression(node) && EQUALITIES.has(node.operatorToken.kind);

export function mutantsOf(file: string): Mutant[] {
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
      if (!isEquality(condition)) add(condition, `!(${condition.getText(source)})`);
    }
    if (ts.isExpressionStatement(node)) add(node, ';');
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

export const filesBelow = (folder: string, suffix: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(suffix))
    .map((name) => path.posix.join(folder, name))
    .sort();

/** Source file to the test files of `npm test` that import a value from it: one that imports types only does not run it. */
export function directTests(): Map<string, readonly string[]> {
  const tests = new Map<string, readonly string[]>();
  for (const test of filesBelow('test', '.test.ts')) {
    if (test.endsWith('.slow.test.ts') || test.startsWith('test/pages/')) continue;
    for (const [, names = '', imported = ''] of readFileSync(test, 'utf8').matchAll(/^import (?!type )([^;]*?) from '(\.[^']+)\.js';/gm)) {
      if (/^\{(?:\s*type [^,}]+,?)*\s*\}$/.test(names)) continue;
      const source = path.posix.join(path.posix.dirname(test), `${imported}.ts`);
      tests.set(source, [...(tests.get(source) ?? []), test]);
    }
  }
  return tests;
}

/** Numerical Recipes' generator: the same seed selects the same mutants everywhere. */
export function createChooser(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** The text of the file with the mutant in it. */
export const changed = ({ file, start, end, text }: Mutant): string => {
  const original = readFileSync(file, 'utf8');
  return original.slice(0, start) + text + original.slice(end);
};

/**
 * Those that the compiler accepts: tests are run without types, and a mutant that could never be shipped would count as found by a test. Each
 * is a file of its own beside the original, so that all share one program.
 */
export function compiling(mutants: readonly Mutant[]): Mutant[] {
  const { options } = ts.parseJsonConfigFileContent(
    ts.readConfigFile('tsconfig.json', (name) => ts.sys.readFile(name)).config,
    ts.sys,
    '.',
  );
  const nameOf = ({ file }: Mutant, index: number): string => path.resolve(file.replace(/\.ts$/, `.mutant-${index}.ts`));
  const texts = new Map(mutants.map((mutant, index) => [nameOf(mutant, index), changed(mutant)]));
  const host = ts.createCompilerHost(options);
  const program = ts.createProgram([...texts.keys()], options, {
    ...host,
    readFile: (name) => texts.get(name) ?? host.readFile(name),
    getSourceFile,
  });
  function getSourceFile(name: string, given: ts.ScriptTarget | ts.CreateSourceFileOptions): ts.SourceFile | undefined {
    const text = texts.get(name);
    return text === undefined ? host.getSourceFile(name, given) : ts.createSourceFile(name, text, given);
  }
  return mutants.filter((mutant, index) => {
    const source = program.getSourceFile(nameOf(mutant, index));
    return program.getSyntacticDiagnostics(source).length === 0 && program.getSemanticDiagnostics(source).length === 0;
  });
}
