import { venueOf } from '../../../core/gateway.js';
import type { ChainControls } from '../../../sandbox/controls.js';
import {
  agentTrader,
  BUSY_AGENTS,
  done,
  newAgentTrader,
  prepared,
  type AgentTrader,
  type Json,
} from '../../harness/traders/agent-trader.js';
import { expectViewEqualsChain } from '../../harness/diamond/chain-checker.js';
import { DEPTHS } from '../../harness/diamond/reorg-depths.js';
import { diamondCall, price } from '../../harness/diamond/diamond-calls.js';
import { eventually } from '../../harness/time/eventually.js';
import { startSecondGateway } from '../../harness/venue/second-gateway.js';
import { storedOrders } from '../../harness/traders/stored-orders.js';
import { startOwnVenue, type TestVenue } from '../../harness/venue/own-venue.js';
import { throughUrl } from '../../scenarios/through-url.js';

/** Orders that are a TP/SL trigger of a position, through all that a chain does to transactions. */

const [BTC, SOL] = [0, 2];
let sandbox: TestVenue;
let chain: ChainControls;
let own: ReturnType<typeof storedOrders>;
let agent: AgentTrader;
let position: Json;

beforeAll(async () => {
  sandbox = await startOwnVenue(BUSY_AGENTS);
  const [first] = sandbox.controls.chains;
  if (!first) throw new Error('the sandbox has no chain');
  chain = first;
  own = storedOrders(sandbox, chain, venueOf(sandbox.gateway, chain.definition.slug));
  await priceIs('150');
});
afterAll(() => sandbox.stop());

/** One trader with one position for all tests of a group: each leaves the position open, and counts only its own orders. */
async function openPosition(): Promise<void> {
  agent = await newAgentTrader(sandbox, chain, { self: true });
  await agent.place({ market: 'SOL/USD', side: 'long', type: 'market', size: '8', leverage: '10' }, 'filled');
  position = await agent.position();
}

/** Waits until the feed has the price, so that the next order expects it. */
const priceIs = async (at: string, pair = SOL): Promise<void> => {
  sandbox.controls.prices.jump(pair, at);
  await eventually(
    () => venueOf(sandbox.gateway, chain.definition.slug).feed.price(pair),
    ({ index, oracle }) => index === price(Number(at)) && oracle === index,
  );
};
const idOf = (order: Json): string => String(order['id']);
const reducing = (type: string, at: string, more: Json = {}): Json => ({
  ...{ market: 'SOL/USD', side: 'short', type, size: position['size'], price: at, reduceOnly: true },
  ...more,
});
const make = async (wish: Json) => {
  const answer = await agent.create(wish);
  return { id: idOf(done(answer).order), transaction: prepared(answer) };
};
const rest = async (type: string, at: string): Promise<string> => idOf(await agent.place(reducing(type, at), 'open'));
const statusOf = async (id: string) => (await agent.order(id))['status'];
const viewEqualsChain = () => expectViewEqualsChain(sandbox.gateway, chain.definition.slug, agent.trader);
const calm = () => chain.mine(6);
const priced = (id: string, at: string) =>
  eventually(
    () => agent.order(id),
    (order) => order['price'] === at,
  );

/** Each does something to the order of the id, and says by which transaction. */
const SCENES: Readonly<Record<string, (id: string) => Promise<{ hash: `0x${string}`; is: () => Promise<unknown> }>>> = {
  'a move': async (id) => ({
    hash: await agent.send(prepared(await agent.update(id, { price: '165' }))),
    is: () => priced(id, '165'),
  }),
  'a removal': async (id) => ({ hash: await agent.send(prepared(await agent.cancel(id))), is: () => agent.reaches(id, 'canceled') }),
  'a replacement': async (id) => {
    const next = await make(reducing('limit', '161'));
    const hash = await agent.send(next.transaction);
    return { hash, is: () => Promise.all([agent.reaches(id, 'canceled'), agent.reaches(next.id, 'open')]) };
  },
  'what another front end sets': async (id) => ({
    hash: await agent.trader.send(chain.definition.diamond, diamondCall('updateTp', [await slot(), price(170)])),
    is: () => agent.reaches(id, 'canceled'),
  }),
  'a fill': async (id) => {
    await priceIs('161');
    const filled = await agent.reaches(id, 'filled');
    await priceIs('150');
    return { hash: (filled['fill'] as Json)['txHash'] as `0x${string}`, is: () => agent.reaches(id, 'filled') };
  },
};
const slot = async (): Promise<number> => (await agent.trader.trades())[0]?.index ?? 0;

/** Where there is time each scene at every depth, otherwise at one of them in turn. */
const isSlow = process.env['SLOW_TESTS'] === '1';
const depthsOf = (at: number): readonly number[] => (isSlow ? DEPTHS : DEPTHS.slice(at % DEPTHS.length).slice(0, 1));

describe('a reorganisation of an order that is a TP/SL trigger', () => {
  beforeAll(openPosition);

  it('leaves it as it was, whatever it takes back, however deep', async () => {
    const id = await rest('limit', '160');
    const corrections = async () => (await own.journal(agent.trader)).filter((entry) => entry.startsWith(`correction ${id} open`)).length;
    for (const [at, scene] of Object.values(SCENES).entries())
      for (const depth of depthsOf(at)) {
        const known = await corrections();
        await calm();
        const { hash, is } = await scene(id);
        await is();
        await own.undo(agent.trader, hash, depth, true);
        await agent.reaches(id, 'open');
        await priced(id, '160');
        expect(await corrections()).toBeGreaterThan(known);
        await viewEqualsChain();
      }
  });

  it('that takes back its beginning makes it wait again, however deep, and it keeps its id', async () => {
    for (const depth of depthsOf(1)) {
      const { id, transaction } = await make(reducing('stop', `${140 + depth}`));
      await calm();
      const hash = await agent.send(transaction);
      await agent.reaches(id, 'open');
      await own.undo(agent.trader, hash, depth, true);
      await agent.reaches(id, 'prepared');
      await agent.send(transaction);
      await agent.reaches(id, 'open');
      await viewEqualsChain();
    }
  });

  it('whose transactions are mined again keeps every id', async () => {
    const [first, second] = [await make(reducing('limit', '160')), await make(reducing('limit', '162'))];
    await calm();
    const hash = await agent.send(first.transaction);
    await agent.send(second.transaction);
    await agent.reaches(second.id, 'open');
    await own.undo(agent.trader, hash, 2, false);
    await eventually(
      async () => [await statusOf(first.id), await statusOf(second.id)],
      ([one, two]) => one === 'canceled' && two === 'open',
    );
    await viewEqualsChain();
  });
});

describe('the call data of an order that is a TP/SL trigger', () => {
  beforeAll(openPosition);

  it('mined again while it is open changes nothing, and once it is closed makes a new order', async () => {
    const { id, transaction } = await make(reducing('limit', '160', { clientId: 'once' }));
    await agent.send(transaction);
    await agent.reaches(id, 'open');
    await agent.send(transaction);
    await viewEqualsChain();
    expect(await agent.openOrders()).toHaveLength(1);
    await agent.send(prepared(await agent.cancel(id)));
    await agent.reaches(id, 'canceled');
    await calm();
    const hash = await agent.send(transaction);
    const [again] = await eventually(
      () => agent.openOrders(),
      (open) => open.length === 1,
    );
    expect(again).toMatchObject({ status: 'open', clientId: null, price: '160', type: 'limit', reduceOnly: true });
    expect(idOf(again ?? {})).not.toBe(id);
    const { body } = await agent.call('getOrderTimeline', 'GET', `/orders/${id}/timeline`);
    expect(body).toMatchObject({ status: 'canceled', repeats: [idOf(again ?? {})] });
    await own.undo(agent.trader, hash, 1, false);
    await agent.reaches(idOf(again ?? {}), 'open');
    await viewEqualsChain();
    expect(await own.all(agent.trader)).toHaveLength(3);
    await agent.send(prepared(await agent.cancel(idOf(again ?? {}))));
  });

  it('is mined after it had expired, and it rests', async () => {
    const { id, transaction } = await make(reducing('stop', '145'));
    await sandbox.gateway.store.orders.expire(chain.definition.slug, transaction.expiresAt);
    expect(await statusOf(id)).toBe('expired');
    await agent.send(transaction);
    await agent.reaches(id, 'open');
    await viewEqualsChain();
  });

  it('is distinguished from that of the other trigger in one transaction', async () => {
    const [tp, sl] = [await make(reducing('limit', '160')), await make(reducing('stop', '145'))];
    const both = diamondCall('multicall', [[tp.transaction.data, sl.transaction.data]]);
    await agent.trader.send(chain.definition.diamond, both);
    expect(await agent.reaches(tp.id, 'open')).toMatchObject({ price: '160' });
    expect(await agent.reaches(sl.id, 'open')).toMatchObject({ price: '145' });
    await viewEqualsChain();
  });

  it('of a move that is mined after another order replaced it leaves both canceled', async () => {
    const id = await rest('limit', '160');
    const late = prepared(await agent.update(id, { price: '165' }));
    const next = await rest('limit', '161');
    await agent.send(late);
    await agent.reaches(next, 'canceled');
    expect(await statusOf(id)).toBe('canceled');
    expect(await agent.position()).toMatchObject({ tp: '165' });
    await viewEqualsChain();
  });

  it('that failed rejects it once its hash is known', async () => {
    const { id, transaction } = await make(reducing('limit', '160'));
    await agent.send(prepared(await agent.close(String(position['id']))));
    await eventually(
      () => agent.positions(),
      (open) => open.length === 0,
    );
    const hash = await own.broadcast(agent.trader, transaction.data);
    await agent.trader.client.waitForTransactionReceipt({ hash });
    expect(await agent.submit(id, hash)).toMatchObject({ status: 200 });
    expect(await agent.reaches(id, 'rejected')).toMatchObject({ reason: 'OTHER' });
    await viewEqualsChain();
  });
});

describe('a position with TP/SL triggers that are orders', () => {
  beforeAll(openPosition);

  it('is served and changed by a gateway that started afterwards as by the first one', async () => {
    const id = await rest('limit', '160');
    const beside = await startSecondGateway(sandbox);
    try {
      const other = agentTrader(
        throughUrl(sandbox, () => beside.url),
        chain,
        agent.trader,
        agent.wallet,
      );
      const moved = await eventually(
        () => other.update(id, { price: '165' }),
        ({ status }) => status === 200, // the feed of a gateway that just started may know no price yet
      );
      expect(await other.order(id)).toEqual(await agent.order(id));
      await agent.send(prepared(moved));
      await priced(id, '165');
    } finally {
      await beside.stop();
    }
    expect(await statusOf(id)).toBe('open');
    await viewEqualsChain();
  });

  it('shows the stop loss that the contract moved with the leverage', async () => {
    const sl = await rest('stop', '137');
    await agent.send(prepared(await agent.adjust(String(position['id']), { leverage: '40' })));
    const now = await eventually(
      () => agent.position(),
      ({ leverage }) => leverage === '40',
    );
    expect(now['sl']).not.toBe('137');
    await priced(sl, String(now['sl']));
    expect(await agent.order(sl)).toMatchObject({ status: 'open', leverage: '40' });
    await viewEqualsChain();
  });

  it('of the same size as another has its own trigger', async () => {
    await priceIs('60000', BTC);
    // So small that the second moves the price by less than one digit.
    const tiny = { market: 'BTC/USD', side: 'long', type: 'market', size: '0.001', leverage: '5' };
    await agent.place(tiny, 'filled');
    await agent.place(tiny, 'filled');
    const onBtc = async () => (await agent.positions()).filter(({ market }) => market === 'BTC/USD');
    const [{ size } = { size: '' }] = await eventually(onBtc, (open) => open.length === 2);
    const wish = (at: string) => reducing('limit', at, { market: 'BTC/USD', size });
    const [one, two] = [await make(wish('61000')), await make(wish('62000'))];
    await agent.send(one.transaction);
    await agent.send(two.transaction);
    await agent.reaches(two.id, 'open');
    expect((await onBtc()).map(({ tp }) => tp)).toEqual(['61000', '62000']);
    expect(await statusOf(one.id)).toBe('open');
    await viewEqualsChain();
  });
});
