import pg from 'pg';
import { venueOf } from '../../../core/gateway.js';
import { appendTag } from '../../../core/trading/encode-intent.js';
import { systemClock } from '../../../core/adapters/system/clock.js';
import type { ChainControls } from '../../../sandbox/controls.js';
import { createFaultProxy, type FaultProxy } from '../../../sandbox/fault-proxy.js';
import type { Fate } from '../../../sandbox/fault-plan.js';
import { expectViewEqualsChain, lowerOf } from '../../harness/diamond/chain-checker.js';
import { newTrader, type ChainTrader } from '../../harness/traders/chain-trader.js';
import { createTestDatabase, type TestDatabase } from '../../harness/database/test-database.js';
import { topicOf } from '../../harness/diamond/cut-diamond.js';
import { diamondCall, price } from '../../harness/diamond/diamond-calls.js';
import { eventually, eventuallyOn } from '../../harness/time/eventually.js';
import { createShiftedClock } from '../../harness/time/shifted-clock.js';
import { startSecondGateway, type SecondGateway } from '../../harness/venue/second-gateway.js';
import { orderDraft } from '../../harness/traders/order-draft.js';
import { firstChain } from '../../harness/venue/first-chain.js';
import { startOwnVenue, type TestVenue } from '../../harness/venue/own-venue.js';

/** A gateway with a database of its own, behind a proxy that causes the faults of nodes and networks. */

const CHAIN = 'arbitrum-sepolia';
const LIMIT = { tradeType: 1, openPrice: price(30_000) };
let sandbox: TestVenue;
let chain: ChainControls;
let database: TestDatabase;
let proxy: FaultProxy;
let running: SecondGateway | null = null;
let gateway: SecondGateway;
/** Of the gateways behind the proxy. */
const clock = createShiftedClock();
/** After this long it reads blocks again. */
const REREAD_MS = 5_000;

beforeAll(async () => {
  sandbox = await startOwnVenue();
  chain = firstChain(sandbox);
  sandbox.controls.prices.jump(0, '60000');
  database = await createTestDatabase();
  proxy = await createFaultProxy({ target: chain.rpcUrl, clock: systemClock });
});
afterAll(async () => {
  await stop();
  await proxy.close();
  await database.drop();
  await sandbox.stop();
});
beforeEach(() => {
  if (running) running.log.entries.length = 0;
});

/** The first test starts it; the tests after it go on with what it has followed. */
async function start(): Promise<SecondGateway> {
  const config = { ...sandbox.config, database: { kind: 'server' as const, url: database.url } };
  running = await startSecondGateway({ ...sandbox, config }, { hosts: { rpcUrls: [proxy.url] }, clock });
  return running;
}

async function stop(): Promise<void> {
  await running?.stop();
  running = null;
}

/** For what a follower does only after a rest: the time of its clock passes faster meanwhile. */
const soon = eventuallyOn(() => clock);

async function caughtUp({ gateway }: SecondGateway): Promise<void> {
  const head = venueOf(sandbox.gateway, CHAIN).state.head?.block.number ?? 0n;
  await eventually(
    () => venueOf(gateway, CHAIN).state.followed.block ?? -1n,
    (block) => block >= head,
  );
}

async function place({ gateway }: SecondGateway, trader: ChainTrader): Promise<{ id: bigint; data: `0x${string}` }> {
  const draft = orderDraft(CHAIN, trader.account.address, { trade: LIMIT, forMs: 600_000 });
  const answer = await gateway.store.orders.place(draft);
  if (answer.kind !== 'placed') throw new Error(answer.kind);
  return { id: answer.stored.id, data: draft.data };
}

async function placeTakeProfit({ gateway }: SecondGateway, trader: ChainTrader, tradeIndex: number) {
  const order = { action: 'close', type: 'limit', reduceOnly: true, long: false, tradeIndex, price: price(61_000) } as const;
  const draft = orderDraft(CHAIN, trader.account.address, { order, forMs: 600_000 });
  const data = appendTag(diamondCall('updateTp', [tradeIndex, order.price]), draft.tag);
  const answer = await gateway.store.orders.place({ ...draft, data });
  if (answer.kind !== 'placed') throw new Error(answer.kind);
  return { id: answer.stored.id, data };
}

const reaches = ({ gateway }: SecondGateway, trader: ChainTrader, id: bigint, status: string) =>
  soon(
    async () => (await gateway.store.orders.find(CHAIN, lowerOf(trader), id))?.order.status,
    (found) => found === status,
  );
const allOf = ({ gateway }: SecondGateway, trader: ChainTrader) => gateway.store.account.ordersBefore(CHAIN, lowerOf(trader), null, 100);

interface Question {
  readonly id: number;
  readonly method: string;
  readonly params?: readonly unknown[];
}
interface LogRow {
  readonly transactionHash: string;
  readonly topics: readonly string[];
  readonly data: string;
}

const questionsIn = (body: unknown): Question[] => (Array.isArray(body) ? (body as Question[]) : [body as Question]);

const isAbout = (trader: ChainTrader, { topics, data }: LogRow): boolean =>
  [...topics, data].some((text) => text.includes(lowerOf(trader).slice(2)));

/** The node's own answer with some logs left out. */
const withoutLogs = (body: unknown, isLeftOut: (log: LogRow) => boolean): Promise<Fate | undefined> =>
  answeredWith(body, 'eth_getLogs', (result) => (result as LogRow[]).filter((log) => !isLeftOut(log)));

/** The node's own answer, but for the results of one method. */
async function answeredWith(body: unknown, changed: string, change: (result: unknown) => unknown): Promise<Fate | undefined> {
  if (!questionsIn(body).some(({ method }) => method === changed)) return undefined;
  const reply = await fetch(chain.rpcUrl, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
  const answers = (await reply.json()) as { id: number; result: unknown }[] | { id: number; result: unknown };
  const cut = (answer: { id: number; result: unknown }) =>
    questionsIn(body).find(({ id, method }) => id === answer.id && method === changed)
      ? { ...answer, result: change(answer.result) }
      : answer;
  return { reply: Array.isArray(answers) ? answers.map(cut) : cut(answers) };
}

describe('a follower on a rough node', () => {
  it('asks for less when the node refuses long ranges, and gets everything', async () => {
    const trader = await newTrader(chain);
    await trader.open(LIMIT);
    await trader.open({ openPrice: price(60_000) });
    await chain.mine(60);
    const end = proxy.onRequest((body) => {
      const tooLong = questionsIn(body).some(({ method, params }) => {
        const { fromBlock, toBlock } = (params?.[0] ?? {}) as { fromBlock?: string; toBlock?: string };
        return method === 'eth_getLogs' && Number(toBlock) - Number(fromBlock) >= 20;
      });
      return tooLong ? { status: 413 } : undefined;
    });
    gateway = await start();
    await caughtUp(gateway);
    end();
    expect(await allOf(gateway, trader)).toHaveLength(2);
    await expectViewEqualsChain(gateway.gateway, CHAIN, trader);
  });

  it('finds logs that a node returned later than their block, and the order they belong to', async () => {
    const trader = await newTrader(chain);
    const { id, data } = await place(gateway, trader);
    const reveal = proxy.onRequest((body) => withoutLogs(body, (log) => isAbout(trader, log)));
    const hash = await trader.send(chain.definition.diamond, data);
    const { blockNumber } = await trader.client.getTransactionReceipt({ hash });
    await chain.mine(1);
    await soon(
      () => venueOf(gateway.gateway, CHAIN).state.followed.block ?? 0n,
      (block) => block > blockNumber,
    );
    expect((await gateway.gateway.store.orders.find(CHAIN, lowerOf(trader), id))?.order.status).toBe('prepared');
    reveal();
    clock.pass(REREAD_MS);
    await reaches(gateway, trader, id, 'open');
    expect(await allOf(gateway, trader)).toHaveLength(1);
    await eventually(
      () => gateway.log.entries.some(({ event }) => event === 'chain.late-logs'),
      (isPublished) => isPublished,
    );
    await expectViewEqualsChain(gateway.gateway, CHAIN, trader);
  });

  it('reads again from a take profit whose log came only after the position had another', async () => {
    const trader = await newTrader(chain);
    await trader.open({ openPrice: price(60_000) });
    const [{ index } = { index: 0 }] = await eventually(
      () => trader.trades(),
      (trades) => trades.length === 1,
    );
    await expectViewEqualsChain(gateway.gateway, CHAIN, trader);
    const { id, data } = await placeTakeProfit(gateway, trader, index);
    const askedFrom: bigint[] = [];
    let late: string | null = null;
    const end = proxy.onRequest((body) => {
      const isBack = gateway.log.entries.some(({ event }) => event === 'chain.read-again');
      if (!isBack) return withoutLogs(body, (log) => (late === null ? isAbout(trader, log) : log.transactionHash === late));
      const asked = questionsIn(body).find(({ method }) => method === 'eth_getLogs')?.params?.[0] as { fromBlock?: string } | undefined;
      if (asked?.fromBlock !== undefined) askedFrom.push(BigInt(asked.fromBlock));
      return undefined;
    });
    const hash = await trader.send(chain.definition.diamond, data);
    const { blockNumber } = await trader.client.getTransactionReceipt({ hash });
    late = hash;
    const second = await trader.send(chain.definition.diamond, diamondCall('updateTp', [index, price(62_000)]));
    const { blockNumber: secondBlock } = await trader.client.getTransactionReceipt({ hash: second });
    await soon(
      () => venueOf(gateway.gateway, CHAIN).state.followed.block ?? 0n,
      (block) => block >= secondBlock,
    );
    late = '';
    clock.pass(REREAD_MS);
    await reaches(gateway, trader, id, 'canceled');
    end();
    expect(askedFrom[0]).toBe(blockNumber);
    const timeline = await gateway.gateway.store.orders.timeline(CHAIN, lowerOf(trader), id);
    expect(timeline?.events.map(({ event }) => event.kind)).toEqual(['prepared', 'guarded', 'guardGone']);
    await expectViewEqualsChain(gateway.gateway, CHAIN, trader);
  });

  it('says that it stands still when a node has no receipt for ever, and goes on when it has', async () => {
    const trader = await newTrader(chain);
    const executed = topicOf('MarketExecuted');
    const isHidden = ({ topics }: LogRow): boolean => topics[0] === executed;
    const end = proxy.onRequest(
      async (body) => (await answeredWith(body, 'eth_getTransactionReceipt', () => null)) ?? withoutLogs(body, isHidden),
    );
    await trader.open({ openPrice: price(60_000) });
    const { followed } = venueOf(gateway.gateway, CHAIN).state;
    await soon(
      async () => (await gateway.gateway.store.alerts.open()).map(({ kind }) => kind),
      (kinds) => kinds.includes('index-jammed'),
    );
    expect(followed.failing?.fault).toContain('has no receipt');
    const ready = await fetch(`${gateway.url}/ready`);
    expect([ready.status, await ready.text()]).toEqual([503, expect.stringContaining('has no receipt')]);
    end();
    await soon(
      () => followed.failing,
      (failing) => failing === null,
    );
    await soon(
      async () => (await gateway.gateway.store.alerts.open()).map(({ kind }) => kind),
      (kinds) => !kinds.includes('index-jammed'),
    );
    await expectViewEqualsChain(gateway.gateway, CHAIN, trader);
  });

  it.each([
    ['a pending block', { number: null, hash: null, timestamp: '0x1' }],
    ['a list', []],
    ['a text', 'soon'],
  ])('goes on when the node once gave %s for its newest block', async (_, nonsense) => {
    let sent = 0;
    const end = proxy.onRequest((body) => {
      const isHead = questionsIn(body).some(({ method, params }) => method === 'eth_getBlockByNumber' && params?.[0] === 'latest');
      if (!isHead || Array.isArray(body)) return undefined;
      sent += 1;
      return { answer: { result: nonsense } };
    });
    await soon(
      () => sent,
      (count) => count > 1,
    );
    end();
    const before = venueOf(gateway.gateway, CHAIN).state.followed.block ?? 0n;
    await chain.mine(1);
    await soon(
      () => venueOf(gateway.gateway, CHAIN).state.followed.block ?? 0n,
      (block) => block > before,
    );
  });
});

async function ask(sql: string, values: unknown[] = []): Promise<unknown[]> {
  const client = new pg.Client(database.url);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql, values)).rows;
  } finally {
    await client.end();
  }
}

describe('a follower that loses its connection to the database', () => {
  /** What its transaction waits for when the connection is ended: the first thing it asks, the order's row, the last thing it writes. */
  const STEPS = {
    'before it has read anything': 'select 1 from chain_cursors for update',
    'when it has read the blocks and not stored them': 'select 1 from orders for update',
    'when all is written and nothing committed': 'select 1 from account_cursors for update',
  } as const;

  let trader: ChainTrader | undefined;

  it.each(Object.entries(STEPS))('%s, stores the blocks once', async (_when, lock) => {
    trader ??= await newTrader(chain);
    const { id, data } = await place(gateway, trader);
    const holder = new pg.Client(database.url);
    await holder.connect();
    await holder.query('begin');
    await holder.query(lock);
    try {
      await trader.send(chain.definition.diamond, data);
      const [blocked] = await eventually(
        () =>
          ask(
            `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
             and pid in (select pid from pg_locks where relation = 'chain_cursors'::regclass)`,
          ),
        (rows) => rows.length > 0,
      );
      await ask('select pg_terminate_backend($1)', [(blocked as { pid: number }).pid]);
    } finally {
      await holder.query('rollback');
      await holder.end();
    }
    await reaches(gateway, trader, id, 'open');
    const entries = await gateway.gateway.store.journal.after(CHAIN, lowerOf(trader), 0n, 50);
    expect(entries.flatMap(({ fact }) => (fact.kind === 'order' && fact.id === id ? [fact.order.status] : []))).toEqual([
      'prepared',
      'open',
    ]);
    expect(entries.every(({ fact }) => fact.kind === 'order')).toBe(true);
    await expectViewEqualsChain(gateway.gateway, CHAIN, trader);
  });
});

describe('a follower that was away', () => {
  it('links what happened while it was away, over more blocks than it reads whole', async () => {
    const trader = await newTrader(chain);
    const { id, data } = await place(gateway, trader);
    await stop();
    const hash = await trader.send(chain.definition.diamond, data);
    await chain.mine(40);
    gateway = await start();
    await reaches(gateway, trader, id, 'open');
    expect((await gateway.gateway.store.orders.find(CHAIN, lowerOf(trader), id))?.hashes).toEqual([hash]);
    await expectViewEqualsChain(gateway.gateway, CHAIN, trader);
  });

  it('begins anew when its block left the chain and it has no checkpoints', async () => {
    const trader = await newTrader(chain);
    const { id, data } = await place(gateway, trader);
    await trader.send(chain.definition.diamond, data);
    await trader.open({ openPrice: price(60_000) });
    await reaches(gateway, trader, id, 'open');
    await expectViewEqualsChain(gateway.gateway, CHAIN, trader);
    const ids = (await allOf(gateway, trader)).map((order) => order.id);
    await stop();
    await ask('delete from chain_checkpoints');
    await chain.reorg(3, false);
    gateway = await start();
    await caughtUp(gateway);
    await expectViewEqualsChain(gateway.gateway, CHAIN, trader);
    expect((await allOf(gateway, trader)).map((order) => order.id)).toEqual(ids);
  });
});
