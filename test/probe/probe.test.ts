import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { encodeEventTopics, encodeFunctionData, toFunctionSelector } from 'viem';
import { diamondAbi } from '../../core/adapters/diamond-abi.js';
import { startTestSandbox, type TestSandbox } from '../harness/sandbox.js';
import { closeOddHosts, json, oddHost, oddNode, type Lie } from './odd-hosts.js';
import { environmentOf, probe, verdicts, type Environment } from './probe-run.js';

let sandbox: TestSandbox;
let environment: Environment;
beforeAll(async () => {
  sandbox = await startTestSandbox();
  environment = environmentOf(sandbox);
});
afterAll(() => sandbox.stop());
afterEach(closeOddHosts);

const NODE = 'RPC_URL_ARBITRUM_SEPOLIA';
const BACKEND = 'BACKEND_URL_ARBITRUM_SEPOLIA';
const node = (): string => environment[NODE] ?? '';
const backend = (): string => environment[BACKEND] ?? '';
const found = (findings: Awaited<ReturnType<typeof probe>>['findings'], check: string): string | undefined =>
  findings.find((one) => one.check === check)?.found;

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
    ...['1m', '5m', '15m', '30m', '1h', '4h', '1d'].map((one) => `candles of ${one}`),
  ]),
  ...lines('history', ['history of chain 421614']),
};

function lines(part: string, checks: readonly string[]): Record<string, string> {
  return Object.fromEntries(checks.map((check) => [`${part}: ${check}`, 'ok']));
}

describe('a probe of a venue that is as expected', () => {
  it('says ok to every line and exits with 0', async () => {
    const { code, findings } = await probe(environment);
    expect(verdicts(findings)).toEqual(ALL_OK);
    expect(code).toBe(0);
  });

  it('is a command that prints a table, and needs neither database nor key', async () => {
    const command = path.resolve(import.meta.dirname, '../../dist/probe-command.js');
    const ran = promisify(execFile)(process.execPath, [command, '--chain', 'arbitrum-sepolia'], { env: { ...environment } });
    const { stdout, stderr } = await ran;
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^ {2}CHECK +EXPECTED +FOUND +VERDICT$/m);
    expect(stdout).toMatch(/^ {2}chain id +421614 +421614 +ok$/m);
    expect(stdout.trimEnd()).toMatch(new RegExp(`${Object.keys(ALL_OK).length} ok, 0 differs, 0 unreachable$`));
  });
});

describe('a probe of an odd node', () => {
  const at = async (lie: Lie, options?: { batches: boolean }) => probe({ ...environment, [NODE]: await oddNode(node(), lie, options) });

  it('names the function that the Diamond does not serve', async () => {
    const item = diamondAbi.find((one) => one.type === 'function' && one.name === 'closeTradeMarket');
    if (item?.type !== 'function') throw new Error('no such function');
    const question = encodeFunctionData({ abi: diamondAbi, functionName: 'facetAddress', args: [toFunctionSelector(item)] });
    const { code, findings } = await at((method, [call]) =>
      method === 'eth_call' && (call as { data?: string }).data === question ? { result: `0x${'0'.repeat(64)}` } : undefined,
    );
    expect(verdicts(findings)).toEqual({ ...ALL_OK, 'arbitrum-sepolia Diamond: functions': 'differs' });
    expect(found(findings, 'functions')).toBe('missing: closeTradeMarket (closing positions)');
    expect(code).toBe(1);
  });

  it('asks nothing more of a node of another chain, and nothing of a Diamond that nobody shows', async () => {
    const { code, findings } = await at((method) => (method === 'eth_chainId' ? { result: '0xa4b1' } : undefined));
    const others = Object.entries(ALL_OK).filter(([line]) => !/ (?:node|Diamond): /.test(line));
    expect(verdicts(findings)).toEqual({
      ...Object.fromEntries(others),
      'arbitrum-sepolia node: chain id': 'differs',
      'arbitrum-sepolia Diamond: code': 'unreachable',
    });
    expect(found(findings, 'chain id')).toBe('42161');
    expect(code).toBe(2);
  });

  it('finds what the node does not give: ranges, batches, the past, estimates', async () => {
    const error = (message: string) => ({ error: { code: -32000, message } });
    const { code, findings } = await at(
      (method, params) => {
        const [range] = params as [{ fromBlock?: string; toBlock?: string }];
        if (method === 'eth_getLogs' && Number(range.toBlock) - Number(range.fromBlock) >= 10) return error('ranges of 10 blocks at most');
        if (method === 'eth_getBalance') return error('missing trie node');
        return method === 'eth_estimateGas' ? error('the method is not available') : undefined;
      },
      { batches: false },
    );
    expect(verdicts(findings)).toEqual({
      ...ALL_OK,
      'arbitrum-sepolia node: blocks per eth_getLogs': 'differs',
      'arbitrum-sepolia node: calls per request': 'differs',
      'arbitrum-sepolia node: state of the past': 'differs',
      'arbitrum-sepolia node: rehearsal': 'differs',
    });
    expect(Number.parseInt(found(findings, 'blocks per eth_getLogs') ?? '', 10)).toBeGreaterThanOrEqual(5);
    expect(found(findings, 'blocks per eth_getLogs')).toContain('more is refused: ranges of 10 blocks at most');
    expect(found(findings, 'rehearsal')).toBe('eth_estimateGas refused: the method is not available');
    expect(code).toBe(1);
  });

  it('tells an old head, and events that cannot be read', async () => {
    const { findings } = await at((method, [first]) => {
      if (method === 'eth_getBlockByNumber' && first === 'latest') return { result: { number: '0x5', timestamp: '0x5' } };
      const topics = encodeEventTopics({ abi: diamondAbi, eventName: 'MarketExecuted' });
      return method === 'eth_getLogs' ? { result: [{ topics, data: '0x12' }] } : undefined;
    });
    expect(verdicts(findings)).toMatchObject({
      'arbitrum-sepolia node: newest block': 'differs',
      'arbitrum-sepolia Diamond: events': 'differs',
    });
    expect(found(findings, 'events')).toBe('cannot be read: MarketExecuted');
  });

  it('shows no part of an address but its host, even where the node repeats it', async () => {
    const url = new URL(
      await oddNode(node(), (method) =>
        method === 'eth_getBalance' ? { error: { code: 1, message: `bad key ${SECRETS.join(' ')}` } } : undefined,
      ),
    );
    [url.username, url.password, url.pathname, url.search] = ['operator', 'hunter22', '/v2/k3y-0f-the-pr0vider', '?apikey=s3cr3t-0f-mine'];
    const secretly = { ...environment, [NODE]: url.href };
    const machines = await probe(secretly);
    const people = await probe(secretly, '--chain', 'arbitrum-sepolia');
    expect(found(machines.findings, 'state of the past')).toContain('bad key [redacted]');
    for (const secret of SECRETS) expect(machines.output + people.output).not.toContain(secret);
    expect(people.output).toContain(`arbitrum-sepolia node ${url.host}`);
  });

  const SECRETS = ['operator', 'hunter22', 'k3y-0f-the-pr0vider', 's3cr3t-0f-mine'];
});

describe('a probe of odd backends', () => {
  it('names the fields that are missing, changed or new by their paths, and shows none of their values', async () => {
    const url = await oddHost(backend(), async (asked, response, truth) => {
      if (!asked.startsWith('/trading-variables/')) return false;
      const { fees, collaterals, ...rest } = (await truth()) as { fees: object[]; collaterals: Record<string, unknown>[] };
      return json(response, {
        ...rest,
        fees: fees.map((fee) => ({ ...fee, minPositionSizeUsd: { amount: 'classified' } })),
        collaterals: collaterals.map((one) => ({ ...one, isActive: undefined, colour: 'classified' })),
        depthBandsMapping: undefined,
      });
    });
    const { code, output, findings } = await probe({ ...environment, [BACKEND]: url });
    expect(verdicts(findings)).toEqual({
      ...ALL_OK,
      'arbitrum-sepolia backend: trading variables': 'differs',
      'arbitrum-sepolia backend: trading variables, read': 'differs',
      'arbitrum-sepolia Diamond: markets': 'differs',
    });
    expect(found(findings, 'trading variables')).toBe(
      'changed: fees[].minPositionSizeUsd: object instead of integer (6 times); ' +
        'missing: depthBandsMapping, collaterals[].isActive (4 times); new: collaterals[].colour (4 times)',
    );
    expect(output).not.toContain('classified');
    expect(code).toBe(1);
  });

  it('tells which intervals of the charts are refused, of another shape or of another size', async () => {
    const minutes = (asked: string): number => Number(/\/charts\/\d+\/\d+\/\d+\/(\d+)$/.exec(asked)?.[1]);
    const url = await oddHost(environment['PRICING_URL'] ?? '', async (asked, response, truth) => {
      if (minutes(asked) === 60) return json(response, { error: 'resolution' }, 400);
      if (minutes(asked) === 240) return json(response, { table: [[1, 2, 3, 4, 5]] });
      if (minutes(asked) !== 5) return false;
      const { table } = (await truth()) as { table: unknown[] };
      return json(response, { table: table.filter((_, at) => at % 3 === 0) });
    });
    const { code, findings } = await probe({ ...environment, PRICING_URL: url });
    expect(verdicts(findings)).toEqual({
      ...ALL_OK,
      'pricing: candles of 1h': 'differs',
      'pricing: candles of 4h': 'differs',
      'pricing: candles of 5m': 'differs',
    });
    expect(found(findings, 'candles of 1h')).toBe('refused with HTTP 400');
    expect(found(findings, 'candles of 4h')).toBe('table has unreadable rows; changed: table[]: list instead of object');
    expect(found(findings, 'candles of 5m')).toBe('17 candles, none of them next to another');
    expect(code).toBe(1);
  });

  it('leaves a host alone that asks for patience, and says so', async () => {
    const asked: string[] = [];
    const url = await oddHost(environment['GLOBAL_URL'] ?? '', (path_, response) => {
      asked.push(path_);
      return json(response, { error: 'slow down' }, 429, { 'retry-after': '7' });
    });
    const { code, findings } = await probe({ ...environment, GLOBAL_URL: url });
    expect(verdicts(findings)).toEqual({ ...ALL_OK, 'history: history of chain 421614': 'unreachable' });
    expect(found(findings, 'history of chain 421614')).toBe('HTTP 429, asks for 7 s of patience');
    expect(asked).toHaveLength(1);
    expect(code).toBe(2);
  });

  it('goes on with the others when hosts are dead', async () => {
    const [dead] = [await oddHost('http://127.0.0.1:1', () => false)];
    await closeOddHosts();
    const { code, findings } = await probe({
      ...environment,
      [NODE]: `${dead},${node()}`,
      RPC_WS_URL_ARBITRUM_SEPOLIA: dead.replace('http', 'ws'),
      [BACKEND]: dead,
    });
    const told = findings.filter(({ verdict }) => verdict !== 'ok').map(({ part, check, found: what }) => [part, check, what]);
    const host = new URL(dead).host;
    expect(told).toEqual([
      [`arbitrum-sepolia node ${host}`, 'chain id', 'cannot be reached (ECONNREFUSED)'],
      [`arbitrum-sepolia node line ${host}`, 'new blocks over WebSocket', 'ECONNREFUSED'],
      [`arbitrum-sepolia backend ${host}`, 'trading variables', 'ECONNREFUSED'],
      [`arbitrum-sepolia backend ${host}`, 'events over WebSocket', 'ECONNREFUSED'],
    ]);
    expect(code).toBe(2);
  });
});
