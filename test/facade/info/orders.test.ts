import { formatUnits } from 'viem/utils';
import { venueOf } from '../../../core/gateway.js';
import type { KnexStore } from '../../../core/adapters/postgres/create-store.js';
import type { ChainControls } from '../../../sandbox/controls.js';
import { expectViewEqualsChain, lowerOf } from '../../harness/diamond/chain-checker.js';
import { newTrader, type ChainTrader } from '../../harness/traders/chain-trader.js';
import { diamondCall, price, usdc } from '../../harness/diamond/diamond-calls.js';
import { eventually } from '../../harness/time/eventually.js';
import { hlInfo, type HlInfo } from '../../harness/hyperliquid/info.js';
import { storedOrders } from '../../harness/traders/stored-orders.js';
import type { TestVenue } from '../../harness/venue/own-venue.js';
import { sharedVenue } from '../../harness/venue/shared-venue.js';
import { storeAction } from '../../harness/hyperliquid/store-action.js';

const CHAIN = 'arbitrum-sepolia';
const SECRET = 'native-client-id';
let sandbox: TestVenue;
let chain: ChainControls;
let info: HlInfo;

beforeAll(async () => {
  sandbox = await sharedVenue();
  info = hlInfo(sandbox);
  const [first] = sandbox.controls.chains;
  if (!first) throw new Error('the sandbox has no chain');
  chain = first;
  sandbox.controls.prices.jump(0, '60000');
  sandbox.controls.prices.jump(1, '3000');
});
afterAll(() => sandbox.stop());

interface FOrder {
  coin: string;
  side: string;
  limitPx: string;
  sz: string;
  origSz: string;
  oid: number;
  triggerCondition: string;
  triggerPx: string;
  isTrigger: boolean;
  reduceOnly: boolean;
  orderType: string;
  tif: string | null;
  cloid: string | null;
  children: FOrder[];
}
interface Status {
  status: string;
  order: { status: string; order: FOrder };
}
interface FillAnswer {
  coin: string;
  side: string;
  dir: string;
  px: string;
  sz: string;
  startPosition: string;
  closedPnl: string;
  fee: string;
  oid: number;
  tid: number;
  time: number;
  hash: string;
  crossed: boolean;
  liquidation?: object;
  cloid?: string;
}

const settle = (who: ChainTrader): Promise<unknown> => expectViewEqualsChain(sandbox.gateway, CHAIN, who);
const frontend = ({ account }: ChainTrader): Promise<FOrder[]> => info.ask<FOrder[]>('frontendOpenOrders', { user: account.address });
const plain = ({ account }: ChainTrader): Promise<FOrder[]> => info.ask<FOrder[]>('openOrders', { user: account.address });
const fills = ({ account }: ChainTrader): Promise<FillAnswer[]> => info.ask<FillAnswer[]>('userFills', { user: account.address });
const statusOf = ({ account }: ChainTrader, oid: number | string): Promise<Status> =>
  info.ask<Status>('orderStatus', { user: account.address, oid });
const history = ({ account }: ChainTrader): Promise<{ status: string; order: FOrder }[]> =>
  info.ask<{ status: string; order: FOrder }[]>('historicalOrders', { user: account.address });
const call = (who: ChainTrader, data: `0x${string}`): Promise<unknown> => who.send(chain.definition.diamond, data);

async function open(who: ChainTrader, changes: Parameters<ChainTrader['open']>[0]): Promise<void> {
  await who.open(changes, 50_000);
  await eventually(
    () => who.pending(),
    (pending) => pending === 0,
  );
}

/** The size of the BTC position as the contract holds it, cut to Hyperliquid's five decimals. */
async function sizeOnChain(who: ChainTrader): Promise<string> {
  const trade = (await who.trades()).find(({ pairIndex }) => pairIndex === 0);
  if (trade === undefined) throw new Error('there is no position');
  const units = (trade.collateralAmount * BigInt(trade.leverage) * 10n ** 6n) / trade.openPrice;
  return formatUnits(units, 5);
}

describe('what rests on chain', () => {
  it('is listed wherever it was made, with numbers that stay', async () => {
    const trader = await newTrader(chain);
    await open(trader, { openPrice: price(60_000), tp: price(66_000), sl: price(57_000) });
    await trader.open({
      pairIndex: 1,
      tradeType: 1,
      openPrice: price(2_500),
      collateralAmount: usdc(200),
      tp: price(2_900),
      sl: price(2_400),
    });
    await trader.open({ pairIndex: 1, tradeType: 2, long: false, openPrice: price(2_600) }, 2_000);
    await settle(trader);
    const listed = await frontend(trader);
    expect(listed.map(({ coin, orderType, side }) => `${coin} ${orderType} ${side}`).sort()).toEqual([
      'BTC Stop Market A',
      'BTC Take Profit Market A',
      'ETH Limit B',
      'ETH Stop Market A',
    ]);
    const limit = listed.find(({ orderType }) => orderType === 'Limit');
    expect(limit).toMatchObject({
      limitPx: '2500.0',
      sz: '0.8',
      origSz: '0.8',
      isTrigger: false,
      tif: 'Gtc',
      cloid: null,
      triggerPx: '0.0',
    });
    expect(limit?.children.map(({ orderType, triggerPx, side }) => `${orderType} ${triggerPx} ${side}`)).toEqual([
      'Take Profit Market 2900.0 A',
      'Stop Market 2400.0 A',
    ]);
    const stop = listed.find(({ coin, orderType }) => coin === 'ETH' && orderType === 'Stop Market');
    expect(stop).toMatchObject({
      isTrigger: true,
      triggerPx: '2600.0',
      triggerCondition: 'Price below 2600',
      limitPx: '2548.0',
      reduceOnly: false,
    });
    const tp = listed.find(({ orderType }) => orderType === 'Take Profit Market');
    expect(tp).toMatchObject({ triggerCondition: 'Price above 66000', reduceOnly: true, sz: await sizeOnChain(trader) });

    expect(await frontend(trader)).toEqual(listed);
    const oids = (await plain(trader)).map(({ oid }) => oid);
    expect(oids).toHaveLength(6);
    expect(new Set(oids).size).toBe(6);
    for (const oid of oids) expect((await statusOf(trader, oid)).order).toMatchObject({ status: 'open', order: { oid } });
    const stranger = await newTrader(chain);
    expect(await statusOf(stranger, oids[0] ?? 0)).toEqual({ status: 'unknownOid' });
  });

  it('gives a changed take-profit another number, and the old one is canceled', async () => {
    const trader = await newTrader(chain);
    await open(trader, { openPrice: price(60_000), tp: price(66_000) });
    await settle(trader);
    const [before] = await frontend(trader);
    await call(trader, diamondCall('updateTp', [0, price(68_000)]));
    await settle(trader);
    const [after] = await frontend(trader);
    expect(after).toMatchObject({ triggerPx: '68000.0' });
    expect(after?.oid).not.toBe(before?.oid);
    expect((await statusOf(trader, before?.oid ?? 0)).order.status).toBe('canceled');
    expect((await statusOf(trader, after?.oid ?? 0)).order.status).toBe('open');
    await call(trader, diamondCall('updateTp', [0, 0n]));
    await settle(trader);
    expect(await frontend(trader)).toEqual([]);
  });

  it('keeps the numbers of its take-profit and stop-loss when it is filled', async () => {
    const trader = await newTrader(chain);
    await trader.open({
      pairIndex: 1,
      tradeType: 1,
      openPrice: price(2_900),
      collateralAmount: usdc(200),
      tp: price(3_300),
      sl: price(2_700),
    });
    await settle(trader);
    const [resting] = await frontend(trader);
    const children = resting?.children.map(({ oid, triggerPx }) => ({ oid, triggerPx })) ?? [];
    expect(children).toHaveLength(2);
    sandbox.controls.prices.jump(1, '2890');
    await eventually(
      () => fills(trader),
      (found) => found.length === 1,
    );
    await settle(trader);
    const attached = (await frontend(trader)).map(({ oid, triggerPx }) => ({ oid, triggerPx }));
    expect(attached).toEqual(expect.arrayContaining(children) as unknown);
    const [filled] = await fills(trader);
    expect(filled).toMatchObject({ oid: resting?.oid, dir: 'Open Long', side: 'B', crossed: false, startPosition: '0.0' });
    // It was made on chain by its collateral: how much that buys is known when it is bought.
    expect((await statusOf(trader, resting?.oid ?? 0)).order).toMatchObject({ status: 'filled', order: { sz: '0.0', origSz: filled?.sz } });

    sandbox.controls.prices.jump(1, '3310');
    await eventually(
      () => fills(trader),
      (found) => found.length === 2,
    );
    const [hit] = await fills(trader);
    const tp = children.find(({ triggerPx }) => triggerPx === '3300.0');
    expect(hit).toMatchObject({ oid: tp?.oid, dir: 'Close Long', side: 'A' });
    expect(Number(hit?.closedPnl)).toBeGreaterThan(0);
    expect((await statusOf(trader, tp?.oid ?? 0)).order).toMatchObject({
      status: 'filled',
      order: { triggerCondition: 'Triggered', sz: '0.0' },
    });
    const sl = children.find(({ triggerPx }) => triggerPx === '2700.0');
    expect((await statusOf(trader, sl?.oid ?? 0)).order.status).toBe('siblingFilledCanceled');
    sandbox.controls.prices.jump(1, '3000');
  });

  it('is canceled with its children when it is withdrawn', async () => {
    const trader = await newTrader(chain);
    await trader.open({ tradeType: 1, openPrice: price(50_000), tp: price(60_000) });
    await settle(trader);
    const [order] = await frontend(trader);
    await call(trader, diamondCall('cancelOpenOrder', [0]));
    await settle(trader);
    expect(await frontend(trader)).toEqual([]);
    expect((await statusOf(trader, order?.oid ?? 0)).order.status).toBe('canceled');
    expect((await statusOf(trader, order?.children[0]?.oid ?? 0)).order.status).toBe('canceled');
    expect(await history(trader)).toMatchObject([
      { status: 'canceled', order: { oid: order?.children[0]?.oid, isTrigger: true } },
      { status: 'canceled', order: { oid: order?.oid } },
    ]);
  });
});

describe('what is on its way', () => {
  it('is never listed as resting when it came from elsewhere, but it is open', async () => {
    const trader = await newTrader(chain);
    chain.setOraclePolicy(2, { mode: 'hold' });
    try {
      await trader.open({ pairIndex: 2, openPrice: price(150) }, 50_000);
      const [order] = await eventually(
        () => history(trader),
        (orders) => orders.length === 1,
      );
      expect(order).toMatchObject({ status: 'open', order: { coin: 'SOL', orderType: 'Market', tif: 'FrontendMarket' } });
      expect(await frontend(trader)).toEqual([]);
      expect((await statusOf(trader, order?.order.oid ?? 0)).order.status).toBe('open');
    } finally {
      chain.setOraclePolicy(2, { mode: 'auto' });
    }
  });

  it('of the native API is not shown before it is on chain, nor is its client id afterwards', async () => {
    const trader = await newTrader(chain);
    const own = storedOrders(sandbox, chain, venueOf(sandbox.gateway, CHAIN));
    const prepared = await own.place(trader, { trade: { tradeType: 1, openPrice: price(50_000) }, order: { clientId: SECRET } });
    const everything = async (): Promise<string> =>
      JSON.stringify([await frontend(trader), await plain(trader), await history(trader), await statusOf(trader, Number(prepared.id))]);
    expect(await everything()).toBe('[[],[],[],{"status":"unknownOid"}]');
    await own.send(trader, prepared.data);
    await own.reaches(trader, prepared.id, 'open');
    const shown = await everything();
    expect(shown).toContain(`"oid":${prepared.id}`);
    expect(shown).not.toContain(SECRET);
  });

  it('of the facade is listed at once, as it was sent and under both of its names', async () => {
    const trader = await newTrader(chain);
    const agent = `0x${'ab'.repeat(20)}` as const;
    const { store } = sandbox.gateway;
    await (store as KnexStore).db('agents').insert({
      chain: CHAIN,
      agent,
      trader: lowerOf(trader),
      name: 'bot',
      mode: 'relayed',
      permissions: 'trade',
      created_at: Date.now(),
    });
    const own = storedOrders(sandbox, chain, venueOf(sandbox.gateway, CHAIN));
    const prepared = await own.place(trader, { agent, trade: { tradeType: 1, openPrice: price(50_010) } });
    const cloid = `0x${'0f'.repeat(16)}`;
    const action = await storeAction(store, {
      chain: CHAIN,
      signer: agent,
      trader: lowerOf(trader),
      envelope: '{}',
      actionHash: `0x${'11'.repeat(32)}`,
      form: 'canonical',
      network: 'a',
      nonce: BigInt(Date.now()),
      receivedAt: Date.now(),
    });
    await store.exchange.record({
      chain: CHAIN,
      oid: prepared.id,
      trader: lowerOf(trader),
      agent,
      action: action.id,
      item: 0,
      cloid,
      pairIndex: 0,
      manner: 'resting',
      order: { isBuy: true, limit: price(50_000), size: 2n * 10n ** 16n, reduceOnly: false, style: { kind: 'limit', tif: 'Alo' } },
      wire: { limitPx: '50000', sz: '0.02', tif: 'Alo', triggerPx: null, isMarket: null, tpsl: null },
      createdAt: Date.now(),
      legs: [{ role: 'open', orderId: prepared.id, tradeIndex: null, sizeBase: 2n * 10n ** 16n }],
    });
    const shown = { oid: Number(prepared.id), cloid, limitPx: '50000.0', sz: '0.02', origSz: '0.02', tif: 'Alo', orderType: 'Limit' };
    expect(await frontend(trader)).toMatchObject([shown]);
    expect(await info.ask('openOrders', { user: agent })).toMatchObject([{ oid: shown.oid, cloid }]);
    expect((await statusOf(trader, cloid.toUpperCase().replace('0X', '0x'))).order).toMatchObject({ status: 'open', order: shown });
    expect(await history(trader)).toMatchObject([{ status: 'open', order: shown }]);
    expect(await info.ask('extraAgents', { user: trader.account.address })).toMatchObject([{ address: agent, name: 'bot' }]);
    await own.send(trader, prepared.data);
    await own.reaches(trader, prepared.id, 'open');
    expect(await frontend(trader)).toMatchObject([shown]);
  });
});

describe('fills', () => {
  it('have side, direction, profit and the net position each began from', async () => {
    const trader = await newTrader(chain);
    sandbox.controls.prices.jump(0, '60000');
    await open(trader, { openPrice: price(60_000) });
    await open(trader, { openPrice: price(60_000), collateralAmount: usdc(50), long: false });
    sandbox.controls.prices.jump(0, '61000');
    await trader.close(0, price(61_000));
    await eventually(
      () => fills(trader),
      (found) => found.length === 3,
    );
    const [closed, short, long] = await fills(trader);
    expect([long?.dir, short?.dir, closed?.dir]).toEqual(['Open Long', 'Open Short', 'Close Long']);
    expect([long?.side, short?.side, closed?.side]).toEqual(['B', 'A', 'A']);
    expect([long?.closedPnl, short?.closedPnl]).toEqual(['0.0', '0.0']);
    expect([long?.startPosition, short?.startPosition]).toEqual(['0.0', long?.sz]);
    expect(Number(closed?.startPosition)).toBeCloseTo(Number(long?.sz) - Number(short?.sz), 4);
    const moved = (Number(closed?.px) - Number(long?.px)) * Number(closed?.sz);
    expect(Number(closed?.closedPnl) / moved).toBeCloseTo(1, 1);
    expect(Number(closed?.fee)).toBeGreaterThan(0);
    expect(new Set([long, short, closed].map((fill) => fill?.tid)).size).toBe(3);

    const byTime = (fields: Record<string, unknown>): Promise<FillAnswer[]> =>
      info.ask<FillAnswer[]>('userFillsByTime', { user: trader.account.address, ...fields });
    const ascending = await byTime({ startTime: 0 });
    expect(ascending).toEqual([long, short, closed]);
    expect(await byTime({ startTime: 0, reversed: true })).toEqual([closed, short, long]);
    expect(await byTime({ startTime: 0, endTime: (long?.time ?? 0) - 1 })).toEqual([]);
    const past = await byTime({ startTime: 0, endTime: (closed?.time ?? 0) - 1 });
    expect(past.map(({ tid, startPosition }) => ({ tid, startPosition }))).toEqual(
      ascending.filter(({ time }) => time < (closed?.time ?? 0)).map(({ tid, startPosition }) => ({ tid, startPosition })),
    );
    const orders = await history(trader);
    for (const fill of ascending) expect(orders.find(({ order }) => order.oid === fill.oid)?.status).toBe('filled');
    sandbox.controls.prices.jump(0, '60000');
  });

  it('say of a liquidation whose it was', async () => {
    const trader = await newTrader(chain);
    sandbox.controls.prices.jump(3, '25');
    await open(trader, { pairIndex: 3, leverage: 100_000, openPrice: price(25) });
    sandbox.controls.prices.jump(3, '24');
    const [liquidated] = await eventually(
      () => fills(trader),
      (found) => found.length === 2,
    );
    expect(liquidated).toMatchObject({ dir: 'Close Long', liquidation: { liquidatedUser: lowerOf(trader), method: 'market' } });
    expect(Number(liquidated?.closedPnl)).toBeLessThan(0);
    sandbox.controls.prices.jump(3, '25');
  });
});
