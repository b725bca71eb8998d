// npm run interop:python: the official Python SDK from PyPI, in an environment of its own, against a sandbox started for it.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..');
const PACKAGE = 'hyperliquid-python-sdk';

/** What is missing is not what is broken: it is said, and told apart by the exit code. */
const MISSING = 2;

class NotPossible extends Error {}

function run(command: string, parameters: readonly string[], whenItFails: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, parameters, { encoding: 'utf8', cwd: root });
  if (error || status !== 0) throw new NotPossible(`${whenItFails}\n${(error?.message ?? stderr).trim()}`);
  return stdout.trim();
}

/** A Python that has the SDK. */
function install(folder: string): string {
  const system = process.env['PYTHON'] ?? 'python3';
  console.log(
    run(system, ['--version'], `Python is missing: "${system}" cannot be run. Install Python 3.9 or newer, or name it in PYTHON.`),
  );
  const environment = path.join(folder, 'venv');
  run(system, ['-m', 'venv', environment], 'Python has no venv module (on Debian: apt install python3-venv).');
  const python = path.join(environment, 'bin', 'python');
  run(
    python,
    ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', PACKAGE],
    `${PACKAGE} could not be installed: is PyPI reachable?`,
  );
  const version = run(python, ['-c', `import importlib.metadata as m; print(m.version("${PACKAGE}"))`], 'The SDK is not there.');
  console.log(`${PACKAGE} ${version}`);
  return python;
}

async function startSandbox(folder: string): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const own = Object.entries(process.env).filter(([name]) => !/^(?:SANDBOX_|RPC_URL_|RELAYER_|DATABASE_URL|HOST|LOG_LEVEL)/.test(name));
  const env = { ...Object.fromEntries(own), PORT: '0', TMPDIR: folder };
  const child = spawn(process.execPath, ['--enable-source-maps', 'dist/sandbox/main.js'], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const url = await new Promise<string>((resolve, reject) => {
    let text = '';
    const read = (chunk: Buffer): void => {
      text += chunk.toString();
      const found = /ready: (http:\/\/[\d.:]+)/.exec(text)?.[1];
      if (found !== undefined) resolve(found);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('close', () => reject(new Error(`the sandbox ended before it was ready:\n${text}`)));
  });
  return { child, url };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const gone = new Promise((resolve) => child.once('close', resolve));
  child.kill('SIGINT');
  await gone;
}

async function main(): Promise<number> {
  const folder = mkdtempSync(path.join(tmpdir(), 'interop-python-'));
  chmodSync(folder, 0o711); // the database of root runs as another user and has to walk through
  try {
    const python = install(folder);
    const { child, url } = await startSandbox(folder);
    try {
      return spawnSync(python, ['examples/python_sdk_bot.py', url], { cwd: root, stdio: 'inherit' }).status ?? 1;
    } finally {
      await end(child);
    }
  } catch (error) {
    if (!(error instanceof NotPossible)) throw error;
    console.error(error.message);
    return MISSING;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

process.exitCode = await main();
