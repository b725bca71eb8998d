import { inspect } from 'node:util';
import { ConfigError, readConfig } from '../../core/config/config.js';
import { sandboxAccounts } from '../../sandbox/accounts.js';
import { readSandboxSettings } from '../../sandbox/settings.js';

const production = { DATABASE_URL: 'postgres://gateway:secret@db.example/gateway', RPC_URL_BASE: 'https://rpc.example/v2/secret-key' };

function problemsOf(read: () => unknown): readonly string[] {
  try {
    read();
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe('the configuration of a deployment', () => {
  it('serves the chains that have a node', () => {
    const { chains, port, database } = readConfig({ ...production, RPC_URL_ARBITRUM: 'https://one.example, https://two.example' });
    expect(chains.map(({ chain, rpcUrls }) => [chain.slug, rpcUrls])).toEqual([
      ['arbitrum', ['https://one.example', 'https://two.example']],
      ['base', ['https://rpc.example/v2/secret-key']],
    ]);
    expect(port).toBe(8080);
    expect(database).toMatchObject({ kind: 'server', url: production.DATABASE_URL });
  });

  it('takes the embedded database only when DATABASE_URL says so', () => {
    expect(readConfig({ ...production, DATABASE_URL: 'embedded:/srv/gateway' }).database).toMatchObject({
      kind: 'embedded',
      folder: '/srv/gateway',
    });
    expect(problemsOf(() => readConfig({ RPC_URL_BASE: 'https://rpc.example' }))).toEqual([
      'DATABASE_URL must be a postgres:// URL, or embedded:<folder>',
    ]);
  });

  it('reports every problem at once', () => {
    const problems = problemsOf(() =>
      readConfig({
        PORT: '70000',
        LOG_LEVEL: 'loud',
        DATABASE_URL: 'mysql://x',
        RPC_URL_BASE: 'ftp://x',
        RPC_URL_BASEE: 'https://x.example',
      }),
    );
    expect(problems).toHaveLength(5);
    for (const name of ['PORT', 'LOG_LEVEL', 'DATABASE_URL', 'RPC_URL_BASE ', 'RPC_URL_BASEE']) expect(problems.join('\n')).toContain(name);
  });

  it('reads what traders of the facade may do, and bounds nothing by itself', () => {
    const trader = `0x${'Ab'.repeat(20)}`;
    const { rules } = readConfig({
      ...production,
      FACADE_MAX_OPEN_NOTIONAL_USD: '25000.5',
      FACADE_DAILY_TRANSACTIONS: '0',
      FACADE_ALLOWED_TRADERS: ` ${trader}, `,
    }).facade;
    expect(rules).toEqual({
      rules: { reduceOnly: false, maxOpenNotionalUsd: '25000.5', maxDailyLossUsd: null, ordersPerMinute: null, dailyTransactions: 0 },
      allowed: new Set([trader.toLowerCase()]),
      blocked: new Set(),
    });
    expect(readConfig(production).facade.rules).toMatchObject({
      rules: { maxOpenNotionalUsd: null, dailyTransactions: 500 },
      allowed: null,
    });
    const wrong = {
      FACADE_MAX_OPEN_NOTIONAL_USD: '-1',
      FACADE_MAX_DAILY_LOSS_USD: '1e3',
      FACADE_ORDERS_PER_MINUTE: '0',
      FACADE_DAILY_TRANSACTIONS: '1.5',
      FACADE_REDUCE_ONLY: 'maybe',
      FACADE_ALLOWED_TRADERS: '0x12',
      FACADE_BLOCKED_TRADERS: `${trader} you`,
    };
    const problems = problemsOf(() => readConfig({ ...production, ...wrong }));
    expect(problems).toHaveLength(7);
    for (const name of Object.keys(wrong)) expect(problems.join('\n')).toContain(name);
  });

  it('warns of events that are held back for longer than an answer of the facade', () => {
    const warnings = (more: Record<string, string>) =>
      readConfig({ ...production, RELAYER_KEY_BASE: `0x${'a1'.repeat(32)}`, ...more }).warnings;
    expect([warnings({ CONFIRMATIONS_BASE: '3' }), warnings({ FACADE_HOLD_MS: '0' })]).toEqual([[], []]);
    expect(warnings({ CONFIRMATIONS_BASE: '4' })).toEqual([
      expect.stringMatching(/^CONFIRMATIONS_BASE .* about 8 s, longer than FACADE_HOLD_MS/),
    ]);
    expect(readConfig({ ...production, CONFIRMATIONS_BASE: '4' }).warnings).toEqual([]);
  });

  it('reads a referrer for what the relayer sends and one for what agents send', () => {
    const referrer = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913';
    const referrersOf = (more: Record<string, string>) => readConfig({ ...production, ...more }).chains[0]?.referrers;
    expect(referrersOf({})).toEqual({ relayed: null, native: null });
    expect(referrersOf({ REFERRER_BASE: referrer })).toEqual({ relayed: referrer.toLowerCase(), native: null });
    expect(referrersOf({ REFERRER_NATIVE_BASE: referrer.toLowerCase() })).toEqual({ relayed: null, native: referrer.toLowerCase() });
    for (const wrong of ['0x1', `0x${'0'.repeat(40)}`, referrer.replace('f', 'F')])
      expect(problemsOf(() => readConfig({ ...production, REFERRER_BASE: wrong }))).toEqual([
        expect.stringMatching(/^REFERRER_BASE must be an address/),
      ]);
    expect(problemsOf(() => readConfig({ ...production, REFERRER_NOWHERE: referrer }))).toEqual([
      expect.stringMatching(/^REFERRER_NOWHERE names no chain/),
    ]);
  });

  it('asks for a chain when none is configured', () => {
    expect(problemsOf(() => readConfig({ DATABASE_URL: production.DATABASE_URL }))).toEqual([
      expect.stringContaining('no chain is configured'),
    ]);
  });

  it('sizes the pool for each chain and each relayer wallet, unless DATABASE_POOL is set', () => {
    const keys = [1, 2].map((n) => `0x${String(n).repeat(64)}`).join();
    const more = { RPC_URL_POLYGON: 'https://rpc.example', RELAYER_KEY_POLYGON: keys };
    const sizeOf = (variables: Record<string, string>): number => readConfig({ ...production, ...variables }).database.poolSize ?? 0;
    expect(sizeOf({ RPC_URL_POLYGON: more.RPC_URL_POLYGON })).toBeGreaterThan(sizeOf({}));
    expect(sizeOf(more)).toBe(sizeOf({ RPC_URL_POLYGON: more.RPC_URL_POLYGON }) + 2);
    expect(sizeOf({ ...more, DATABASE_POOL: '20' })).toBe(20);
    expect(problemsOf(() => readConfig({ ...production, DATABASE_POOL: '1' }))).toEqual(['DATABASE_POOL must be at least 2']);
    const embedded = { ...production, ...more, DATABASE_URL: 'embedded:/srv/gateway', DATABASE_POOL: '51' };
    expect(problemsOf(() => readConfig(embedded))).toEqual([expect.stringContaining('at most 50 with an embedded database')]);
  });

  it('reads the default leverage and hold time of the facade, within their limits', () => {
    expect(readConfig(production).facade).toMatchObject({ leverage: 5, holdMs: 6_500 });
    expect(readConfig({ ...production, FACADE_LEVERAGE: '2', FACADE_HOLD_MS: '8000' }).facade).toMatchObject({
      leverage: 2,
      holdMs: 8_000,
    });
    expect(problemsOf(() => readConfig({ ...production, FACADE_LEVERAGE: '0', FACADE_HOLD_MS: '8001' }))).toEqual([
      'FACADE_LEVERAGE must be at least 1',
      'FACADE_HOLD_MS must be at most 8000',
    ]);
  });

  it('treats an empty variable as an absent one', () => {
    expect(readConfig({ ...production, PORT: ' ', RPC_URL_POLYGON: '' }).chains.map(({ chain }) => chain.slug)).toEqual(['base']);
  });

  it('takes the keys of the relayer from variables or from files, and prints neither', () => {
    const files = new Map([['/run/secrets/relayer', `0x${'a1'.repeat(32)}\n0x${'B2'.repeat(32)}\n`]]);
    const { chains } = readConfig(
      {
        ...production,
        RPC_URL_POLYGON: 'https://rpc.example',
        RELAYER_KEY_POLYGON: `0x${'c3'.repeat(32)}`,
        RELAYER_MAX_FEE_GWEI_POLYGON: '250',
        RELAYER_KEY_FILE_BASE: '/run/secrets/relayer',
      },
      (path) => files.get(path) ?? '',
    );
    const relayers = chains.map(({ chain, relayer }) => [chain.slug, relayer?.keys(), relayer?.maxFeePerGas]);
    expect(Object.fromEntries(relayers.map(([slug, ...rest]) => [slug, rest]))).toEqual({
      base: [[`0x${'a1'.repeat(32)}`, `0x${'b2'.repeat(32)}`], 10_000_000_000n],
      polygon: [[`0x${'c3'.repeat(32)}`], 250_000_000_000n],
    });
    expect(inspect(chains, { depth: null })).not.toMatch(/(?:a1|b2|c3){4}/i);
  });

  it('bounds what unknown traders can spend of the relayer by default', () => {
    const settings = { ...production, RELAYER_KEY_BASE: `0x${'a1'.repeat(32)}` };
    const relayerOf = (more: Record<string, string>) => readConfig({ ...settings, ...more }).chains[0]?.relayer;
    const quotaOf = (more: Record<string, string>) => readConfig({ ...settings, ...more }).facade.rules.rules.dailyTransactions;
    expect(relayerOf({})).toMatchObject({ dailyBudget: 'half', maxFeePerGas: 10_000_000_000n });
    expect(relayerOf({ RELAYER_DAILY_BUDGET_BASE: 'unlimited' })).toMatchObject({ dailyBudget: 'unlimited' });
    expect(relayerOf({ RELAYER_DAILY_BUDGET_BASE: '0.05' })).toMatchObject({ dailyBudget: 50_000_000_000_000_000n });
    expect(quotaOf({})).toBe(500);
    expect(quotaOf({ FACADE_ALLOWED_TRADERS: `0x${'12'.repeat(20)}` })).toBeNull();
    expect(quotaOf({ FACADE_DAILY_TRANSACTIONS: '7' })).toBe(7);
    expect(problemsOf(() => relayerOf({ RELAYER_DAILY_BUDGET_BASE: 'lots' }))).toEqual([
      "RELAYER_DAILY_BUDGET_BASE must be an amount of the chain's coin such as 0.05, or unlimited",
    ]);
  });

  const demo = sandboxAccounts('any seed').relayer.privateKey;
  it.each<[string, Record<string, string>, string]>([
    [
      'that are none',
      { RELAYER_KEY_BASE: 'hunter2' },
      'RELAYER_KEY_BASE must be private keys of 32 bytes in hex, separated by commas or line ends',
    ],
    ['outside the curve', { RELAYER_KEY_BASE: `0x${'ff'.repeat(32)}` }, 'RELAYER_KEY_BASE must be private keys'],
    ['given twice', { RELAYER_KEY_BASE: `0x${'a1'.repeat(32)},0x${'A1'.repeat(32)}` }, 'RELAYER_KEY_BASE has a key twice'],
    ['of the sandbox', { RELAYER_KEY_BASE: demo }, 'RELAYER_KEY_BASE has a key of the sandbox'],
    ['of the sandbox in capitals', { RELAYER_KEY_BASE: `0x${demo.slice(2).toUpperCase()}` }, 'RELAYER_KEY_BASE has a key of the sandbox'],
    ['in a file that cannot be read', { RELAYER_KEY_FILE_BASE: 'hunter2' }, 'RELAYER_KEY_FILE_BASE must name a file that can be read'],
    [
      'in two places',
      { RELAYER_KEY_BASE: demo, RELAYER_KEY_FILE_BASE: 'hunter2' },
      'RELAYER_KEY_BASE and RELAYER_KEY_FILE_BASE are both set',
    ],
    ['of no chain', { RELAYER_KEY_FILE_BASEE: 'hunter2' }, 'RELAYER_KEY_FILE_BASEE names no chain'],
    ['with no sensible fee', { RELAYER_MAX_FEE_GWEI_BASE: '1e3' }, 'RELAYER_MAX_FEE_GWEI_BASE must be a whole number of gwei'],
  ])('refuses keys %s', (_, variables, problem) => {
    const problems = problemsOf(() => readConfig({ ...production, ...variables }));
    expect(problems).toEqual([expect.stringContaining(problem)]);
    expect(problems.join('\n')).not.toMatch(/hunter2|(?:a1|ff){8}/i);
    expect(problems.join('\n').toLowerCase()).not.toContain(demo.slice(2));
  });

  it('never repeats a value in its complaints', () => {
    const problems = problemsOf(() =>
      readConfig({ PORT: 'hunter2', DATABASE_URL: 'hunter2', RPC_URL_BASE: 'hunter2', LOG_LEVEL: 'hunter2' }),
    );
    expect(problems).toHaveLength(4);
    expect(problems.join('\n')).not.toContain('hunter2');
  });
});

describe('addresses', () => {
  it.each([
    'https://user:hunter2@host.example',
    'https://host.example/?key=hunter2',
    'https://host.example/#hunter2',
    'ftp://host.example',
  ])('of hosts that are asked by path say where, and nothing else: %s', (url) => {
    const variables = { BACKEND_URL_BASE: url, PRICING_URL_BASE: url, GLOBAL_URL: url, NOTIFICATIONS_URL: url };
    const problems = problemsOf(() => readConfig({ ...production, ...variables }));
    expect(problems).toHaveLength(4);
    for (const name of Object.keys(variables)) expect(problems.join()).toContain(`${name} must be an http or https URL without user info`);
    expect(problems.join()).not.toContain('hunter2');
    expect(readConfig({ ...production, PRICING_URL: 'https://host.example/prefix/' }).chains[0]?.pricingUrl).toContain('/prefix');
  });

  it.each([
    'postgres://gateway:hunt@er2/x@db.example/gateway',
    'postgres://gateway:12/hunter2@db.example/gateway',
    'postgres://u:hunt#er2@db/x',
  ])('of databases with a password that would be taken for a host are refused: %s', (url) => {
    expect(problemsOf(() => readConfig({ ...production, DATABASE_URL: url }))).toEqual([
      'DATABASE_URL has a user or a password with a sign that must be percent-encoded, such as / ? # or @',
    ]);
    const readable = 'postgres://db.example/gateway?user=me@server';
    expect(readConfig({ ...production, DATABASE_URL: readable }).database).toMatchObject({ url: readable });
  });
});

describe('the settings of the sandbox', () => {
  it('need nothing', () => {
    expect(readSandboxSettings({})).toMatchObject({ PORT: 8080, HOST: '127.0.0.1', SANDBOX_BLOCK_MS: 250, SANDBOX_ORACLE_MS: 500 });
  });

  it('refuse what belongs to a real deployment', () => {
    expect(problemsOf(() => readSandboxSettings({ RPC_URL_BASE: 'https://x.example', RELAYER_KEY: '0x01' }))).toEqual([
      expect.stringContaining('RPC_URL_BASE is set'),
      expect.stringContaining('RELAYER_KEY is set'),
    ]);
  });

  it('report every problem at once', () => {
    const problems = problemsOf(() =>
      readSandboxSettings({ PORT: '-1', SANDBOX_BLOCK_MS: 'fast', SANDBOX_CHAINS: 'base,solana', SANDBOX_SPEED: '9' }),
    );
    for (const name of ['PORT', 'SANDBOX_BLOCK_MS', 'solana', 'SANDBOX_SPEED']) expect(problems.join('\n')).toContain(name);
  });

  it('read several chains', () => {
    expect(readSandboxSettings({ SANDBOX_CHAINS: 'arbitrum-sepolia, base' }).SANDBOX_CHAINS.map(({ chainId }) => chainId)).toEqual([
      421614, 8453,
    ]);
  });
});
