import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { systemClock } from '../../core/adapters/system/clock.js';
import { runCommand } from '../../relayer/command.js';
import { newFacadeTrader } from '../harness/traders/facade-trader.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';

const CHAIN = 'arbitrum-sepolia';

let sandbox: TestVenue;
let token: string;
beforeAll(async () => {
  sandbox = await sharedVenue();
  token = sandbox.config.operator.token?.() ?? '';
});
afterAll(() => sandbox.stop());
afterEach(() => run(['resume']));

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly complaint: string;
}

async function run(words: readonly string[], changes: Record<string, string | undefined> = {}): Promise<Ran> {
  const out: string[] = [];
  const complaints: string[] = [];
  const code = await runCommand(words, {
    environment: { GATEWAY_URL: `${sandbox.url}/`, OPERATOR_TOKEN: token, ...changes },
    readText: (file) => {
      if (file === '/run/token') return `${token}\n`;
      throw new Error('no such file');
    },
    clock: systemClock,
    write: (text) => void out.push(text),
    complain: (text) => void complaints.push(text),
  });
  return { code, out: out.join(''), complaint: complaints.join('') };
}

const wallet = (): string => sandbox.controls.relayer.toLowerCase();
const lines = (text: string): string[] => text.trimEnd().split('\n');

describe('npm run relayer --', () => {
  it('status shows every wallet in one aligned table', async () => {
    await newFacadeTrader(sandbox);
    const { code, out } = await run(['status']);
    expect(code).toBe(0);
    const [heads = '', rule = '', row = ''] = lines(out);
    expect(heads).toMatch(/^chain +wallet +mode +balance +runway \(d\) +queued +sent +traders +remark$/);
    expect(rule.replaceAll(/[- ]/g, '')).toBe('');
    expect(row).toMatch(new RegExp(`^${CHAIN} +${wallet()} +running +[1-9]\\d*\\.\\d{6} +\\S+ +0 +0 +\\d+$`));
    expect(row.indexOf(wallet())).toBe(heads.indexOf('wallet'));
  });

  it('pause, drain and resume change what status says, for machines too', async () => {
    expect(lines((await run(['pause', '--reason', 'new node'])).out)[2]).toMatch(/ paused .* new node$/);
    const { out } = await run(['status', '--json']);
    expect(JSON.parse(out)).toMatchObject({ switches: { chains: [{ chain: CHAIN, wallets: [{ mode: 'paused', reason: 'new node' }] }] } });
    const drained = await run(['drain', '--chain', CHAIN, '--wallet', wallet()]);
    expect(drained).toMatchObject({ code: 0, out: expect.stringContaining('Empty: nothing is under way.') });
    expect(lines((await run(['resume'])).out)[2]).toMatch(/ running /);
  });

  it('drill nonce-gap leaves a nonce out, and says how long the lane took to heal', async () => {
    const { code, out } = await run(['drill', 'nonce-gap', '--json']);
    expect(code).toBe(0);
    const report = JSON.parse(out) as { gap: number };
    expect(report).toMatchObject({ chain: CHAIN, wallet: wallet(), isHealed: true, gap: expect.any(Number), healedMs: expect.any(Number) });
    const nonce = await sandbox.gateway.venues.get(CHAIN)?.chain.relay.account(wallet() as `0x${string}`);
    expect(nonce?.nonce).toBe(report.gap + 2);
    expect((await run(['drill', 'nonce-gap'])).out).toMatch(/was left out\.\nHealed after \d+\.\d s; 60 s are allowed\.\n$/);
  });

  it('rotate says what is missing when there is no successor', async () => {
    expect(await run(['rotate', '--wallet', wallet()])).toMatchObject({
      code: 1,
      complaint: expect.stringContaining('is the only wallet that stays'),
    });
  });

  it.each<[string, readonly string[], Record<string, string | undefined>, number, string]>([
    ['no command', [], {}, 2, 'Which command?'],
    ['an unknown command', ['explode'], {}, 2, 'There is no command "explode".'],
    ['another drill', ['drill'], {}, 2, 'drill nonce-gap'],
    ['an unknown option', ['status', '--walet', 'x'], {}, 2, 'Usage:'],
    ['a rotation of nothing', ['rotate'], {}, 2, 'rotate needs --wallet'],
    ['a wrong token', ['status'], { OPERATOR_TOKEN: 'another-token-altogether' }, 1, 'does not take this OPERATOR_TOKEN'],
    ['a token file that is not there', ['status'], { OPERATOR_TOKEN: '', OPERATOR_TOKEN_FILE: '/none' }, 1, 'cannot be read'],
    [
      'no token for a gateway elsewhere',
      ['status'],
      { OPERATOR_TOKEN: '', GATEWAY_URL: 'http://gateway.invalid' },
      1,
      'Set OPERATOR_TOKEN',
    ],
    ['no gateway', ['status'], { GATEWAY_URL: 'http://127.0.0.1:9' }, 1, 'No gateway answers at http://127.0.0.1:9'],
    ['an address that is none', ['status'], { GATEWAY_URL: 'gateway' }, 1, 'GATEWAY_URL must be an http or https URL'],
    ['a chain that is not served', ['pause', '--chain', 'base'], {}, 1, 'There is no chain "base" here'],
    ['a wallet that is none', ['pause', '--wallet', 'x'], {}, 1, 'must be an address'],
  ])('with %s says so and exits with its code', async (_, words, changes, code, text) => {
    const ran = await run(words, changes);
    expect([ran.code, ran.out]).toEqual([code, '']);
    expect(ran.complaint).toContain(text);
    expect(ran.complaint).not.toContain('token-altogether');
  });

  it('takes the token from a file, and from a sandbox of this machine by itself', async () => {
    expect((await run(['status'], { OPERATOR_TOKEN: '', OPERATOR_TOKEN_FILE: '/run/token' })).code).toBe(0);
    expect((await run(['status'], { OPERATOR_TOKEN: undefined })).code).toBe(0);
    expect((await run(['--help'])).out).toMatch(/^Usage: npm run relayer/);
  });

  it('is a program of its own', async () => {
    const program = path.resolve(import.meta.dirname, '../../dist/app/commands/relayer.js');
    const environment = { ...process.env, GATEWAY_URL: sandbox.url, OPERATOR_TOKEN: token };
    const { stdout } = await promisify(execFile)(process.execPath, [program, 'status'], { env: environment, timeout: 110_000 });
    expect(stdout).toContain(wallet());
    await expect(promisify(execFile)(process.execPath, [program, 'explode'], { env: environment })).rejects.toMatchObject({ code: 2 });
  });
});
