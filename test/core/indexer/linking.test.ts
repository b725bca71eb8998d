import { zeroAddress } from 'viem';
import { formatDecimal } from '../../../core/domain/decimal.js';
import { venueOf, type Venue } from '../../../core/gateway.js';
import { appendTag } from '../../../core/trading/encode-intent.js';
import type { ChainControls } from '../../../sandbox/controls.js';
import { expectViewEqualsChain, lowerOf } from '../../harness/diamond/chain-checker.js';
import { newTrader, type ChainTrader } from '../../harness/traders/chain-trader.js';
import { diamondCall, price, trade, usdc } from '../../harness/diamond/diamond-calls.js';
import { eventually } from '../../harness/time/eventually.js';
import { newTag } from '../../harness/traders/order-draft.js';
import { storedOrders } from '../../harness/traders/stored-orders.js';
import { firstChain } from '../../harness/venue/first-chain.js';
import type { TestVenue } from '../../harness/venue/own-venue.js';
import { sharedVenue } from '../../harness/venue/shared-venue.js';

const CHAIN = 'arbitrum-sepolia';
/** Rests far from the market. */
const LIMIT = { tradeType: 1, openPrice: price(30_000) };
let sandbox: TestVenue;
let chain: ChainControls;
let venue: Venue;
let own: ReturnType<typeof storedOrders>;

beforeAll(async () => {
  sandbox = await sharedVenue();
  chain = firstChain(sandbox);
  venue = venueOf(sandbox.gateway, CHAIN);
  own = storedOrders(sandbox, chain, venue);
  sandbox.controls.prices.jump(0, '60000');
});
afterAll(() => sandbox.stop());
afterEach(() => chain.setOraclePolicy(null, { mode: 'auto', delayMs: 50 }));

const count = (trader: ChainTrader, orders: number) =>
  eventually(
    () => own.all(trader),
    (all) => all.length === orders && all.every(({ order }) => order.status !== 'prepared'),
  );

describe('call data that was handed out', () => {
  it('is the prepared order, from the request to the fill, whether or not its hash is reported', async () => {
    const trader = await newTrader(chain);
    const { id, data } = await own.place(trader, { order: { clientId: 'first' } });
    const hash = await own.send(trader, data);
    const filled = await own.reaches(trader, id, 'filled');
    expect(filled).toMatchObject({
      id,
      order: { clientId: 'first', txHash: hash, expiresAt: null },
      orderKey: 'request:0',
      hashes: [hash],
    });
    expect(await own.all(trader)).toHaveLength(1);
    const entries = await own.journal(trader);
    expect(entries.slice(0, 2)).toEqual([`order ${id} prepared`, `order ${id} pending`]);
    expect(entries).toEqual([...entries.slice(0, 2), `order ${id} filled`, 'fill', 'position']);
    await expectViewEqualsChain(sandbox.gateway, CHAIN, trader);
  });

  it('rests as the chain stores it, the stop loss clamped', async () => {
    const trader = await newTrader(chain);
    const { id, data } = await own.place(trader, { trade: { ...LIMIT, sl: price(1) } });
    await own.send(trader, data);
    const { order } = await own.reaches(trader, id, 'open');
    const [stored] = await trader.trades();
    expect(order).toMatchObject({ type: 'limit', price: LIMIT.openPrice, sl: stored?.sl });
    expect(order.sl).not.toBe(price(1));
    await expectViewEqualsChain(sandbox.gateway, CHAIN, trader);
  });

  it('distinguishes identical twins', async () => {
    const trader = await newTrader(chain);
    const twins = [
      await own.place(trader, { trade: LIMIT }),
      await own.place(trader, { trade: LIMIT }),
      await own.place(trader, { trade: LIMIT }),
    ];
    const hashes = new Map<bigint, string>();
    for (const { id, data } of [...twins].reverse()) hashes.set(id, await own.send(trader, data));
    for (const { id } of twins) expect((await own.reaches(trader, id, 'open')).order.txHash).toBe(hashes.get(id));
    expect(await own.all(trader)).toHaveLength(3);
    await expectViewEqualsChain(sandbox.gateway, CHAIN, trader);
  });

  it('makes a new order when it is mined a second time', async () => {
    const trader = await newTrader(chain);
    const { id, data } = await own.place(trader, { trade: LIMIT, order: { clientId: 'once' } });
    await own.send(trader, data);
    await own.send(trader, data);
    const [second, first] = await count(trader, 2);
    expect(first).toMatchObject({ id, order: { clientId: 'once', status: 'open' } });
    expect(second?.order).toMatchObject({ clientId: null, status: 'open' });
    expect(second && (await own.find(trader, second.id))).toMatchObject({ repeatOf: id, agent: null, transaction: null });
    expect((await sandbox.gateway.store.orders.timeline(CHAIN, lowerOf(trader), id))?.repeats).toEqual([second?.id]);
    await expectViewEqualsChain(sandbox.gateway, CHAIN, trader);
  });

  it('reopens an order that had expired, and counts its spending again', async () => {
    const trader = await newTrader(chain);
    const now = Date.now();
    const { id, data } = await own.place(trader, { trade: LIMIT, spend: { usd: '1000', cap: '1000' }, now, forMs: 1 });
    await own.reaches(trader, id, 'expired');
    const day = Math.floor(now / 86_400_000);
    expect(formatDecimal(await own.spent(trader, day))).toBe('0');
    await own.place(trader, { trade: LIMIT, spend: { usd: '600', cap: '1000' }, now });
    await own.send(trader, data);
    await own.reaches(trader, id, 'open');
    expect(formatDecimal(await own.spent(trader, day))).toBe('1600');
    await own.send(trader, diamondCall('cancelOpenOrder', [0]));
    await own.reaches(trader, id, 'canceled');
    expect(formatDecimal(await own.spent(trader, day))).toBe('600');
    await expectViewEqualsChain(sandbox.gateway, CHAIN, trader);
  });

  it('is found where a smart account has wrapped it, several orders in one transaction', async () => {
    const trader = await newTrader(chain);
    const [small, large, market] = [
      await own.place(trader, { trade: LIMIT }),
      await own.place(trader, { trade: { ...LIMIT, collateralAmount: usdc(200) } }),
      await own.place(trader, { trade: { openPrice: price(60_000) } }),
    ];
    await own.send(trader, diamondCall('multicall', [[large.data, market.data, small.data]]));
    expect((await own.reaches(trader, large.id, 'open')).order.collateralAmount).toBe(usdc(200));
    expect((await own.reaches(trader, small.id, 'open')).order.collateralAmount).toBe(usdc(100));
    await own.reaches(trader, market.id, 'filled');
    expect(await own.all(trader)).toHaveLength(3);
    await expectViewEqualsChain(sandbox.gateway, CHAIN, trader);
  });

  it('is one order even if one transaction holds it twice; the other is a repeat', async () => {
    const trader = await newTrader(chain);
    const { id, data } = await own.place(trader, { trade: LIMIT });
    await own.send(trader, diamondCall('multicall', [[data, data]]));
    const [second, first] = await count(trader, 2);
    expect([first?.id, first?.orderKey]).toEqual([id, 'resting:0']);
    expect(second && (await own.find(trader, second.id)).repeatOf).toBe(id);
    await expectViewEqualsChain(sandbox.gateway, CHAIN, trader);
  });

  it('is not linked when another trader sends it', async () => {
    const [owner, other] = [await newTrader(chain), await newTrader(chain)];
    const { id, data } = await own.place(owner, { trade: LIMIT });
    await own.send(other, data);
    const [foreign] = await count(other, 1);
    expect(foreign?.id).not.toBe(id);
    expect((await own.find(owner, id)).order.status).toBe('prepared');
    expect(foreign && (await own.find(other, foreign.id)).repeatOf).toBeNull();
  });

  it('is not linked once a byte differs, tag or no tag', async () => {
    const trader = await newTrader(chain);
    const tag = newTag();
    const { id } = await own.place(trader, { trade: LIMIT, tag });
    const other = diamondCall('openTrade', [trade({ ...LIMIT, openPrice: price(31_000) }), 1000, zeroAddress]);
    await own.send(trader, appendTag(other, tag));
    const [made] = await eventually(
      () => own.all(trader),
      (all) => all.length === 2,
    );
    expect(made?.id).not.toBe(id);
    expect((await own.find(trader, id)).order.status).toBe('prepared');
  });
});

describe('a resting order that is replaced', () => {
  const replacing = (tag: `0x${string}`, index: number, amount: number) =>
    appendTag(
      diamondCall('multicall', [
        [
          diamondCall('cancelOpenOrder', [index]),
          diamondCall('openTrade', [trade({ ...LIMIT, collateralAmount: usdc(amount) }), 1000, zeroAddress]),
        ],
      ]),
      tag,
    );

  it('stays the same order on its new place, and goes back with the chain', async () => {
    const trader = await newTrader(chain);
    const { id, data } = await own.place(trader, { trade: LIMIT });
    await own.send(trader, data);
    const { order } = await own.reaches(trader, id, 'open');
    const tag = newTag();
    const bytes = replacing(tag, 0, 250);
    const next = { ...order, collateralAmount: usdc(250), sizeCollateral: usdc(2500) };
    await sandbox.gateway.store.orders.expectReplacement(CHAIN, id, { tag, data: bytes, gas: null }, next);
    const hash = await own.send(trader, bytes);
    const larger = await eventually(
      () => own.find(trader, id),
      (found) => found.order.collateralAmount === usdc(250),
    );
    expect(larger).toMatchObject({ id, orderKey: 'resting:1', order: { status: 'open', sizeCollateral: usdc(2500) } });
    expect(await own.all(trader)).toHaveLength(1);
    await expectViewEqualsChain(sandbox.gateway, CHAIN, trader);

    await own.undo(trader, hash, 1, true);
    const back = await eventually(
      () => own.find(trader, id),
      (found) => found.order.collateralAmount === usdc(100),
    );
    expect(back).toMatchObject({ orderKey: 'resting:0', order: { status: 'open' } });
    await expectViewEqualsChain(sandbox.gateway, CHAIN, trader);
    expect((await own.journal(trader)).at(-1)).toBe(`correction ${id} open`);
  });

  it('is two orders when it was not announced', async () => {
    const trader = await newTrader(chain);
    const { id, data } = await own.place(trader, { trade: LIMIT });
    await own.send(trader, data);
    await own.reaches(trader, id, 'open');
    await own.send(trader, replacing(newTag(), 0, 250));
    await own.reaches(trader, id, 'canceled');
    const [fresh] = await count(trader, 2);
    expect(fresh).toMatchObject({ orderKey: 'resting:1', order: { status: 'open' } });
    await expectViewEqualsChain(sandbox.gateway, CHAIN, trader);
  });
});
