import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { StoreStartError } from '../faults.js';

/**
 * Runs a command that cannot outlive this process. Two shells hold the reading end of a pipe from this process: however it ends, even by
 * kill -9, the pipe closes and they end the command; one of them survives the other. The command has its own process group, because Ctrl-C
 * reaches our whole group and would end the database before its clients. The shells ignore signals sent to the group.
 * $1 is the first signal, $2 the tenths of a second the command may take to end; then SIGQUIT, then SIGKILL.
 */
const SCRIPT = `
trap '' INT TERM HUP QUIT
if [ -n "$BASH_VERSION" ]; then set -m; fi
polite=$1; patience=$2; shift 2
exec 3<&0
(trap - INT TERM HUP QUIT; exec "$@") </dev/null >&2 3<&- &
p=$!
echo "$p"
exec >/dev/null 2>&1
send() { kill -s "$1" -- "-$p" || kill -s "$1" "$p"; }
outlives() { n=0; while kill -0 "$p"; do [ "$n" -ge "$1" ] && return 0; n=$((n+1)); sleep 0.1; done; return 1; }
{ while read -r _; do :; done; kill -s "$polite" "$p"; if outlives "$patience"; then kill -s QUIT "$p"; if outlives 20; then send KILL; fi; fi; } <&3 &
w=$!
exec 3<&- </dev/null
wait "$p"; code=$?
kill -s KILL -- "-$w" || kill -s KILL "$w"
wait "$w"
exit "$code"
`;

/** Only bash can give a child its own process group inside our session; otherwise the child gets its own session. */
const BASH = ['/bin/bash', '/usr/bin/bash', '/usr/local/bin/bash'];

/** Our environment is not inherited: it may hold keys, and a locale that changes the server's messages. */
const ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

export interface GuardedOptions {
  readonly command: string;
  readonly arguments: readonly string[];
  readonly account: Account;
  readonly politeSignal: 'INT' | 'KILL';
  readonly politeMs: number;
  readonly onLine: (line: string) => void;
}

export interface Guarded {
  /** Resolves when the command is gone, though its child processes may still run, or when its guard was killed. */
  readonly left: Promise<void>;
  /** Resolves when the command and all its child processes are gone. */
  readonly ended: Promise<{ readonly code: number | null }>;
  /** Null until the command runs. */
  readonly pid: () => number | null;
  /** Requests the end; `ended` resolves when it is complete. */
  readonly end: () => void;
}

export function runGuarded({ command, arguments: rest, account, politeSignal, politeMs, onLine }: GuardedOptions): Guarded {
  const bash = BASH.find((file) => existsSync(file));
  const child = spawn(bash ?? '/bin/sh', ['-c', SCRIPT, 'guard', politeSignal, String(Math.ceil(politeMs / 100)), command, ...rest], {
    ...(account.switch ? { uid: account.uid, gid: account.gid } : {}),
    cwd: '/',
    env: ENVIRONMENT,
    detached: bash === undefined,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let pid: number | null = null;
  child.stdin.on('error', () => undefined); // the guard may already be gone
  eachLine(child.stdout, (line) => (pid ??= Number(line)));
  eachLine(child.stderr, onLine);
  return { left: leftOf(child), ended: endOf(child), pid: () => pid, end: () => child.stdin.end() };
}

const leftOf = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    child.on('exit', () => resolve());
    child.on('error', () => resolve());
  });

/** 'close' and not 'exit': every process of the server holds our stderr pipe, so it closes when the last of them is gone. */
const endOf = (child: ChildProcess): Promise<{ readonly code: number | null }> =>
  new Promise((resolve, reject) => {
    child.on('error', (error) =>
      reject(new StoreStartError('server-failed', `PostgreSQL could not be run: ${error.message}.`, { cause: error })),
    );
    child.on('close', (code) => resolve({ code }));
  });

function eachLine(stream: NodeJS.ReadableStream, take: (line: string) => void): void {
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    lines.forEach(take);
  });
}

/** PostgreSQL refuses to run as root, so root runs it as the unprivileged system account `nobody`. */
const NOBODY = 65534;

export interface Account {
  readonly uid: number;
  readonly gid: number;
  /** True when we are root and become this account for the server. */
  readonly switch: boolean;
}

/** The account that runs the server: ourselves, or for root the owner of existing data, or the account `nobody`. */
export async function serverAccount(dataFolder: string): Promise<Account> {
  const uid = process.getuid?.() ?? 0;
  if (uid !== 0) return { uid, gid: process.getgid?.() ?? 0, switch: false };
  const owner = await stat(dataFolder).catch(() => null);
  return owner === null || owner.uid === 0 ? { uid: NOBODY, gid: NOBODY, switch: true } : { uid: owner.uid, gid: owner.gid, switch: true };
}
