import { systemClock } from '../../../../core/adapters/system/clock.js';
import { createViemChain } from '../../../../core/adapters/evm/viem-chain.js';
import type { Chain } from '../../../../core/ports/chain.js';
import type { ChainControls } from '../../../../sandbox/controls.js';
import { createFaultProxy, type FaultProxy } from '../../../../sandbox/fault-proxy.js';
import { createShiftedClock, type ShiftedClock } from '../../../harness/time/shifted-clock.js';
import { eventually } from '../../../harness/time/eventually.js';
import { createRecordedLog, type RecordedLog } from '../../../harness/checks/recorded-log.js';
import { closeFaultyNodes, startFaultyNode } from '../../../harness/servers/faulty-node.js';
import type { TestVenue } from '../../../harness/venue/own-venue.js';
import { sharedVenue } from '../../../harness/venue/shared-venue.js';

/** Two ways to one real node, each of them as bad as the test wants. */

let sandbox: TestVenue;
let controls: ChainControls;
let first: FaultProxy;
let second: FaultProxy;
let chain: Chain;
let clock: ShiftedClock;
let log: RecordedLog;

beforeAll(async () => {
  sandbox = await sharedVenue();
  const [only] = sandbox.controls.chains;
  if (!only) throw new Error('the sandbox has no chain');
  controls = only;
});
afterAll(() => sandbox.stop());

beforeEach(async () => {
  first = await createFaultProxy({ target: controls.rpcUrl, clock: systemClock });
  second = await createFaultProxy({ target: controls.rpcUrl, clock: systemClock });
  log = createRecordedLog();
  clock = createShiftedClock();
  chain = chainOf([withKey(first.url), withKey(second.url)]);
});
afterEach(closeFaultyNodes);
afterEach(() => Promise.all([first.close(), second.close()]));

const chainOf = (rpcUrls: readonly string[]): Chain => createViemChain({ definition: controls.definition, rpcUrls, clock, log });

/** As providers have it: the key is in the path, in the query and before the host. */
const withKey = (url: string): string => url.replace('http://', 'http://user:hunter2@').concat('/v2/SECRET-KEY?token=SECRET-KEY');
const hostOf = ({ url }: FaultProxy): string => new URL(url).host;
const balance = (): Promise<bigint> => chain.nativeBalance(sandbox.controls.accounts.trader.address);
const states = (): string[] => chain.endpoints().map(({ state }) => state);
const callsTo = (proxy: FaultProxy, method: string): number => proxy.counters().calls[method] ?? 0;
const published = (): string =>
  JSON.stringify([log.entries, chain.endpoints()], (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value));

/** A second passes before each look. */
const lookUntil = (wanted: readonly string[]): Promise<string[]> =>
  eventually(
    async () => {
      clock.move(1_000);
      await balance();
      return states();
    },
    (seen) => seen.join() === wanted.join(),
  );

describe('with two nodes,', () => {
  it('the first that is named answers, and the other is only looked at now and then', async () => {
    for (let round = 0; round < 20; round += 1) await balance();
    expect(callsTo(first, 'eth_getBalance')).toBe(20);
    expect(callsTo(second, 'eth_getBalance')).toBe(0);
    expect(
      await eventually(
        () => chain.endpoints()[1]?.head ?? null,
        (head) => head !== null,
      ),
    ).toBeGreaterThan(0n);
    expect(callsTo(second, 'eth_blockNumber')).toBe(1);
    expect(chain.endpoints()[0]).toMatchObject({ host: hostOf(first), state: 'ok', failures: 0, latencyMs: expect.any(Number) });
  });

  it('one that is down is skipped at once, reported by its host alone, and used again once it is back', async () => {
    first.set({ mode: 'down' });
    await balance();
    expect(states()).toEqual(['resting', 'ok']);
    expect(chain.endpoints()[0]).toMatchObject({ failures: 1, lastError: { text: expect.stringMatching(/^cannot be reached/) } });
    first.set({ mode: 'ok' });
    await lookUntil(['ok', 'ok']);
    first.resetCounters();
    await balance();
    expect(callsTo(first, 'eth_getBalance')).toBe(1);
    expect(published()).toContain(hostOf(first));
    expect(published()).not.toMatch(/SECRET-KEY|hunter2/);
  });

  it.each([
    ['an answer', -32005, 'key SECRET-KEY of user (dXNlcjpodW50ZXIy) has no access'],
    ['a refusal of all', -32600, 'unauthorized: SECRET-KEY'],
  ])('one that repeats its key in %s is reported without it', async (_, code, message) => {
    const odd = await startFaultyNode((_request, response, body) => {
      const refusal = { jsonrpc: '2.0', id: 0, error: { code, message } };
      response.end(JSON.stringify(body.startsWith('[') && code === -32005 ? [refusal, { ...refusal, id: 1 }] : refusal));
    });
    chain = chainOf([withKey(odd.url.replace(/\/$/, ''))]);
    await expect(balance()).rejects.toThrow();
    chain = chainOf([withKey(odd.url.replace(/\/$/, '')), withKey(second.url)]);
    await balance();
    expect(published()).toContain('[redacted]');
    expect(published()).not.toMatch(/SECRET-KEY|hunter2|dXNlcjpodW50ZXIy/);
  });

  it('one that hangs costs one wait, not one for every question', async () => {
    first.set({ mode: 'slow', latencyMs: 600_000 });
    await balance();
    expect(chain.endpoints()[0]).toMatchObject({ state: 'resting', lastError: { text: 'no answer within 3 s' } });
    first.resetCounters();
    for (let round = 0; round < 20; round += 1) await balance();
    expect(callsTo(first, 'eth_getBalance')).toBe(0);
  });

  it('one whose head lags far behind is asked for neither head nor logs until it has caught up', async () => {
    const old = await chain.head();
    await controls.mine(60);
    await eventually(
      async () => (await chainOf([first.url]).head()).number,
      (number) => number > old.number + 50n,
    );
    const real = await chainOf([second.url]).head();
    const behind = first.onRequest((body) => oldHead(body, old.number));
    chain = chainOf([first.url, second.url]);
    await eventually(
      async () => (clock.move(1_000), await chain.head(), chain.endpoints()),
      ([own, other]) => own?.state === 'lagging' && other?.head !== null,
    );
    first.resetCounters();
    expect((await chain.head()).number).toBeGreaterThanOrEqual(real.number);
    expect((await chain.logs(real.number - 3n, real.number)).blocks.at(-1)?.number).toBe(real.number);
    expect([callsTo(first, 'eth_getLogs'), callsTo(first, 'eth_getBlockByNumber')]).toEqual([0, 0]);
    second.set({ mode: 'down' });
    await expect(chain.head()).rejects.toThrow(`${hostOf(first)}: `);
    expect(callsTo(first, 'eth_getBlockByNumber')).toBe(0);
    second.set({ mode: 'ok' });
    behind();
    await lookUntil(['ok', 'ok']);
  });

  it.each([
    ['an internal error', { code: -32603, message: 'internal error' }],
    ['a rate limit', { code: -32005, message: 'rate limit exceeded' }],
    ['a spent quota', { code: -32000, message: 'daily request quota exceeded' }],
  ])('one that answers %s is skipped', async (_what, error) => {
    first.onRequest(() => ({ answer: { error } }));
    await balance();
    expect(chain.endpoints()[0]).toMatchObject({ state: 'resting', lastError: { text: error.message } });
    expect(callsTo(second, 'eth_getBalance')).toBe(1);
  });

  it('one that answers 429 rests as long as its Retry-After says', async () => {
    const recover = first.onRequest(() => ({ status: 429, headers: { 'retry-after': '30' } }));
    await balance();
    first.resetCounters();
    for (let round = 0; round < 5; round += 1) await balance();
    clock.move(29_000); // far longer than a first rest would be
    await balance();
    expect(first.counters().roundTrips).toBe(0);
    expect(chain.endpoints()[0]).toMatchObject({ state: 'resting', lastError: { text: 'HTTP 429' } });
    recover();
    clock.move(6_000);
    expect(await lookUntil(['ok', 'ok'])).toEqual(['ok', 'ok']);
    expect(first.counters().roundTrips).toBeGreaterThan(0);
  });

  it('a revert is an answer, and the other node is not asked', async () => {
    await balance();
    first.onRequest((body) =>
      says(body, 'eth_getBalance') ? { answer: { error: { code: 3, message: 'execution reverted' } } } : undefined,
    );
    await expect(balance()).rejects.toThrow();
    expect(states()).toEqual(['ok', 'ok']);
    expect(callsTo(second, 'eth_getBalance')).toBe(0);
  });

  it('one that lacks the requested block sends the call to the other node, and neither rests', async () => {
    await balance();
    first.onRequest((body) =>
      says(body, 'eth_getBalance') ? { answer: { error: { code: -32000, message: 'header not found' } } } : undefined,
    );
    await balance();
    expect(states()).toEqual(['ok', 'ok']);
  });

  it('one that fails now and then rests longer each time, and no caller sees a failure', async () => {
    let turn = 0;
    first.onRequest(() => ((turn += 1) % 2 === 0 ? 'refuse' : undefined));
    const rests = (): number => log.entries.filter(({ event }) => event === 'chain.endpoint-rests').length;
    await eventually(
      async () => (clock.move(1_000), await balance(), rests()),
      (count) => count >= 3,
    );
    expect(chain.endpoints()[0]?.failures).toBeGreaterThanOrEqual(3);
    expect(log.entries.filter(({ event }) => event === 'chain.endpoint-back').length).toBeGreaterThanOrEqual(2);
  });

  it('a broken connection does not lose a transaction that is sent', async () => {
    first.onRequest((body) => (says(body, 'eth_sendRawTransaction') ? 'reset' : undefined));
    const { verdict } = await chain.relay.send('0x02c0');
    expect(verdict).not.toBe('accepted'); // it is no transaction, and a node has said so
    expect(callsTo(second, 'eth_sendRawTransaction')).toBe(1);
  });

  it('and both gone, the refusal names both hosts and no key', async () => {
    first.set({ mode: 'down' });
    second.onRequest(() => 'refuse');
    const error = await balance().then(String, (reason: unknown) => (reason instanceof Error ? reason.message : String(reason)));
    expect(error).toMatch(`no node answered: ${hostOf(first)}: cannot be reached`);
    expect(error).toContain(`${hostOf(second)}: HTTP 503`);
    expect(error).not.toMatch(/SECRET-KEY|hunter2/);
  });
});

const says = (body: unknown, method: string): boolean => JSON.stringify(body).includes(`"${method}"`);

/** A node that has stopped following the chain. */
function oldHead(body: unknown, number: bigint): { answer: unknown } | undefined {
  const hex = `0x${number.toString(16)}`;
  if (says(body, 'eth_blockNumber') && !Array.isArray(body)) return { answer: hex };
  if (says(body, 'latest') && says(body, 'eth_getBlockByNumber'))
    return { answer: { number: hex, hash: hash(1), parentHash: hash(0), timestamp: '0x1' } };
  return undefined;
}

const hash = (digit: number): string => `0x${String(digit).repeat(64)}`;
