import { encodeEventTopics } from 'viem';
import { diamondAbi } from '../../core/adapters/evm/diamond-abi.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';
import { closeOddHosts, deadHost, json, oddHost, oddNode, type Lie } from './odd-hosts.js';
import { ALL_OK, BACKEND, environmentOf, found, NODE, probe, probeInTime, verdicts, type Environment } from './probe-run.js';

let sandbox: TestVenue;
let environment: Environment;

beforeAll(async () => {
  sandbox = await startOwnVenue();
  environment = environmentOf(sandbox);
});
afterEach(closeOddHosts);
afterAll(() => sandbox.stop());

const at = (setting: string): string => environment[setting] ?? '';

describe('a probe of an odd node', () => {
  const withNode = (lie: Lie, options?: { batches: boolean }) => async () =>
    probe({ ...environment, [NODE]: await oddNode(at(NODE), lie, options) });

  const ofAnotherChain = withNode((method) => (method === 'eth_chainId' ? { result: '0xa4b1' } : undefined));
  it('asks nothing more of a node of another chain, and nothing of a Diamond without a node', async () => {
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
      'arbitrum-sepolia node: simulation': 'differs',
    });
    expect(Number.parseInt(found(run, 'blocks per eth_getLogs') ?? '', 10)).toBeGreaterThanOrEqual(5);
    expect(found(run, 'blocks per eth_getLogs')).toContain('more is refused: ranges of 10 blocks at most');
    expect(found(run, 'simulation')).toBe('eth_estimateGas refused: the method is not available');
    expect(run.code).toBe(1);
  });

  const topics = encodeEventTopics({ abi: diamondAbi, eventName: 'MarketExecuted' });
  const asleep = withNode((method, [first]) => {
    if (method === 'eth_getBlockByNumber' && first === 'latest') return { result: { number: '0x5', timestamp: '0x5' } };
    return method === 'eth_getLogs' ? { result: [{ topics, data: '0x12' }] } : undefined;
  });
  it('reports an old head, and events that cannot be read', async () => {
    const run = await asleep();
    expect(verdicts(run.findings)).toEqual({
      ...ALL_OK,
      'arbitrum-sepolia node: newest block': 'differs',
      'arbitrum-sepolia Diamond: events': 'differs',
    });
    expect(found(run, 'events')).toBe('cannot be read: MarketExecuted');
  });

  const SECRETS = ['operator', 'hunter22', 'k3y-0f-the-pr0vider', 's3cr3t-0f-mine'];
  const secretly = async () => {
    const lie: Lie = (method) => (method === 'eth_getBalance' ? error(`bad key ${SECRETS.join(' ')}`) : undefined);
    const url = new URL(await oddNode(at(NODE), lie));
    [url.username, url.password, url.pathname, url.search] = ['operator', 'hunter22', '/v2/k3y-0f-the-pr0vider', '?apikey=s3cr3t-0f-mine'];
    const keyed = { ...environment, [NODE]: url.href };
    const [machines, people] = await Promise.all([probe(keyed), probe(keyed, '--chain', 'arbitrum-sepolia')]);
    return { machines, people, host: url.host };
  };
  it('shows no part of an address but its host, even where the node repeats it', async () => {
    const { machines, people, host } = await secretly();
    expect(found(machines, 'state of the past')).toContain('bad key [redacted]');
    for (const secret of SECRETS) expect(machines.output + people.output).not.toContain(secret);
    expect(people.output).toContain(`arbitrum-sepolia node ${host}`);
  });
});

describe('a probe of odd backends', () => {
  const ofAnotherRelease = async () => {
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
  };
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
  const withOddCharts = async () => {
    const url = await oddHost(at('PRICING_URL'), async (asked, response, truth) => {
      if (minutes(asked) === 60) return json(response, { error: 'resolution' }, 400);
      if (minutes(asked) === 240) return json(response, { table: [[1, 2, 3, 4, 5]] });
      if (minutes(asked) !== 5) return false;
      const { table } = (await truth()) as { table: unknown[] };
      return json(response, { table: table.filter((_, place) => place % 3 === 0) });
    });
    return probe({ ...environment, PRICING_URL: url });
  };
  it('reports which intervals of the charts are refused, of another shape or of another size', async () => {
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
  const probeRateLimited = async () => {
    const url = await oddHost(at('PRICING_URL'), (asked, response) => {
      impatient.push(asked);
      return json(response, { error: 'slow down' }, 429, { 'retry-after': '70' });
    });
    return probe({ ...environment, PRICING_URL: url });
  };
  it('sends nothing more to a host that answers with Retry-After, and says so', async () => {
    const run = await probeRateLimited();
    const charts = Object.keys(ALL_OK).filter((line) => line.startsWith('pricing: c'));
    expect(verdicts(run.findings)).toEqual({ ...ALL_OK, ...Object.fromEntries(charts.map((line) => [line, 'unreachable'])) });
    expect(found(run, 'charts')).toBe('HTTP 429, asks for 70 s of patience');
    expect(impatient).toEqual(['/charts']);
    expect(run.code).toBe(2);
  });

  const withDeadHosts = async () => {
    const dead = await deadHost();
    const hosts = { [NODE]: `${dead},${at(NODE)}`, RPC_WS_URL_ARBITRUM_SEPOLIA: dead.replace('http', 'ws'), [BACKEND]: dead };
    return { host: new URL(dead).host, run: await probe({ ...environment, ...hosts }) };
  };
  it('goes on with the others when hosts are down', async () => {
    const { host, run } = await withDeadHosts();
    const problems = run.findings.filter(({ verdict }) => verdict !== 'ok').map(({ part, check, found: what }) => [part, check, what]);
    expect(problems).toEqual([
      [`arbitrum-sepolia node ${host}`, 'chain id', 'cannot be reached (ECONNREFUSED)'],
      [`arbitrum-sepolia node line ${host}`, 'new blocks over WebSocket', 'ECONNREFUSED'],
      [`arbitrum-sepolia backend ${host}`, 'trading variables', 'ECONNREFUSED'],
      [`arbitrum-sepolia backend ${host}`, 'events over WebSocket', 'ECONNREFUSED'],
    ]);
    expect(run.code).toBe(2);
  });

  it('ends in less than a minute when hosts take every question and answer none, and has looked at the others', async () => {
    const silent = await oddHost('http://127.0.0.1:1', () => true);
    const started = performance.now();
    const { code, findings } = await probeInTime({ ...environment, [BACKEND]: silent, PRICING_URL: silent, GLOBAL_URL: silent });
    expect(performance.now() - started).toBeLessThan(60_000);
    expect(verdicts(findings)).toMatchObject({
      'arbitrum-sepolia node: chain id': 'ok',
      'arbitrum-sepolia Diamond: functions': 'ok',
      'arbitrum-sepolia backend: trading variables': 'unreachable',
      'pricing: charts': 'unreachable',
      'history: history of chain 421614': 'unreachable',
    });
    expect(code).toBe(2);
  });
});
