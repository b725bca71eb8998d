/**
 * Changes one expression at a time in code where a mistake costs money, and runs the tests that import the changed file directly:
 * `npm run test:mutants -- [--seed 1] [--count 200] [--only core/domain] [--record file] [--survivors]`. Mutants that no test notices are
 * printed. The work is done in a copy of the tree, which is removed afterwards, also after an interruption.
 *
 * `--record` keeps the verdicts in a file: a run that is stopped goes on from there. With `--survivors` it runs only the mutants that
 * survived according to the file.
 */
import { spawn } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { changed, compiling, createChooser, directTests, filesBelow, mutantsOf, type Mutant } from './mutants-sample.js';
import { startTestServer } from '../test/harness/database/test-server.js';

/** `by` is the test that failed, or what happened instead. */
interface Verdict {
  readonly mutant: string;
  readonly fate: 'does not compile' | 'to be run' | 'killed' | 'did not end' | 'survived';
  readonly by: string;
}

const FOLDERS = ['core/domain', 'core/access', 'core/trading', 'facade/signing', 'relayer'];

/** A run in which no test file ends for so long does not end. */
const LONGEST_FILE_MS = 120_000;

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '200' },
    only: { type: 'string', default: '' },
    record: { type: 'string' },
    survivors: { type: 'boolean', default: false },
  },
});

function describe(mutant: Mutant): string {
  const text = readFileSync(mutant.file, 'utf8');
  const before = text.slice(0, mutant.start);
  const shown = (part: string): string => part.replace(/\s+/g, ' ').slice(0, 80);
  const place = `${mutant.file}:${before.split('\n').length}:${mutant.start - before.lastIndexOf('\n')}`;
  return `${place}  ${shown(text.slice(mutant.start, mutant.end))}  ->  ${shown(mutant.text)}`;
}

const verdicts = new Map<string, Verdict>();
if (values.record !== undefined && existsSync(values.record))
  for (const line of readFileSync(values.record, 'utf8').split('\n').filter(Boolean)) {
    const verdict = JSON.parse(line) as Verdict;
    verdicts.set(verdict.mutant, verdict);
  }
function note(verdict: Verdict): void {
  verdicts.set(verdict.mutant, verdict);
  if (values.record !== undefined) appendFileSync(values.record, `${JSON.stringify(verdict)}\n`);
}

const isJudged = (fate: Verdict['fate'] | undefined): boolean => fate === 'killed' || fate === 'did not end' || fate === 'survived';

const tests = directTests();
const sources = FOLDERS.flatMap((folder) => filesBelow(folder, '.ts')).filter((file) => file.startsWith(values.only));
const candidates = sources.flatMap(mutantsOf);
const choose = createChooser(Number(values.seed));
const chosen: Mutant[] = [];
const left = { withoutTest: 0, notCompiling: 0 };
/** More at once than are needed: a program costs more than the mutants in it. */
const BATCH = 2 * Number(values.count);
// The same ones as then: a file that has got its first test since has changed what would be drawn.
if (values.survivors) chosen.push(...candidates.filter((mutant) => isJudged(verdicts.get(describe(mutant))?.fate)));
while (!values.survivors && chosen.length < Number(values.count) && candidates.length > 0) {
  const drawn = Array.from({ length: Math.min(BATCH, candidates.length) }, () => candidates.splice(choose(candidates.length), 1)).flat();
  const unknown = drawn.filter((mutant) => tests.has(mutant.file) && !verdicts.has(describe(mutant)));
  const accepted = unknown.length === 0 ? new Set() : new Set(compiling(unknown));
  for (const mutant of unknown) note({ mutant: describe(mutant), fate: accepted.has(mutant) ? 'to be run' : 'does not compile', by: '' });
  for (const mutant of drawn) {
    if (chosen.length === Number(values.count)) break;
    if (!tests.has(mutant.file)) left.withoutTest += 1;
    else if (verdicts.get(describe(mutant))?.fate === 'does not compile') left.notCompiling += 1;
    else chosen.push(mutant);
  }
}

const due = chosen.filter((mutant) => verdicts.get(describe(mutant))?.fate === (values.survivors ? 'survived' : 'to be run'));
// Most verdicts come early, and what one run of a file has read is at hand for the next.
due.sort((a, b) => (tests.get(a.file) ?? []).length - (tests.get(b.file) ?? []).length || a.file.localeCompare(b.file));

const tree = mkdtempSync(path.join(tmpdir(), 'mutants-'));
let running: number | undefined;
const endRunning = (): void => {
  try {
    if (running !== undefined) process.kill(-running, 'SIGKILL');
  } catch {
    // it has ended, and what it started too
  }
};
process.on('exit', () => {
  endRunning();
  rmSync(tree, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1));

const LEFT_OUT = new Set(['node_modules', '.git', 'coverage'].map((name) => path.resolve(name)));
cpSync('.', tree, { recursive: true, filter: (name) => !LEFT_OUT.has(path.resolve(name)) });
symlinkSync(path.resolve('node_modules'), path.join(tree, 'node_modules'));
const stopCluster = await startTestServer(process.env);

/** In a group of its own, which is ended as a whole: tests start processes too. The status is null if the run does not end. */
async function runTests(
  files: readonly string[],
  options: readonly string[] = ['--bail=1'],
): Promise<{ status: number | null; output: string }> {
  const jest = [
    'node_modules/jest/bin/jest.js',
    '--runInBand',
    '--forceExit',
    '--cacheDirectory=.jest',
    `--testTimeout=${LONGEST_FILE_MS}`,
  ];
  const order = '--testSequencer=<rootDir>/test/runner/quick-files-first.cjs';
  const words = ['--max-semi-space-size=64', '--import', 'tsx', ...jest, order, ...options, '--runTestsByPath', ...files];
  const child = spawn(process.execPath, words, { cwd: tree, detached: true, stdio: ['ignore', 'ignore', 'pipe'] });
  running = child.pid;
  const timer = setTimeout(endRunning, LONGEST_FILE_MS);
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    timer.refresh();
  });
  const status = await new Promise<number | null>((resolve, reject) => child.once('close', resolve).once('error', reject));
  clearTimeout(timer);
  endRunning();
  running = undefined;
  await dropDatabases();
  return { status, output };
}

/** A run that stops at a failure leaves its databases behind, and they are in memory. */
async function dropDatabases(): Promise<void> {
  const client = new pg.Client(process.env['TEST_DATABASE_URL']);
  await client.connect();
  const { rows } = await client.query<{ datname: string }>(
    `select datname from pg_database where datname like 'test\\_%' and datname not like 'test\\_template\\_%'`,
  );
  for (const { datname } of rows) await client.query(`drop database if exists ${datname} with (force)`);
  await client.end();
}

const sound = new Map<string, boolean>();

/** A test that fails without a mutant would kill all of them. Only those that killed one are asked. */
async function isSound(test: string): Promise<boolean> {
  const known = sound.get(test);
  if (known !== undefined) return known;
  const { status } = await runTests([test]);
  sound.set(test, status === 0);
  if (status !== 0) console.log(`fails without a mutant and is left out: ${test}`);
  return status === 0;
}

const testsOf = ({ file }: Mutant): readonly string[] => (tests.get(file) ?? []).filter((test) => sound.get(test) !== false);
const titleIn = (output: string): string => /^\s+● (.+)$/m.exec(output)?.[1] ?? '';

/** Runs all its tests in a process of its own. */
async function judge(mutant: Mutant): Promise<Verdict> {
  const files = testsOf(mutant);
  if (files.length === 0) return { mutant: describe(mutant), fate: 'survived', by: 'all its tests are left out' };
  replace(mutant.file, changed(mutant));
  const { status, output } = await runTests(files);
  replace(mutant.file, readFileSync(mutant.file, 'utf8'));
  if (status === 0) return { mutant: describe(mutant), fate: 'survived', by: '' };
  if (status === null) return { mutant: describe(mutant), fate: 'did not end', by: '' };
  const failed = /^FAIL (\S+)/m.exec(output)?.[1];
  if (failed === undefined) return { mutant: describe(mutant), fate: 'killed', by: `no test failed, but the run ended with ${status}` };
  if (!(await isSound(failed))) return judge(mutant);
  return { mutant: describe(mutant), fate: 'killed', by: `${failed}: ${titleIn(output)}` };
}

const STARTS_SOMETHING = /harness\/(?:venue|process|relayer)\//;
const isQuick = (test: string): boolean => !STARTS_SOMETHING.test(readFileSync(test, 'utf8'));
const copyOf = (index: number): string => path.posix.join('mutants', String(index));

/** A copy of the tree below it, of links, whose modules are others than those of the tree. */
function linkCopy(index: number): void {
  const copy = path.join(tree, copyOf(index));
  for (const entry of readdirSync(tree, { recursive: true, withFileTypes: true })) {
    const name = path.relative(tree, path.join(entry.parentPath, entry.name));
    if (/^(?:mutants|node_modules|\.jest)(?:\/|$)/.test(name)) continue;
    if (entry.isDirectory()) mkdirSync(path.join(copy, name), { recursive: true });
    else if (entry.isFile()) linkSync(path.join(tree, name), path.join(copy, name));
  }
}

/**
 * Runs the quick tests of several mutants in one process, because its start takes longer than they do: each mutant is in a copy of the tree. The
 * last copy has none, and a test that fails there too says nothing. Returns the verdicts on mutants that were killed, or that have no other tests.
 */
async function judgeTogether(mutants: readonly Mutant[]): Promise<Verdict[]> {
  const quick = mutants.map((mutant) => testsOf(mutant).filter(isQuick));
  mutants.forEach((mutant, index) => replace(path.join(copyOf(index), mutant.file), changed(mutant)));
  const control = [...new Set(quick.flat())].map((test) => path.posix.join(copyOf(BATCH_OF_RUNS), test));
  const { output } = await runTests(
    [...quick.flatMap((files, index) => files.map((test) => path.posix.join(copyOf(index), test))), ...control],
    ['--roots=<rootDir>/mutants', '--testMatch=<rootDir>/mutants/*/test/**/*.test.ts'],
  );
  mutants.forEach(({ file }, index) => replace(path.join(copyOf(index), file), readFileSync(file, 'utf8')));
  const results = new Map(
    [...output.matchAll(/^(PASS|FAIL) (\S+)([^]*?)(?=^(?:PASS|FAIL) |(?![^]))/gm)].map(([, result, file = '', text = '']) => [
      file,
      { hasPassed: result === 'PASS', text },
    ]),
  );
  return mutants.flatMap((mutant, index): Verdict[] => {
    const own = (quick[index] ?? []).map((test) => ({
      test,
      result: results.get(path.posix.join(copyOf(index), test)),
      isSound: results.get(path.posix.join(copyOf(BATCH_OF_RUNS), test))?.hasPassed === true,
    }));
    const killer = own.find(({ result, isSound }) => result?.hasPassed === false && isSound);
    if (killer) {
      const text = killer.result?.text ?? '';
      const fate = text.includes('Exceeded timeout') ? 'did not end' : 'killed';
      return [{ mutant: describe(mutant), fate, by: `${killer.test}: ${titleIn(text)}` }];
    }
    const hasSurvived = own.length === testsOf(mutant).length && own.every(({ result }) => result?.hasPassed === true);
    return hasSurvived ? [{ mutant: describe(mutant), fate: 'survived', by: '' }] : [];
  });
}

/** Not written in place: the copies share their files with the tree. */
function replace(file: string, text: string): void {
  rmSync(path.join(tree, file));
  writeFileSync(path.join(tree, file), text);
}

const BATCH_OF_RUNS = 20;
for (let index = 0; index <= BATCH_OF_RUNS; index += 1) linkCopy(index);
const judged = new Set<string>();
const tell = (verdict: Verdict): void => {
  note(verdict);
  judged.add(verdict.mutant);
  if (verdict.fate !== 'killed') console.log(`${verdict.fate}: ${verdict.mutant}`);
  if (judged.size % 10 === 0) console.log(`${judged.size} of ${due.length}`);
};
const together = due.filter((mutant) => testsOf(mutant).some(isQuick));
for (let from = 0; from < together.length; from += BATCH_OF_RUNS)
  (await judgeTogether(together.slice(from, from + BATCH_OF_RUNS))).forEach(tell);
for (const mutant of due) if (!judged.has(describe(mutant))) tell(await judge(mutant));
await stopCluster();
const count = (fate: Verdict['fate']): number => chosen.filter((mutant) => verdicts.get(describe(mutant))?.fate === fate).length;
console.log(
  `${chosen.length} mutants (seed ${values.seed}): ${count('killed')} killed, ${count('did not end')} did not end, ${count('survived')} survived.`,
);
if (!values.survivors)
  console.log(
    `Drawn and left out: ${left.withoutTest} without a test that imports the file, ${left.notCompiling} that the compiler refuses.`,
  );
process.exit();
