import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { Wallet } from 'ethers';
import { CHAIN_SLUGS, chainVariable } from '../../core/chains/chains.js';
import { CHAIN_SETTINGS } from '../../core/config/chain.js';
import { readSettings, SETTING_NAMES } from '../../app/read-settings.js';
import { COMMON_SETTINGS, ConfigError, readConfig } from '../../core/config/config.js';
import { SECRET_CHAIN_SETTINGS, SECRET_NAMES, SECRET_SETTINGS } from '../../core/config/source.js';
import { readSandboxSettings, SANDBOX_SETTINGS } from '../../sandbox/settings.js';

const root = path.resolve(import.meta.dirname, '../..');
const production = { DATABASE_URL: 'postgres://gateway:s3cret@db.example:5432/gateway', RPC_URL_BASE: 'https://rpc.example/v2/s3cret' };

let folder: string;
beforeAll(() => (folder = mkdtempSync(path.join(os.tmpdir(), 'settings-'))));
afterAll(() => rmSync(folder, { recursive: true }));

let nth = 0;
function file(text: string, mode = 0o600): string {
  const name = path.join(folder, String((nth += 1)));
  writeFileSync(name, text);
  chmodSync(name, mode);
  return name;
}

function problemsOf(read: () => unknown): readonly string[] {
  try {
    read();
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

const read = (environment: Record<string, string>) =>
  readSettings(environment, (variables, { readText, isShared }) => readConfig(variables, readText, isShared));

describe('.env.example', () => {
  const text = readFileSync(path.join(root, '.env.example'), 'utf8');
  /** As docker and systemd read it: everything after the sign is the value. */
  const lines = text.split('\n').filter((line) => /^[A-Z]/.test(line));
  const variables = Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
  const ofChain = (names: readonly string[], end = ''): string[] => names.map((name) => `${chainVariable(name, 'arbitrum')}${end}`);

  it('names every setting that the code knows, and no other', () => {
    const expected = [
      'GATEWAY_URL',
      ...COMMON_SETTINGS,
      ...SECRET_SETTINGS.map((name) => `${name}_FILE`),
      ...CHAIN_SLUGS.map((slug) => chainVariable('RPC_URL', slug)),
      ...ofChain(CHAIN_SETTINGS),
      ...ofChain(SECRET_CHAIN_SETTINGS, '_FILE'),
      ...SANDBOX_SETTINGS,
    ];
    expect(Object.keys(variables).sort()).toEqual([...new Set(expected)].sort());
    expect(lines).toHaveLength(Object.keys(variables).length);
    expect(text).toContain('CONFIG_FILE=/');
  });

  it('explains each of them', () => {
    const explained = text.split('\n');
    const bare = explained.filter((line, at) => {
      if (!/^[A-Z]/.test(line) || line.endsWith('_FILE=')) return false;
      const before = explained.slice(0, at).reverse();
      return (before.find((other) => other === '' || other.startsWith('#')) ?? '') === '';
    });
    expect(bare).toEqual([]);
  });

  it('changes nothing as it stands: what it gives are the defaults', () => {
    expect(readSandboxSettings(variables)).toEqual(readSandboxSettings({}));
    expect(readConfig({ ...variables, ...production })).toEqual(readConfig(production));
  });

  it('can be named as the file of settings, and reads the same', () => {
    expect(parseEnv(text)).toEqual(variables);
    const { settings, warnings } = read({ ...production, CONFIG_FILE: file(text, 0o644) });
    expect([settings, warnings]).toEqual([readConfig(production), []]);
  });
});

describe('a file of settings', () => {
  it('gives what the environment does not', () => {
    const CONFIG_FILE = file(
      [
        '# of the deployment',
        'export PORT=9000',
        "SERVICE_NAME='Ours # and yours'",
        'LOG_LEVEL=warn # for now',
        'RPC_URL_POLYGON="https://one.example,',
        'https://two.example"',
        'RATE_LIMIT_IP=7',
        '',
      ].join('\n'),
    );
    const { settings } = read({ ...production, CONFIG_FILE, RATE_LIMIT_IP: '8', LOG_LEVEL: ' ' });
    expect(settings).toMatchObject({ port: 9000, serviceName: 'Ours # and yours', logLevel: 'warn', access: { limits: { ip: 8 } } });
    expect(settings.chains.find(({ chain }) => chain.slug === 'polygon')?.rpcUrls).toEqual(['https://one.example', 'https://two.example']);
  });

  it('is reported with all other problems, by line number and never by its content', () => {
    const CONFIG_FILE = file(
      'PORT=70000\nhunter2\nHUNTER2=x\nMZXW6YTBOI======\nCOMMIT=a\nCOMMIT=b\nRPC_URL_BASEE=https://hunter2.example\n',
    );
    const problems = problemsOf(() => read({ RPC_URL_BASE: 'hunter2', CONFIG_FILE }));
    expect(problems).toEqual([
      'line 2 of the file of CONFIG_FILE is no NAME=value',
      'line 3 of the file of CONFIG_FILE names no setting',
      'line 4 of the file of CONFIG_FILE names no setting',
      'COMMIT is set twice in the file of CONFIG_FILE, in lines 5 and 6',
      'line 7 of the file of CONFIG_FILE names no setting',
      'PORT must be 0 to 65535',
      expect.stringMatching(/^DATABASE_URL must be/),
      expect.stringMatching(/^RPC_URL_BASE must be/),
      expect.stringMatching(/^RPC_URL_BASEE names no chain/),
    ]);
    expect(problems.join()).not.toMatch(/hunter2|MZXW/i);
  });

  it.each([
    ['a mark of its encoding before the name', '\uFEFFFACADE_MAX_OPEN_NOTIONAL_USD=5', 1],
    ['a # inside a value', 'FACADE_MAX_OPEN_NOTIONAL_USD=5#0', 1],
    ['more behind a quote', 'FACADE_MAX_OPEN_NOTIONAL_USD="5"0', 1],
    ['a quote that the next line closes', 'FACADE_MAX_OPEN_NOTIONAL_USD="5\nCOMMIT="x"', 1],
    ['a quote that nothing closes', 'FACADE_MAX_OPEN_NOTIONAL_USD="5', 1],
  ])('with %s is refused, not read without it', (_, text, line) => {
    expect(problemsOf(() => read({ ...production, CONFIG_FILE: file(`${text}\n`) }))).toContainEqual(
      expect.stringMatching(
        new RegExp(`^FACADE_MAX_OPEN_NOTIONAL_USD in line ${line} of the file of CONFIG_FILE would not be read as it is written`),
      ),
    );
  });

  it.each([
    ['a tab before the name', 'PORT=1\n\tFACADE_MAX_OPEN_NOTIONAL_USD=5', 2],
    ['two spaces after export', 'export  FACADE_MAX_OPEN_NOTIONAL_USD=5', 1],
  ])('with %s is refused where this version of Node reads it without its name, and read elsewhere', (_, text, line) => {
    const isRead = parseEnv(text)['FACADE_MAX_OPEN_NOTIONAL_USD'] === '5';
    const problems = problemsOf(() => read({ ...production, CONFIG_FILE: file(`${text}\n`) }));
    const refused = `FACADE_MAX_OPEN_NOTIONAL_USD in line ${line} of the file of CONFIG_FILE would not be read as it is written`;
    expect(problems.some((problem) => problem.startsWith(refused))).toBe(!isRead);
  });

  it('that does not exist is the only problem that is reported', () => {
    expect(problemsOf(() => read({ PORT: 'x', CONFIG_FILE: path.join(folder, 's3cret') }))).toEqual([
      'CONFIG_FILE must name a file that can be read',
    ]);
  });

  it('gives way to a secret that the environment names in another way', () => {
    const CONFIG_FILE = file(`DATABASE_URL_FILE=/nowhere\nOPERATOR_TOKEN=${'a'.repeat(16)}\n`);
    const { settings } = read({ ...production, CONFIG_FILE, OPERATOR_TOKEN_FILE: file(`${'b'.repeat(16)}\n`) });
    expect(settings.operator.token?.()).toBe('b'.repeat(16));
    expect(settings.database).toMatchObject({ url: production.DATABASE_URL });
  });

  it('that holds secrets is for its owner alone', () => {
    const { DATABASE_URL, ...others } = production;
    const text = `DATABASE_URL=${DATABASE_URL}\n`;
    expect(read({ ...others, CONFIG_FILE: file(text) }).warnings).toEqual([]);
    expect(read({ ...others, CONFIG_FILE: file(text, 0o640) }).warnings).toEqual([expect.stringContaining('chmod 600')]);
  });
});

/** One that is right for each secret, and what else it needs to be right. */
const TOKEN = 's3cret-of-16-and-more';
const GOOD: Readonly<Record<string, { readonly value: string; readonly with?: Record<string, string> }>> = {
  DATABASE_URL: { value: production.DATABASE_URL },
  OPERATOR_TOKEN: { value: TOKEN },
  METRICS_TOKEN: { value: TOKEN },
  ALERT_WEBHOOK_URL: { value: 'https://hook.example/s3cret', with: { ALERT_WEBHOOK_SECRET: TOKEN } },
  ALERT_WEBHOOK_SECRET: { value: TOKEN, with: { ALERT_WEBHOOK_URL: 'https://hook.example' } },
  OTEL_EXPORTER_OTLP_ENDPOINT: { value: 'https://traces.example/s3cret' },
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: { value: 'https://traces.example/s3cret' },
  OTEL_EXPORTER_OTLP_HEADERS: { value: 'x-key=s3cret' },
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: { value: 'x-key=s3cret' },
  RPC_URL: { value: 'https://rpc.example/s3cret' },
  RPC_WS_URL: { value: 'wss://rpc.example/s3cret' },
  RELAYER_KEY: { value: `0x${'a1'.repeat(32)}` },
  RELAYER_KEYSTORE_PASSWORD: { value: ' s3cret ', with: { RELAYER_KEYSTORE: 'KEYSTORE' } },
  RELAYER_SIGNER_URL: { value: 'https://signer.example/s3cret', with: { RELAYER_SIGNER_WALLETS: `0x${'ab'.repeat(20)}` } },
  RELAYER_SIGNER_TOKEN: {
    value: TOKEN,
    with: { RELAYER_SIGNER_URL: 'https://signer.example', RELAYER_SIGNER_WALLETS: `0x${'ab'.repeat(20)}` },
  },
};
const isChainSecret = (name: string): boolean => SECRET_CHAIN_SETTINGS.some((secret) => secret === name);

describe('a secret in a file', () => {
  it('is possible for every setting that can hold one', () => {
    expect(Object.keys(GOOD).sort()).toEqual([...SECRET_SETTINGS, ...SECRET_CHAIN_SETTINGS].sort());
    expect(SECRET_NAMES.every(({ setting, files }) => [setting, ...files].every((name) => SETTING_NAMES.has(name)))).toBe(true);
  });

  it.each(Object.entries(GOOD))('means what it means in %s, and only one of the two may be given', (name, { value, with: others = {} }) => {
    const own = (other: string): string => (isChainSecret(other) ? chainVariable(other, 'base') : other);
    const keystore = JSON.stringify({ version: 3, crypto: {} });
    const rest = Object.fromEntries(
      Object.entries(others).map(([other, text]) => [
        other.startsWith('RELAYER_') ? chainVariable(other, 'base') : other,
        text === 'KEYSTORE' ? file(keystore) : text,
      ]),
    );
    const setting = own(name);
    const base = Object.fromEntries(Object.entries({ ...production, ...rest }).filter(([other]) => other !== setting));
    const names = SECRET_NAMES.find((secret) => secret.setting === setting)?.files ?? [];
    expect(names.length).toBeGreaterThan(0);
    const inline = JSON.stringify(reveal(read({ ...base, [setting]: value.trim() }).settings));
    for (const fileName of names) {
      const { settings, warnings } = read({ ...base, [fileName]: file(`${value}\n`) });
      const exact = name === 'RELAYER_KEYSTORE_PASSWORD' ? inline.replace('"s3cret"', '" s3cret "') : inline;
      expect(JSON.stringify(reveal(settings))).toBe(exact);
      expect([settings.warnings, warnings]).toEqual([[], []]);
      const shared = read({ ...base, [fileName]: file(`${value}\n`, 0o644) }).settings;
      const warned = [...(shared.warnings ?? []), ...shared.chains.flatMap(({ relayer }) => relayer?.warnings ?? [])];
      expect(warned).toEqual([`the file of ${fileName} can be read by others than its owner: chmod 600 it`]);
      expect(problemsOf(() => read({ ...base, [setting]: value, [fileName]: file(value) }))).toEqual([
        `${setting} and ${fileName} are both set; keep one of them`,
      ]);
      expect(problemsOf(() => read({ ...base, [fileName]: '/nowhere/s3cret' }))).toEqual([`${fileName} must name a file that can be read`]);
      expect(problemsOf(() => read({ ...base, [fileName]: file('\n') }))).toEqual([`${fileName} names a file that is empty`]);
    }
  });
});

/** With what functions hide. */
function reveal(value: unknown): unknown {
  if (typeof value === 'function') return reveal((value as () => unknown)());
  if (typeof value === 'bigint') return value.toString();
  if (Array.isArray(value)) return value.map(reveal);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, reveal(field)]));
}

interface Ended {
  readonly code: number | null;
  readonly out: string;
}

function check(environment: Record<string, string>): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const { PATH = '' } = process.env;
    const child = spawn(process.execPath, [path.join(root, 'dist/app/cli.js'), 'config'], { env: { PATH, ...environment } });
    let out = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => (out += part.toString()));
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, out }));
  });
}

describe('npm run config:check', () => {
  it('says everything that is wrong and fails', async () => {
    const { code, out } = await check({ PORT: 's3cret', RPC_URL_BASE: 's3cret', FACADE_LEVERAGE: '0' });
    expect(code).toBe(1);
    expect(out).toContain('has 4 problems');
    for (const name of ['PORT', 'RPC_URL_BASE', 'FACADE_LEVERAGE', 'DATABASE_URL']) expect(out).toContain(`- ${name} must be`);
    expect(out).not.toContain('s3cret');
  });

  it('says what would run, without a secret, and opens nothing', async () => {
    const CONFIG_FILE = file(
      `RELAYER_KEY_BASE=0x${'a1'.repeat(32)}\nCONFIRMATIONS_BASE=2\nRPC_WS_URL_BASE=wss://heads.example/s3cret\n`,
      0o644,
    );
    const { code, out } = await check({
      ...production,
      CONFIG_FILE,
      RPC_URL_POLYGON: 'https://polygon.example/?key=s3cret,https://second.example',
      OPERATOR_TOKEN: TOKEN,
      ALERT_WEBHOOK_URL: 'https://hook.example/s3cret',
      ALERT_WEBHOOK_SECRET: TOKEN,
    });
    expect([code, out.split('\n', 1)]).toEqual([0, ['The configuration is in order. Nothing was opened or asked.']]);
    for (const part of [
      'postgres://db.example:5432/…',
      'base (8453)',
      'none in openings that the relayer sends, none in those of agents that name none',
      'https://rpc.example/…',
      'wss://heads.example/…',
      new Wallet(`0x${'a1'.repeat(32)}`).address.toLowerCase(),
      'count 2 blocks later',
      'polygon (137)',
      'https://polygon.example/…, https://second.example',
      'none: the facade can be read',
      'alerts call https://hook.example/…',
      '600 requests a minute',
      'the file of CONFIG_FILE holds secrets and can be read by others',
    ])
      expect(out).toContain(part);
    expect(out).not.toMatch(/s3cret|a1a1/);
  });
});
