/**
 * `npm run test:readme`: follows the README and the quick starts on a clean copy of what is committed, and fails when a command fails or
 * prints something else than the page says.
 *
 *   npm run test:readme -- [--install] [--own-network] [pages]
 *
 * `--install` runs `npm ci` in the copy; without it the installed packages are linked. `--own-network` (Linux, root) follows the pages in
 * a network of its own, where their ports are free.
 */
import { spawn, spawnSync, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { blocksOf, isPrinted, type Block } from './docs-blocks.js';

const root = path.resolve(import.meta.dirname, '..');
const PAGES = [
  'README.md',
  'docs/bots.md',
  'docs/integrators.md',
  'docs/sandbox.md',
  'docs/signing.md',
  'docs/production-on-one-machine.md',
];
const BLOCK_MS = 300_000;
const words = process.argv.slice(2);
const isInstalled = words.includes('--install');

class Difference extends Error {}

/** A clone holds what is committed, and nothing else: a page that needs an untracked file fails. */
function cleanCopy(folder: string): string {
  const copy = path.join(folder, 'copy');
  const { status, stderr } = spawnSync('git', ['clone', '--quiet', root, copy], { encoding: 'utf8' });
  if (status !== 0) throw new Difference(`The repository cannot be cloned: ${stderr}`);
  if (!isInstalled) linkPackages(copy);
  return copy;
}

/** Every package but those of the repository itself, which have to be the copy's. */
function linkPackages(copy: string): void {
  const [from, to] = [path.join(root, 'node_modules'), path.join(copy, 'node_modules')];
  mkdirSync(path.join(to, '@diamond-gateway'), { recursive: true });
  for (const name of readdirSync(from)) if (name !== '@diamond-gateway') symlinkSync(path.join(from, name), path.join(to, name));
  symlinkSync('../../client', path.join(to, '@diamond-gateway/client'));
}

/** One shell for a page, as a reader has it: what a block exports the next one has. */
interface Shell {
  run(block: Block): Promise<void>;
  end(): Promise<void>;
}

function openShell(cwd: string, folder: string): Shell {
  const { PATH, HOME } = process.env;
  const env = { PATH, HOME, TMPDIR: folder, npm_config_update_notifier: 'false', npm_config_fund: 'false', npm_config_audit: 'false' };
  const bash = spawn('bash', ['--norc', '-s'], { cwd, env, stdio: 'pipe' });
  const jobs: number[] = [];
  let [output, errors] = ['', ''];
  bash.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  bash.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  bash.stdin.write('set -em\n'); // every background command has a process group, which can be ended as by Ctrl-C

  /** What was printed until the pattern came. */
  async function until(pattern: RegExp, what: string): Promise<RegExpExecArray> {
    const end = Date.now() + BLOCK_MS;
    for (;;) {
      const found = pattern.exec(output);
      if (found !== null) return found;
      if (bash.exitCode !== null) throw new Difference(`${what} failed with ${bash.exitCode}:\n${output}${errors}`);
      if (Date.now() > end) throw new Difference(`${what} is not done after ${BLOCK_MS / 1000} s:\n${output}${errors}`);
      await anotherChunk(bash);
    }
  }

  async function runInFront({ code, prints }: Block): Promise<void> {
    [output, errors] = ['', ''];
    bash.stdin.write(`${code}\necho; echo "=== done"\n`);
    const [, printed = ''] = await until(/^([\s\S]*)\n=== done\n$/, 'It');
    if (prints !== null && !isPrinted(prints, printed)) throw new Difference(`It printed:\n${printed}\ninstead of:\n${prints}`);
  }

  /** Its output goes to a file, as to a terminal of its own. */
  async function runBehind({ code, prints }: Block): Promise<void> {
    [output, errors] = ['', ''];
    const file = path.join(folder, `background-${jobs.length}`);
    bash.stdin.write(`( ${code}\n) >${file} 2>&1 &\necho "=== pid $!"\n`);
    const [, text] = await until(/=== pid (\d+)\n/, 'It');
    const pid = Number(text);
    jobs.push(pid);
    const end = Date.now() + BLOCK_MS;
    for (let printed = ''; prints !== null && !isPrinted(prints, printed); printed = readFileSync(file, 'utf8')) {
      if (Date.now() > end || !isAlive(pid)) throw new Difference(`It printed:\n${printed}\ninstead of:\n${prints}`);
      await anotherChunk(bash);
    }
  }

  return {
    run: (block) => (block.manner === 'background' ? runBehind(block) : runInFront(block)),
    async end() {
      for (const pid of jobs) signal(-pid);
      while (jobs.some((pid) => isAlive(-pid))) await new Promise((resolve) => setTimeout(resolve, 100));
      bash.kill('SIGKILL');
    },
  };
}

/** The next output, or a moment later: the end of a process is seen as well. */
const anotherChunk = ({ stdout }: ChildProcessWithoutNullStreams): Promise<void> =>
  new Promise((resolve) => {
    const go = (): void => {
      clearTimeout(timer);
      stdout.off('data', go);
      resolve();
    };
    const timer = setTimeout(go, 200);
    stdout.once('data', go);
  });

function signal(pid: number): void {
  try {
    process.kill(pid, 'SIGINT');
  } catch {
    // It has ended by itself.
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** The packages are linked already; installing them is what `--install` is for. */
const withoutInstall = (code: string): string => (isInstalled ? code : code.replaceAll(/^npm ci && /gm, ''));

async function follow(page: string, copy: string, folder: string): Promise<boolean> {
  const shell = openShell(copy, folder);
  try {
    for (const block of blocksOf(readFileSync(path.join(copy, page), 'utf8'))) {
      const title = `${page}:${block.line} ${block.code.split('\n')[0] ?? ''}`;
      if (block.manner === 'skip') {
        console.log(`skipped  ${title}`);
        continue;
      }
      const began = performance.now();
      try {
        await shell.run({ ...block, code: withoutInstall(block.code) });
      } catch (error) {
        if (!(error instanceof Difference)) throw error;
        console.error(`FAILED   ${title}\n${error.message}`);
        return false;
      }
      console.log(`followed ${title} (${((performance.now() - began) / 1000).toFixed(1)} s)`);
    }
    return true;
  } finally {
    await shell.end();
  }
}

/** Runs this script again where no port is taken. */
function inOwnNetwork(): number {
  const rest = words.filter((word) => word !== '--own-network');
  const again = ['-n', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh', process.execPath, '--import', 'tsx', import.meta.filename];
  return spawnSync('unshare', [...again, ...rest], { cwd: root, stdio: 'inherit' }).status ?? 1;
}

async function main(): Promise<number> {
  if (words.includes('--own-network')) return inOwnNetwork();
  const named = words.filter((word) => !word.startsWith('--'));
  const folder = mkdtempSync(path.join(tmpdir(), 'follow-docs-'));
  chmodSync(folder, 0o711); // PostgreSQL of a sandbox that root starts runs as another user, who has to enter the folder
  try {
    const copy = cleanCopy(folder);
    for (const page of named.length === 0 ? PAGES : named) if (!(await follow(page, copy, folder))) return 1;
    console.log('Every page does what it says.');
    return 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

process.exitCode = await main();
