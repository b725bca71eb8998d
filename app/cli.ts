import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { readRelease } from '../core/adapters/telemetry/own-release.js';
import { mapStacks } from './map-stacks.js';

interface Command {
  readonly summary: string;
  readonly usage: string;
  /** Loads the module of the command, which reads `process.argv` and runs. */
  readonly run: () => Promise<unknown>;
}

const COMMANDS: Readonly<Record<string, Command>> = {
  sandbox: {
    summary: 'Run the whole venue on this machine: chain, oracle, backend, database and gateway.',
    usage: 'diamond-gateway sandbox\n\nSettings are environment variables (PORT, SANDBOX_*); docs/sandbox.md lists them.',
    run: () => import('../sandbox/main.js'),
  },
  start: {
    summary: 'Run a production gateway.',
    usage: 'diamond-gateway start\n\nSettings are environment variables, or the file that CONFIG_FILE names.',
    run: () => import('./commands/start.js'),
  },
  migrate: {
    summary: 'Bring the schema of the database up to date and end.',
    usage: 'diamond-gateway migrate\n\nReads DATABASE_URL or DATABASE_URL_FILE.',
    run: () => import('./commands/migrate.js'),
  },
  config: {
    summary: 'Check the settings of production and print what would run. Opens no connection.',
    usage: 'diamond-gateway config',
    run: () => import('./commands/config.js'),
  },
  probe: {
    summary: 'Check nodes, contract and backends of a chain against what this release expects.',
    usage: 'diamond-gateway probe --chain <slug>',
    run: () => import('./commands/probe.js'),
  },
  relayer: {
    summary: 'Look after the relayer: status, wallets, alerts, pauses. `diamond-gateway relayer help` lists its commands.',
    usage: 'diamond-gateway relayer <command>\n\n`diamond-gateway relayer help` lists the commands.',
    run: () => import('./commands/relayer.js'),
  },
  restore: {
    summary: 'Compare database and chain after a backup was put back, and mark what was lost. Every gateway is stopped.',
    usage:
      'diamond-gateway restore --check | --run [--json] [--no-relayer]\n\n' +
      '--check prints what differs, --run also marks that commits were lost. Settings are those of `start`; docs/backup.md has the steps.\n' +
      'Exit code: 0 done, 1 failed, 2 not understood or settings, 3 --check found a difference, 4 no relayer is configured,\n' +
      '5 the database is away, 6 it has to be migrated first, 7 a gateway runs, 8 a node is away.',
    run: () => import('./commands/restore.js'),
  },
  proof: {
    summary: 'Check the proof of a relayed transaction offline.',
    usage: 'diamond-gateway proof <proof.json>',
    run: () => {
      const script = new URL('../../scripts/verify-proof.mjs', import.meta.url);
      process.argv[1] = fileURLToPath(script); // the script runs only as the program that was started
      return import(script.href);
    },
  },
};

const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length));

const overview = (): string =>
  [
    'Usage: diamond-gateway <command> [options]',
    '',
    ...Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`),
    `  ${'help'.padEnd(width)}  Print this, or the usage of one command: diamond-gateway help <command>`,
    '',
    '  --help     Print the usage of a command.',
    '  --version  Print version, commit and Node.',
    '',
  ].join('\n');

function version(): string {
  const { version: release, commit } = readRelease([path.resolve(import.meta.dirname, '..'), path.resolve(import.meta.dirname, '../..')]);
  return `diamond-gateway ${release} (commit ${commit ?? process.env['COMMIT'] ?? 'unknown'}, Node ${process.versions.node})\n`;
}

/** Exit codes: 0 done, 1 the command failed, 2 the command line is wrong. */
async function run([name, ...rest]: readonly string[]): Promise<void> {
  if (name === '--version' || name === '-v') return void process.stdout.write(version());
  const isHelp = name === undefined || name === 'help' || name === '--help' || name === '-h';
  const asked = isHelp ? rest[0] : name;
  if (asked === undefined) {
    process.stdout.write(overview());
    if (name === undefined) process.exitCode = 2;
    return;
  }
  const command = Object.hasOwn(COMMANDS, asked) ? COMMANDS[asked] : undefined;
  if (!command) {
    process.stderr.write(`There is no command ${JSON.stringify(asked)}.\n\n${overview()}`);
    process.exitCode = 2;
    return;
  }
  if (isHelp || rest.includes('--help') || rest.includes('-h')) {
    return void process.stdout.write(`${command.summary}\n\nUsage: ${command.usage}\n`);
  }
  process.argv.splice(2, 1); // the module of the command reads its own options from the third word on
  try {
    await command.run();
  } catch (error) {
    if (!isMissingModule(error)) throw error;
    process.stderr.write(`This installation does not contain the command ${asked}.\n`);
    process.exitCode = 1;
  }
}

/** The production image contains neither the sandbox nor the scripts. */
const isMissingModule = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  error.code === 'ERR_MODULE_NOT_FOUND' &&
  /sandbox\/main\.js|verify-proof\.mjs/.test(error.message);

mapStacks();
await run(process.argv.slice(2));
