// npm run interop:python | interop:ccxt | interop:go: a foreign client from its own registry, unmodified, against a sandbox started for it.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { chmodSync, cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..');

/** Exit code if the language or its registry is missing. */
const MISSING = 2;

class NotPossible extends Error {}

interface Program {
  readonly command: string;
  readonly parameters: readonly string[];
  readonly cwd: string;
}

/** Installs the client into the folder and returns how to run its program; the sandbox's URL is the last parameter. */
type Install = (folder: string) => Program;

const CLIENTS: Readonly<Record<string, Install>> = {
  python: pythonClient('hyperliquid-python-sdk', '0.24.0', 'examples/python_sdk_bot.py'),
  ccxt: pythonClient('ccxt', '4.5.90', 'examples/ccxt_bot.py'),
  go: goClient,
};

function run(command: string, parameters: readonly string[], whenItFails: string, cwd = root): string {
  const { status, stdout, stderr, error } = spawnSync(command, parameters, { encoding: 'utf8', cwd });
  if (error || status !== 0) throw new NotPossible(`${whenItFails}\n${(error?.message ?? stderr).trim()}`);
  return stdout.trim();
}

function pythonClient(name: string, version: string, program: string): Install {
  return (folder) => {
    const system = process.env['PYTHON'] ?? 'python3';
    console.log(
      run(system, ['--version'], `Python is missing: "${system}" cannot be run. Install Python 3.9 or newer, or name it in PYTHON.`),
    );
    const environment = path.join(folder, 'venv');
    run(system, ['-m', 'venv', environment], 'Python has no venv module (on Debian: apt install python3-venv).');
    const python = path.join(environment, 'bin', 'python');
    run(
      python,
      ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', `${name}==${version}`],
      `${name} ${version} could not be installed: is PyPI reachable?`,
    );
    console.log(`${name} ${version}`);
    return { command: python, parameters: [path.join(root, program)], cwd: folder };
  };
}

/** Built in a copy, so that nothing is left in the repository. */
function goClient(folder: string): Program {
  console.log(run('go', ['version'], 'Go is missing: "go" cannot be run. Install Go 1.25 or newer.'));
  const cwd = path.join(folder, 'go-bot');
  cpSync(path.join(root, 'examples/go-bot'), cwd, { recursive: true });
  run('go', ['build', '-o', 'bot', '.'], 'The client could not be built: is the Go module proxy reachable?', cwd);
  console.log(run('go', ['list', '-m', 'github.com/sonirico/go-hyperliquid'], 'The client is not there.', cwd));
  return { command: path.join(cwd, 'bot'), parameters: [], cwd };
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

async function main(install: Install): Promise<number> {
  const folder = mkdtempSync(path.join(tmpdir(), 'interop-'));
  chmodSync(folder, 0o711); // PostgreSQL of a sandbox that root starts runs as another user, who has to enter the folder
  try {
    const { command, parameters, cwd } = install(folder);
    const { child, url } = await startSandbox(folder);
    try {
      return spawnSync(command, [...parameters, url], { cwd, stdio: 'inherit' }).status ?? 1;
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

const name = process.argv[2] ?? '';
const install = CLIENTS[name];
if (!install) throw new Error(`Name a client: ${Object.keys(CLIENTS).join(', ')}.`);
process.exitCode = await main(install);
