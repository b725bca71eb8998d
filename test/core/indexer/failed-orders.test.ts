import { venueOf, type Venue } from '../../../core/gateway.js';
import { watchHashes } from '../../../core/trading/watch-hashes.js';
import type { ChainControls } from '../../../sandbox/controls.js';
import { expectViewEqualsChain, lowerOf } from '../../harness/diamond/chain-checker.js';
import { newTrader, type ChainTrader } from '../../harness/traders/chain-trader.js';
import { diamondCall, price, usdc } from '../../harness/diamond/diamond-calls.js';
import { eventually } from '../../harness/time/eventually.js';
import { orderDraft } from '../../harness/traders/order-draft.js';
import { storedOrders } from '../../harness/traders/stored-orders.js';
import { firstChain } from '../../harness/venue/first-chain.js';
import { setClassOpen } from '../../harness/venue/market-hours.js';
import { startOwnVenue, type TestVenue } from '../../harness/venue/own-venue.js';

const CHAIN = 'arbitrum-sepolia';
let sandbox: TestVenue;
let chain: ChainControls;
let venue: Venue;
let own: ReturnType<typeof storedOrders>;
let trader: ChainTrader;
/** A market with opening hours. */
let eur: number;

beforeAll(async () => {
  sandbox = await startOwnVenue();
  chain = firstChain(sandbox);
  venue = venueOf(sandbox.gateway, CHAIN);
  own = storedOrders(sandbox, chain, venue);
  trader = await newTrader(chain);
  sandbox.controls.prices.jump(0, '60000');
  eur = venue.feed.config().pairs.findIndex((pair) => pair?.from === 'EUR');
});
afterAll(() => sandbox.stop());

/** After this long reported hashes are asked for again. */
const CHECK_MS = 2_000;
const record = (id: bigint, hash: `0x${string}`) => sandbox.gateway.store.orders.recordHash(CHAIN, id, hash, sandbox.clock.now());
const place = (who: ChainTrader, wishes: Parameters<typeof own.place>[1] = {}) => own.place(who, { now: sandbox.clock.now(), ...wishes });

/** Reports the hash of an order, which is asked for with the next look. */
async function report(id: bigint, hash: `0x${string}`): Promise<void> {
  await record(id, hash);
  sandbox.clock.pass(CHECK_MS);
}

/** More than the trader has. */
const TOO_MUCH = { collateralAmount: usdc(50_000) };

async function failing(trader: ChainTrader, wishes: Parameters<typeof own.place>[1] = {}): Promise<{ id: bigint; hash: `0x${string}` }> {
  const { id, data } = await place(trader, { trade: TOO_MUCH, ...wishes });
  const hash = await own.broadcast(trader, data);
  const seen = await eventually(
    () => venue.chain.transaction(hash),
    (found) => found?.mined?.succeeded === false,
  );
  await eventually(
    () => venue.state.followed.block ?? -1n,
    (block) => block >= (seen?.mined?.blockNumber ?? 0n),
  );
  return { id, hash };
}

describe('an order whose transaction was mined and failed', () => {
  it('is rejected once its hash is known', async () => {
    const { id, hash } = await failing(trader);
    expect((await own.find(trader, id)).order.status).toBe('prepared');
    await report(id, hash);
    const { order } = await own.reaches(trader, id, 'rejected');
    expect(order).toMatchObject({ reason: 'OTHER', txHash: hash, expiresAt: null });
    expect(await own.journal(trader)).toEqual([`order ${id} prepared`, `order ${id} prepared`, `order ${id} rejected`]);
    await expectViewEqualsChain(sandbox.gateway, CHAIN, trader);
  });

  it('is rejected in time, however many unknown hashes were reported before it', async () => {
    const flood = await newTrader(chain);
    const junk = await Promise.all(Array.from({ length: 110 }, () => place(flood, { maxUnsent: 1_000, forMs: 600_000 })));
    await Promise.all(junk.map(({ id }) => record(id, `0x${id.toString(16).padStart(64, '0')}`)));
    const { id, hash } = await failing(trader, { forMs: 600_000 });
    await report(id, hash);
    expect((await own.reaches(trader, id, 'rejected')).order.reason).toBe('OTHER');
  });

  it('says PAUSED when the Diamond was', async () => {
    await own.setActivated(2);
    try {
      const { id, hash } = await failing(trader, { trade: {} });
      await report(id, hash);
      expect((await own.reaches(trader, id, 'rejected')).order.reason).toBe('PAUSED');
    } finally {
      await own.setActivated(0);
    }
  });

  it('says OTHER when the market was shut: the contracts know no hours', async () => {
    setClassOpen(sandbox, eur, false);
    try {
      await eventually(
        () => venue.feed.session(eur, Date.now()),
        (session) => session === 'closed',
      );
      const { id, hash } = await failing(trader, { trade: { ...TOO_MUCH, pairIndex: eur, openPrice: price(1) } });
      await report(id, hash);
      expect((await own.reaches(trader, id, 'rejected')).order.reason).toBe('OTHER');
    } finally {
      setClassOpen(sandbox, eur, true);
    }
  });

  it('is rejected by the bytes of before it was handed out afresh, too', async () => {
    const { orders } = sandbox.gateway.store;
    const { id, data } = await place(trader, { trade: TOO_MUCH });
    await orders.giveUp(CHAIN, lowerOf(trader), id, Date.now());
    expect((await orders.renew(CHAIN, id, orderDraft(CHAIN, trader.account.address, { trade: TOO_MUCH }))).kind).toBe('placed');
    const hash = await own.broadcast(trader, data);
    await report(id, hash);
    expect((await own.reaches(trader, id, 'rejected')).order).toMatchObject({ reason: 'OTHER', txHash: hash });
  });

  it('expires while its hash is unknown', async () => {
    const { id } = await failing(trader, { forMs: 3_000 });
    sandbox.clock.pass(3_000);
    expect((await own.reaches(trader, id, 'expired')).order.reason).toBeNull();
  });

  it('is prepared again when the block is reorganised away, and what its bytes become then', async () => {
    const poor = await newTrader(chain, { usdc: '10' });
    const trade = { collateralAmount: usdc(100), tradeType: 1, openPrice: price(30_000) };
    const { id, data } = await place(poor, { trade });
    const hash = await own.broadcast(poor, data);
    await report(id, hash);
    await own.reaches(poor, id, 'rejected');
    await own.undo(poor, hash, 1, true);
    await own.reaches(poor, id, 'prepared');
    expect((await own.journal(poor)).at(-1)).toBe(`correction ${id} prepared`);
    await chain.faucet.fund(poor.account.address, { usdc: '1000' });
    await own.send(poor, data);
    await own.reaches(poor, id, 'open');
    await expectViewEqualsChain(sandbox.gateway, CHAIN, poor);
  });
});

describe('a transaction that failed', () => {
  const minedIn = async (hash: `0x${string}`): Promise<bigint> => (await venue.chain.transaction(hash))?.mined?.blockNumber ?? -1n;
  const silentIn = async (block: bigint) => (await venue.chain.logs(block, block)).silent;

  it('is listed among the transactions of its block without logs', async () => {
    const { hash } = await failing(trader);
    const { data } = await place(trader);
    const fine = await own.send(trader, data);
    expect([...((await silentIn(await minedIn(hash)))?.keys() ?? [])]).toEqual([hash]);
    expect((await silentIn(await minedIn(fine)))?.has(fine)).toBe(false);
    expect((await venue.chain.logs(0n, 20n)).silent).toBeNull();
  });

  it('is looked up at once when a block holds it without logs, otherwise now and then', async () => {
    const { id, data } = await place(trader, { forMs: 600_000 });
    const hash = `0x${'6f'.repeat(32)}` as const;
    await record(id, hash);
    const other = await place(trader, { forMs: 600_000 });
    let now = Date.now();
    const asked: string[] = [];
    const outcome: Venue['chain']['outcome'] = (wanted) => venue.chain.outcome(wanted).finally(() => asked.push(wanted));
    const looking: Venue = { ...venue, clock: { ...venue.clock, now: () => now }, chain: { ...venue.chain, outcome } };
    const cursor = await sandbox.gateway.store.tracking.cursor(CHAIN);
    if (!cursor) throw new Error('nothing was followed');
    const countWith = async (silent: ReadonlyMap<`0x${string}`, `0x${string}`> | null): Promise<number> => {
      asked.length = 0;
      await watchHashes(sandbox.gateway, looking, cursor, silent);
      return asked.filter((wanted) => wanted === hash).length;
    };
    const [nothing, itself] = [new Map(), new Map([[hash, data]])];
    expect(await countWith(nothing)).toBe(1);
    expect(await countWith(nothing)).toBe(0);
    expect(await countWith(itself)).toBe(1);
    expect(await countWith(new Map([[hash, other.data]]))).toBe(0);
    expect(await countWith(null)).toBe(1);
    now += 1_999;
    expect(await countWith(nothing)).toBe(0);
    now += 1;
    expect(await countWith(itself)).toBe(1);
  });
});

describe('a hash that is not the order’s', () => {
  it('of a failed transaction rejects nothing; the order expires', async () => {
    const other = await failing(trader);
    const { id } = await place(trader, { trade: TOO_MUCH, forMs: CHECK_MS });
    await report(id, other.hash);
    const { order } = await own.reaches(trader, id, 'expired');
    expect(order.reason).toBeNull();
  });

  it('that is on no node does not keep the order from expiring', async () => {
    const { id } = await place(trader, { forMs: 500 });
    await report(id, `0x${'5e'.repeat(32)}`);
    await own.reaches(trader, id, 'expired');
  });
});

describe('an order that waits for the oracle', () => {
  it('times out and is filled late', async () => {
    const waiting = await newTrader(chain);
    chain.setOraclePolicy(4, { mode: 'hold' });
    sandbox.controls.prices.jump(4, '14');
    const late = await place(waiting, { trade: { pairIndex: 4, openPrice: price(14) } });
    const taken = await place(waiting, { trade: { pairIndex: 4, openPrice: price(14) } });
    await own.send(waiting, late.data);
    await own.send(waiting, taken.data);
    await own.reaches(waiting, taken.id, 'pending');
    await chain.mine(venue.feed.config().marketOrdersTimeoutBlocks);
    await own.reaches(waiting, late.id, 'timed_out');
    await own.reaches(waiting, taken.id, 'timed_out');
    await own.send(waiting, diamondCall('cancelOrderAfterTimeout', [1]));
    await own.reaches(waiting, taken.id, 'canceled');
    chain.setOraclePolicy(4, { mode: 'auto' });
    await own.reaches(waiting, late.id, 'filled');
    await expectViewEqualsChain(sandbox.gateway, CHAIN, waiting);
  });
});
