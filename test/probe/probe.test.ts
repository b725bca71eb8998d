import { execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { encodeFunctionData } from 'viem';
import { diamondAbi } from '../../core/adapters/evm/diamond-abi.js';
import { USED_SELECTORS } from '../../core/chains/diamond-functions.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';
import { makeTemporaryFolder } from '../harness/database/temporary-folder.js';
import { closeOddHosts, oddNode } from './odd-hosts.js';
import { ALL_OK, environmentOf, found, NODE, probe, verdicts, type Environment } from './probe-run.js';

let sandbox: TestVenue;
let environment: Environment;
let folder: string;
/** Both listen for seconds to what a venue says by itself, so they do it at the same time. */
let lacking: ReturnType<typeof probe>;
let referred: ReturnType<typeof probe>;

beforeAll(async () => {
  folder = await makeTemporaryFolder('diamond-gateway-probe');
  sandbox = await startOwnVenue();
  environment = environmentOf(sandbox);
  const url = await nodeWithoutClosing();
  lacking = probe({ ...environment, [NODE]: url });
  referred = probe({ ...environment, REFERRER_ARBITRUM_SEPOLIA: `0x${'ab'.repeat(20)}` });
  for (const begun of [lacking, referred]) begun.catch(() => undefined); // a failure is that of the test that awaits it
});
afterAll(async () => {
  await Promise.allSettled([lacking, referred]);
  await closeOddHosts();
  await sandbox.stop();
  await rm(folder, { recursive: true, force: true });
});

/** The node of a Diamond that cannot close trades. */
function nodeWithoutClosing(): Promise<string> {
  const selector = USED_SELECTORS.get('closeTradeMarket') ?? '0x';
  const question = encodeFunctionData({ abi: diamondAbi, functionName: 'facetAddress', args: [selector] });
  return oddNode(environment[NODE] ?? '', (method, [call]) =>
    method === 'eth_call' && (call as { data?: string }).data === question ? { result: `0x${'0'.repeat(64)}` } : undefined,
  );
}

/** The command as an operator runs it, with nothing else in its environment. */
const command = (variables: Environment, ...words: readonly string[]) =>
  promisify(execFile)(process.execPath, [path.resolve(import.meta.dirname, '../../dist/app/cli.js'), 'probe', ...words], {
    env: variables,
  });

async function settingsFile(lines: readonly string[]): Promise<Environment> {
  const file = path.join(folder, 'settings.env');
  await writeFile(file, lines.join('\n'));
  return { CONFIG_FILE: file };
}

describe('a probe of a venue that is as expected', () => {
  it('is a command that takes the file of settings, says ok to every line in a table, and needs neither database nor key', async () => {
    const lines = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
    const { stdout, stderr } = await command(await settingsFile(lines), '--chain', 'arbitrum-sepolia');
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^ {2}CHECK +EXPECTED +FOUND +VERDICT$/m);
    expect(stdout).toMatch(/^ {2}chain id +421614 +421614 +ok$/m);
    expect(stdout.trimEnd()).toMatch(new RegExp(`${Object.keys(ALL_OK).length} ok, 0 differs, 0 unreachable$`));
  });
});

describe('a probe of a Diamond that lacks a function', () => {
  it('names it and what cannot be done without it, and says ok to everything else', async () => {
    const run = await lacking;
    expect(verdicts(run.findings)).toEqual({ ...ALL_OK, 'arbitrum-sepolia Diamond: functions': 'differs' });
    expect(found(run, 'functions')).toBe('missing: closeTradeMarket (closing positions)');
    expect(run.code).toBe(1);
  });
});

describe('a probe with a referrer in the settings', () => {
  it('says that the protocol has not whitelisted it', async () => {
    const run = await referred;
    expect(verdicts(run.findings)).toEqual({ ...ALL_OK, 'arbitrum-sepolia Diamond: referrer': 'differs' });
    expect(found(run, 'referrer')).toBe('not whitelisted: it earns nothing');
  });
});

describe('the words of the command', () => {
  it.each<[string, string[], RegExp]>([
    ['no chain', [], /either --chain or --all/],
    ['a chain and all of them', ['--chain', 'base', '--all'], /either --chain or --all/],
    ['an unknown chain', ['--chain', 'mars'], /There is no chain "mars"/],
    ['an unknown option', ['--chain', 'base', '--fast'], /Unknown option '--fast'/],
    [
      'an address without its option',
      ['--chain', 'base', 'https://hunter22.example/key'],
      /^(?!(?:.|\n)*hunter22)Give every address behind its option/,
    ],
    ['hosts for all', ['--all', '--rpc', 'http://127.0.0.1:1'], /--all takes its hosts from the environment/],
    ['a chain without a node', ['--chain', 'base'], /RPC_URL_BASE/],
    ['an address that is none', ['--chain', 'base', '--rpc', 'nowhere', '--backend', 'ftp://x'], /RPC_URL_BASE(?:.|\n)*BACKEND_URL_BASE/],
  ])('with %s are answered with what is wrong, and 2', async (_, words, complaint) => {
    const run = await probe({}, ...(words.length > 0 ? words : ['--json']));
    expect([run.code, run.output]).toEqual([2, '']);
    expect(run.complaint).toMatch(complaint);
  });

  it('that ask for help get it', async () => {
    const { code, output } = await probe({}, '--help');
    expect([code, output]).toEqual([0, expect.stringContaining('npm run probe -- --chain')]);
  });

  it.each<[string, () => Promise<Environment>, string]>([
    [
      'that is not there',
      () => Promise.resolve({ CONFIG_FILE: path.join(folder, 'nowhere.env') }),
      'CONFIG_FILE must name a file that can be read',
    ],
    [
      'with a malformed line',
      () => settingsFile(['RPC_URL_BASE=http://127.0.0.1:1', 'hunter22']),
      'line 2 of the file of CONFIG_FILE is no NAME=value',
    ],
  ])('with a file of settings %s are answered with what is wrong, and 2', async (_, variables, complaint) => {
    const failed = await command(await variables(), '--chain', 'base').catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(complaint) });
    expect(failed).toMatchObject({ stderr: expect.not.stringContaining('hunter22') });
  });
});
