import { Wallet } from 'ethers';
import { generatePrivateKey } from 'viem/accounts';
import { DELEGATE_MAX_AGE_MS } from '../../core/access/delegation.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { newTrader } from '../harness/traders/chain-trader.js';
import { expectViewEqualsChain, lowerOf } from '../harness/diamond/chain-checker.js';
import { diamondCall, price } from '../harness/diamond/diamond-calls.js';
import { eventually } from '../harness/time/eventually.js';
import { startSecondGateway } from '../harness/venue/second-gateway.js';
import { agentsOf, authorization, domainOf, keyIssue, revocation, signWith } from '../harness/traders/master-wallet.js';
import { createShiftedClock } from '../harness/time/shifted-clock.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { reorgAway } from '../harness/diamond/reorg-away.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';
import { venueDatabase } from '../harness/venue/venue-database.js';

const CHAIN = 'arbitrum-sepolia';
const BASE = `/v1/${CHAIN}`;
let sandbox: TestVenue;
let chain: ChainControls;

beforeAll(async () => {
  sandbox = await startOwnVenue();
  chain = firstChain(sandbox);
  sandbox.controls.prices.jump(1, '3000');
});
afterAll(() => sandbox.stop());

interface Event {
  readonly cursor: number;
  readonly kind: string;
  readonly at: number;
  readonly data: Record<string, unknown>;
}

interface Page {
  readonly status: number;
  readonly data: readonly Event[];
  readonly nextCursor: number | null;
  readonly body: unknown;
}

/** A trader and the key that reads its account. */
async function newReader() {
  const trader = await newTrader(chain);
  const wallet = new Wallet(trader.privateKey);
  const issue = await keyIssue(signWith(wallet, await domainOf(sandbox)), wallet.address, 'desk');
  const { apiKey } = (await sandbox.post(`${BASE}/api-keys`, issue)).body as { apiKey: string };
  const path = `${BASE}/account/${wallet.address}/events`;
  const events = async (query = '?limit=500', url = sandbox.url): Promise<Page> => {
    const headers = { 'X-Service-Api-Key': apiKey };
    const reply = url === sandbox.url ? await sandbox.get(path + query, headers) : await fetchJson(url + path + query, headers);
    return { data: [], nextCursor: null, ...(reply.body as object), status: reply.status, body: reply.body };
  };
  return { trader, wallet, apiKey, events };
}

async function fetchJson(url: string, headers: Record<string, string>) {
  const response = await fetch(url, { headers });
  return { status: response.status, body: await response.json() };
}

type Reader = Awaited<ReturnType<typeof newReader>>;

const open = ({ trader }: Reader) => trader.open({ pairIndex: 1, openPrice: price(3000) }, 50_000);
const openPositions = ({ data }: Page) => data.filter(({ kind, data: { isOpen } }) => kind === 'position' && isOpen === true);
const untilOpened = ({ events }: Reader, count: number): Promise<Page> =>
  eventually(
    () => events(),
    (page) => openPositions(page).length === count,
  );
const cursors = ({ data }: Pick<Page, 'data'>): number[] => data.map(({ cursor }) => cursor);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1);

describe('the journal of an account', () => {
  /** Goes on from test to test. */
  let reader: Reader;
  beforeAll(async () => {
    reader = await newReader();
  });

  it('holds an order, its fill and its position, in order, in the shapes of the other reads', async () => {
    expect(await reader.events()).toMatchObject({ status: 200, data: [], nextCursor: null });
    await open(reader);
    const { data, nextCursor } = await untilOpened(reader, 1);
    expect(nextCursor).toBeNull();
    expect(cursors({ data })).toEqual(upTo(data.length));
    expect(data.filter(({ kind }) => kind === 'order').map(({ data: { status } }) => status)).toEqual(['pending', 'filled']);
    const order = data.findLast(({ kind }) => kind === 'order')?.data;
    const read = await sandbox.get(`${BASE}/orders/${String(order?.['id'])}`, { 'X-Service-Api-Key': reader.apiKey });
    expect(order).toEqual(read.body);
    const fills = await sandbox.get(`${BASE}/account/${reader.wallet.address}/fills`, { 'X-Service-Api-Key': reader.apiKey });
    expect(data.filter(({ kind }) => kind === 'fill').map((event) => event.data)).toEqual((fills.body as { data: unknown }).data);
    const positions = await sandbox.get(`${BASE}/account/${reader.wallet.address}/positions`, { 'X-Service-Api-Key': reader.apiKey });
    const [position] = (positions.body as { data: Record<string, unknown>[] }).data;
    const { isOpen, ...published } = data.find(({ kind }) => kind === 'position')?.data ?? {};
    expect(isOpen).toBe(true);
    expect(position).toMatchObject(published);
  });

  it('is read in pages of any size without a loss or a repeat', async () => {
    await open(reader);
    const whole = await untilOpened(reader, 2);
    for (const limit of [1, 3, whole.data.length - 1, whole.data.length]) {
      const read: Event[] = [];
      for (let next: number | null = 0; next !== null;) {
        const page = await reader.events(`?after=${next}&limit=${limit}`);
        expect(page.data.length).toBeLessThanOrEqual(limit);
        read.push(...page.data);
        next = page.nextCursor;
      }
      expect(read).toEqual(whole.data);
    }
    expect((await reader.events(`?after=${whole.data.length}`)).data).toEqual([]);
  });

  it('goes on where a client stopped reading, on another gateway and after a restart', async () => {
    const read: Event[] = [...(await reader.events()).data];
    const catchUp = async (url: string, count: number): Promise<void> => {
      const page = await eventually(
        () => reader.events(`?after=${read.at(-1)?.cursor ?? 0}&limit=500`, url),
        ({ data, status }) => status === 200 && read.filter(isOpening).length + data.filter(isOpening).length === count,
      );
      read.push(...page.data);
    };
    const beside = await startSecondGateway(sandbox);
    await open(reader);
    await catchUp(beside.url, 3);
    await open(reader);
    await beside.stop();
    const again = await startSecondGateway(sandbox);
    await catchUp(again.url, 4);
    await again.stop();
    expect(read).toEqual((await reader.events()).data);
    expect(cursors({ data: read })).toEqual(upTo(read.length));
  });

  it('is readable by its owner alone, and refuses cursors it never gave out', async () => {
    const stranger = await newReader();
    const reply = await sandbox.get(`${BASE}/account/${stranger.wallet.address}/events`, { 'X-Service-Api-Key': reader.apiKey });
    expect([reply.status, (reply.body as { code: string }).code]).toEqual([403, 'TRADER_MISMATCH']);
    const foreign = (await reader.events()).data.at(-1)?.cursor ?? 0;
    for (const query of [`after=${foreign}`, 'after=1', 'after=999999999999999'])
      expect(await stranger.events(`?${query}`)).toMatchObject({ status: 400, body: { code: 'VALIDATION_ERROR' } });
    for (const query of [
      'after=-1',
      'after=1.5',
      'after=',
      'after=01',
      'after=x',
      'after=9007199254740993',
      'limit=0',
      'limit=501',
      'cursor=1',
    ])
      expect(await reader.events(`?${query}`)).toMatchObject({ status: 400, body: { code: 'VALIDATION_ERROR' } });
  });

  it('holds every change of agents, also of one that another trader takes', async () => {
    const [owner, rival] = [await newReader(), await newReader()];
    const agentWallet = new Wallet(generatePrivateKey());
    const agents = agentsOf(sandbox);
    const domain = await domainOf(sandbox);
    const authorise = async ({ wallet }: Reader, name: string, consents = false) => {
      const options = { trader: wallet.address, agent: agentWallet.address, name, ...(consents ? { agentWallet } : {}) };
      expect((await agents.create(await authorization(domain, signWith(wallet, domain), options))).status).toBe(201);
    };
    await authorise(owner, 'first');
    await authorise(owner, 'renamed');
    await authorise(rival, 'taken', true);
    expect((await owner.events()).data.map(({ kind, data: { name, status } }) => [kind, name, status])).toEqual([
      ['agent', 'first', 'pending_delegation'],
      ['agent', 'renamed', 'pending_delegation'],
      ['agent', 'renamed', 'revoked'],
    ]);
    const body = await revocation(signWith(rival.wallet, domain), rival.wallet.address, agentWallet.address, Date.now() + 1);
    expect((await agents.revoke(agentWallet.address, body)).status).toBe(200);
    expect((await rival.events()).data.map(({ data: { name, status } }) => [name, status])).toEqual([
      ['taken', 'pending_delegation'],
      ['taken', 'revoked'],
    ]);
  });

  it('is readable while no node answers, the agents as they were last seen', async () => {
    const owner = await newReader();
    const agent = new Wallet(generatePrivateKey()).address as `0x${string}`;
    const domain = await domainOf(sandbox);
    const options = { trader: owner.wallet.address, agent };
    expect((await agentsOf(sandbox).create(await authorization(domain, signWith(owner.wallet, domain), options))).status).toBe(201);
    const clock = createShiftedClock();
    const beside = await startSecondGateway(sandbox, { clock });
    const statuses = async () => (await owner.events('', beside.url)).data.map(({ kind, data: { status } }) => `${kind} ${String(status)}`);
    try {
      expect(await eventually(statuses, ({ length }) => length === 1)).toEqual(['agent pending_delegation']);
      await owner.trader.send(chain.definition.diamond, diamondCall('setTradingDelegate', [agent]));
      expect(await statuses()).toEqual(['agent active']);
      chain.setRpcFault({ mode: 'down' });
      clock.move(DELEGATE_MAX_AGE_MS);
      expect(await statuses()).toEqual(['agent active']);
      expect(await statuses()).toEqual(['agent active']);
    } finally {
      chain.setRpcFault({ mode: 'ok' });
      await beside.stop();
    }
  });

  it('takes nothing back when the chain does: it says what is true instead', async () => {
    const owner = await newReader();
    await open(owner);
    const before = await untilOpened(owner, 1);
    const { blockNumber } = await owner.trader.client.getTransactionReceipt({ hash: String(lastFill(before)) as `0x${string}` });
    await reorgAway(chain, owner.trader.client, blockNumber);
    const after = await eventually(
      () => owner.events(),
      ({ data }) => data.some(({ kind }) => kind === 'correction'),
    );
    expect(after.data.slice(0, before.data.length)).toEqual(before.data);
    const corrections = after.data.filter(({ kind }) => kind === 'correction').map(({ data }) => data);
    const order = before.data.findLast(({ kind }) => kind === 'order')?.data;
    expect(corrections).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ of: 'order', id: order?.['id'] }) as unknown,
        { of: 'fill', id: before.data.find(({ kind }) => kind === 'fill')?.data['id'], now: null },
        { of: 'position', id: openPositions(before)[0]?.data['id'], now: null },
      ]),
    );
    await expectViewEqualsChain(sandbox.gateway, CHAIN, owner.trader);
    const { data } = await owner.events();
    expect(cursors({ data })).toEqual(upTo(data.length));
    const listed = await sandbox.get(`${BASE}/account/${owner.wallet.address}/orders`, { 'X-Service-Api-Key': owner.apiKey });
    expect(replayed(data)).toEqual((listed.body as { data: unknown }).data);
  });
});

/** The open orders of a client that only ever read the journal. */
function replayed(data: readonly Event[]): unknown[] {
  const orders = new Map<unknown, Record<string, unknown> | null>();
  for (const { kind, data: changed } of data) {
    if (kind === 'order') orders.set(changed['id'], changed);
    if (kind === 'correction' && changed['of'] === 'order') orders.set(changed['id'], changed['now'] as Record<string, unknown> | null);
  }
  return [...orders.values()].filter((order) => order !== null && ['pending', 'open', 'timed_out'].includes(String(order['status'])));
}

const isOpening = ({ kind, data }: Event): boolean => kind === 'position' && data['isOpen'] === true;
const lastFill = ({ data }: Page): unknown => data.findLast(({ kind }) => kind === 'fill')?.data['txHash'];

describe('every replica', () => {
  it('receives each entry once and in order, also when its connection to the database is cut', async () => {
    const reader = await newReader();
    const beside = await startSecondGateway(sandbox);
    const received = [sandbox.gateway, beside.gateway].map(({ bus }) => {
      const own: bigint[] = [];
      bus.on('journal', ({ entries }) =>
        own.push(...entries.filter(({ trader }) => trader === lowerOf(reader.trader)).map(({ cursor }) => cursor)),
      );
      return own;
    });
    const client = await venueDatabase(sandbox);
    try {
      for (let round = 1; round <= 2; round += 1) {
        const { rowCount } = await client.query(
          `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'diamond-gateway journal'`,
        );
        expect(rowCount).toBeGreaterThan(0);
        await open(reader);
        await untilOpened(reader, round);
      }
      const { data } = await reader.events();
      for (const own of received)
        await eventually(
          () => own.length,
          (length) => length >= data.length,
        );
      for (const own of received) expect(own.map(Number)).toEqual(upTo(own.length));
    } finally {
      await client.end();
      await beside.stop();
    }
  });
});
