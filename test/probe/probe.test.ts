import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { encodeEventTopics, encodeFunctionData } from 'viem';
import { diamondAbi } from '../../core/adapters/diamond-abi.js';
import { USED_SELECTORS } from '../../core/diamond-functions.js';
import { startTestSandbox, type TestSandbox } from '../harness/sandbox.js';
import { closeOddHosts, deadHost, json, oddHost, oddNode, type Lie } from './odd-hosts.js';
import { environmentOf, probe, verdicts, type Environment, type ProbeRun } from './probe-run.js';

let sandbox: TestSandbox;
let environment: Environment;
/** In the order of the tests, begun while others are looked at; more at a time would starve the node of a busy machine. */
const planned: (() => Promise<unknown>)[] = [];
const AT_ONCE = 1;

function running<Result>(run: () => Promise<Result>): () => Promise<Result> {
  let settle: (result: Promise<Result>) => void = () => undefined;
  const result = new Promise<Result>((resolve) => (settle = resolve));
  planned.push(() => {
    const started = run();
    settle(started);
    return started.catch(() => undefined);
  });
  return () => result;
}

async function workOff(): Promise<void> {
  for (let next = planned.shift(); next !== undefined; next = planned.shift()) await next();
}

let working: Promise<unknown>;
beforeAll(async () => {
  sandbox = await startTestSandbox();
  environment = environmentOf(sandbox);
  working = Promise.all(Array.from({ length: AT_ONCE }, workOff));
});
afterAll(async () => {
  await working;
  await closeOddHosts();
  await sandbox.stop();
});

const NODE = 'RPC_URL_ARBITRUM_SEPOLIA';
const BACKEND = 'BACKEND_URL_ARBITRUM_SEPOLIA';
const at = (setting: string): string => environment[setting] ?? '';
const found = ({ findings }: ProbeRun, check: string): string | undefined => findings.find((one) => one.check === check)?.found;

/** Every line of a venue that is as expected. */
const ALL_OK = {
  ...lines('arbitrum-sepolia node', [
    'chain id',
    'newest block',
    'clock',
    'calls per request',
    'history to follow from',
    'state of the past',
    'rehearsal',
    'blocks per eth_getLogs',
  ]),
  ...lines('arbitrum-sepolia node line', ['new blocks over WebSocket']),
  ...lines('arbitrum-sepolia Diamond', ['code', 'functions', 'markets', 'events']),
  ...lines('arbitrum-sepolia backend', [
    'trading variables',
    'trading variables, read',
    'age of the trading variables',
    'events over WebSocket',
  ]),
  ...lines('pricing', [
    'charts',
    'prices over WebSocket',
    ...['1m', '5m', '15m', '30m', '1h', '4h', '1d'].map((interval) => `candles of ${interval}`),
  ]),
  ...lines('history', ['history of chain 421614']),
};

function lines(part: string, checks: readonly string[]): Record<string, string> {
  return Object.fromEntries(checks.map((check) => [`${part}: ${check}`, 'ok']));
}

describe('a probe of a venue that is as expected', () => {
  const inProcess = running(() => probe(environment));
  it('says ok to every line and exits with 0', async () => {
    const { code, findings } = await inProcess();
    expect(verdicts(findings)).toEqual(ALL_OK);
    expect(code).toBe(0);
  });

  const command = path.resolve(import.meta.dirname, '../../dist/probe-command.js');
  const ran = running(() => promisify(execFile)(process.execPath, [command, '--chain', 'arbitrum-sepolia'], { env: { ...environment } }));
  it('is a command that prints a table, and needs neither database nor key', async () => {
    const { stdout, stderr } = await ran();
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^ {2}CHECK +EXPECTED +FOUND +VERDICT$/m);
    expect(stdout).toMatch(/^ {2}chain id +421614 +421614 +ok$/m);
    expect(stdout.trimEnd()).toMatch(new RegExp(`${Object.keys(ALL_OK).length} ok, 0 differs, 0 unreachable$`));
  });
});

describe('a probe of an odd node', () => {
  const withNode = (lie: Lie, options?: { batches: boolean }) =>
    running(async () => probe({ ...environment, [NODE]: await oddNode(at(NODE), lie, options) }));

  const selector = USED_SELECTORS.get('closeTradeMarket') ?? '0x';
  const question = encodeFunctionData({ abi: diamondAbi, functionName: 'facetAddress', args: [selector] });
  const withoutClosing = withNode((method, [call]) =>
    method === 'eth_call' && (call as { data?: string }).data === question ? { result: `0x${'0'.repeat(64)}` } : undefined,
  );
  it('names the function that the Diamond does not serve, and what cannot be done without it', async () => {
    const run = await withoutClosing();
    expect(verdicts(run.findings)).toEqual({ ...ALL_OK, 'arbitrum-sepolia Diamond: functions': 'differs' });
    expect(found(run, 'functions')).toBe('missing: closeTradeMarket (closing positions)');
    expect(run.code).toBe(1);
  });

  const ofAnotherChain = withNode((method) => (method === 'eth_chainId' ? { result: '0xa4b1' } : undefined));
  it('asks nothing more of a node of another chain, and nothing of a Diamond that nobody shows', async () => {
    const run = await ofAnotherChain();
    const others = Object.entries(ALL_OK).filter(([line]) => !/ (?:node|Diamond): /.test(line));
    expect(verdicts(run.findings)).toEqual({
      ...Object.fromEntries(others),
      'arbitrum-sepolia node: chain id': 'differs',
      'arbitrum-sepolia Diamond: code': 'unreachable',
    });
    expect(found(run, 'chain id')).toBe('42161');
    expect(run.code).toBe(2);
  });

  const error = (message: string) => ({ error: { code: -32000, message } });
  const poor = withNode(
    (method, params) => {
      const [range] = params as [{ fromBlock?: string; toBlock?: string }];
      if (method === 'eth_getLogs' && Number(range.toBlock) - Number(range.fromBlock) >= 10) return error('ranges of 10 blocks at most');
      if (method === 'eth_getBalance') return error('missing trie node');
      return method === 'eth_estimateGas' ? error('the method is not available') : undefined;
    },
    { batches: false },
  );
  it('finds what the node does not give: ranges, batches, the past, estimates', async () => {
    const run = await poor();
    expect(verdicts(run.findings)).toEqual({
      ...ALL_OK,
      'arbitrum-sepolia node: blocks per eth_getLogs': 'differs',
      'arbitrum-sepolia node: calls per request': 'differs',
      'arbitrum-sepolia node: state of the past': 'differs',
      'arbitrum-sepolia node: rehearsal': 'differs',
    });
    expect(Number.parseInt(found(run, 'blocks per eth_getLogs') ?? '', 10)).toBeGreaterThanOrEqual(5);
    expect(found(run, 'blocks per eth_getLogs')).toContain('more is refused: ranges of 10 blocks at most');
    expect(found(run, 'rehearsal')).toBe('eth_estimateGas refused: the method is not available');
    expect(run.code).toBe(1);
  });

  const topics = encodeEventTopics({ abi: diamondAbi, eventName: 'MarketExecuted' });
  const asleep = withNode((method, [first]) => {
    if (method === 'eth_getBlockByNumber' && first === 'latest') return { result: { number: '0x5', timestamp: '0x5' } };
    return method === 'eth_getLogs' ? { result: [{ topics, data: '0x12' }] } : undefined;
  });
  it('tells an old head, and events that cannot be read', async () => {
    const run = await asleep();
    expect(verdicts(run.findings)).toEqual({
      ...ALL_OK,
      'arbitrum-sepolia node: newest block': 'differs',
      'arbitrum-sepolia Diamond: events': 'differs',
    });
    expect(found(run, 'events')).toBe('cannot be read: MarketExecuted');
  });

  const SECRETS = ['operator', 'hunter22', 'k3y-0f-the-pr0vider', 's3cr3t-0f-mine'];
  const secretly = running(async () => {
    const lie: Lie = (method) => (method === 'eth_getBalance' ? error(`bad key ${SECRETS.join(' ')}`) : undefined);
    const url = new URL(await oddNode(at(NODE), lie));
    [url.username, url.password, url.pathname, url.search] = ['operator', 'hunter22', '/v2/k3y-0f-the-pr0vider', '?apikey=s3cr3t-0f-mine'];
    const keyed = { ...environment, [NODE]: url.href };
    const [machines, people] = await Promise.all([probe(keyed), probe(keyed, '--chain', 'arbitrum-sepolia')]);
    return { machines, people, host: url.host };
  });
  it('shows no part of an address but its host, even where the node repeats it', async () => {
    const { machines, people, host } = await secretly();
    expect(found(machines, 'state of the past')).toContain('bad key [redacted]');
    for (const secret of SECRETS) expect(machines.output + people.output).not.toContain(secret);
    expect(people.output).toContain(`arbitrum-sepolia node ${host}`);
  });
});

describe('a probe of odd backends', () => {
  const ofAnotherRelease = running(async () => {
    const url = await oddHost(at(BACKEND), async (asked, response, truth) => {
      if (!asked.startsWith('/trading-variables/')) return false;
      const { fees, collaterals, ...rest } = (await truth()) as { fees: object[]; collaterals: object[] };
      return json(response, {
        ...rest,
        fees: fees.map((fee) => ({ ...fee, minPositionSizeUsd: { amount: 'classified' } })),
        collaterals: collaterals.map((one) => ({ ...one, isActive: undefined, colour: 'classified' })),
        depthBandsMapping: undefined,
      });
    });
    return probe({ ...environment, [BACKEND]: url });
  });
  it('names the fields that are missing, changed or new by their paths, and shows none of their values', async () => {
    const run = await ofAnotherRelease();
    expect(verdicts(run.findings)).toEqual({
      ...ALL_OK,
      'arbitrum-sepolia backend: trading variables': 'differs',
      'arbitrum-sepolia backend: trading variables, read': 'differs',
      'arbitrum-sepolia Diamond: markets': 'differs',
    });
    expect(found(run, 'trading variables')).toBe(
      'changed: fees[].minPositionSizeUsd: object instead of integer (6 times); ' +
        'missing: depthBandsMapping, collaterals[].isActive (4 times); new: collaterals[].colour (4 times)',
    );
    expect(run.output).not.toContain('classified');
    expect(run.code).toBe(1);
  });

  const minutes = (asked: string): number => Number(/\/charts\/\d+\/\d+\/\d+\/(\d+)$/.exec(asked)?.[1]);
  const withOddCharts = running(async () => {
    const url = await oddHost(at('PRICING_URL'), async (asked, response, truth) => {
      if (minutes(asked) === 60) return json(response, { error: 'resolution' }, 400);
      if (minutes(asked) === 240) return json(response, { table: [[1, 2, 3, 4, 5]] });
      if (minutes(asked) !== 5) return false;
      const { table } = (await truth()) as { table: unknown[] };
      return json(response, { table: table.filter((_, place) => place % 3 === 0) });
    });
    return probe({ ...environment, PRICING_URL: url });
  });
  it('tells which intervals of the charts are refused, of another shape or of another size', async () => {
    const run = await withOddCharts();
    expect(verdicts(run.findings)).toEqual({
      ...ALL_OK,
      'pricing: candles of 1h': 'differs',
      'pricing: candles of 4h': 'differs',
      'pricing: candles of 5m': 'differs',
    });
    expect(found(run, 'candles of 1h')).toBe('refused with HTTP 400');
    expect(found(run, 'candles of 4h')).toBe('table has unreadable rows; changed: table[]: list instead of object');
    expect(found(run, 'candles of 5m')).toBe('17 candles, none of them next to another');
    expect(run.code).toBe(1);
  });

  const impatient: string[] = [];
  const askedForPatience = running(async () => {
    const url = await oddHost(at('PRICING_URL'), (asked, response) => {
      impatient.push(asked);
      return json(response, { error: 'slow down' }, 429, { 'retry-after': '70' });
    });
    return probe({ ...environment, PRICING_URL: url });
  });
  it('leaves a host alone that asks for patience, and says so', async () => {
    const run = await askedForPatience();
    const charts = Object.keys(ALL_OK).filter((line) => line.startsWith('pricing: c'));
    expect(verdicts(run.findings)).toEqual({ ...ALL_OK, ...Object.fromEntries(charts.map((line) => [line, 'unreachable'])) });
    expect(found(run, 'charts')).toBe('HTTP 429, asks for 70 s of patience');
    expect(impatient).toEqual(['/charts']);
    expect(run.code).toBe(2);
  });

  const withDeadHosts = running(async () => {
    const dead = await deadHost();
    const hosts = { [NODE]: `${dead},${at(NODE)}`, RPC_WS_URL_ARBITRUM_SEPOLIA: dead.replace('http', 'ws'), [BACKEND]: dead };
    return { host: new URL(dead).host, run: await probe({ ...environment, ...hosts }) };
  });
  it('goes on with the others when hosts are dead', async () => {
    const { host, run } = await withDeadHosts();
    const told = run.findings.filter(({ verdict }) => verdict !== 'ok').map(({ part, check, found: what }) => [part, check, what]);
    expect(told).toEqual([
      [`arbitrum-sepolia node ${host}`, 'chain id', 'cannot be reached (ECONNREFUSED)'],
      [`arbitrum-sepolia node line ${host}`, 'new blocks over WebSocket', 'ECONNREFUSED'],
      [`arbitrum-sepolia backend ${host}`, 'trading variables', 'ECONNREFUSED'],
      [`arbitrum-sepolia backend ${host}`, 'events over WebSocket', 'ECONNREFUSED'],
    ]);
    expect(run.code).toBe(2);
  });
});

describe('the words of the command', () => {
  it.each<[string, string[], RegExp]>([
    ['no chain', [], /either --chain or --all/],
    ['a chain and all of them', ['--chain', 'base', '--all'], /either --chain or --all/],
    ['a chain nobody knows', ['--chain', 'mars'], /There is no chain "mars"/],
    ['a word nobody knows', ['--chain', 'base', '--fast'], /Unknown option '--fast'/],
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
});
