import { Wallet } from 'ethers';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import type { ChainControls } from '../../../sandbox/controls.js';
import { newAgentTrader } from '../../harness/traders/agent-trader.js';
import { newTrader } from '../../harness/traders/chain-trader.js';
import { eventually } from '../../harness/time/eventually.js';
import { newFacadeTrader, type FacadeTrader } from '../../harness/traders/facade-trader.js';
import { firstChain } from '../../harness/venue/first-chain.js';
import { startSecondGateway } from '../../harness/venue/second-gateway.js';
import { hlInfo, type HlInfo } from '../../harness/hyperliquid/info.js';
import { order, orderAction, signL1 } from '../../harness/hyperliquid/exchange.js';
import { hlSocket, type HlSocket } from '../../harness/hyperliquid/socket.js';
import { startOwnVenue, type TestVenue } from '../../harness/venue/own-venue.js';

let sandbox: TestVenue;
let chain: ChainControls;
let info: HlInfo;
const opened: HlSocket[] = [];

beforeAll(async () => {
  sandbox = await startOwnVenue();
  chain = firstChain(sandbox);
  info = hlInfo(sandbox);
  sandbox.controls.prices.jump(0, '60000');
  await eventually(
    () => sandbox.gateway.venues.get('arbitrum-sepolia')?.feed.lastPrice(0)?.oracle,
    (price) => price === 60_000n * 10n ** 10n,
  );
});
afterAll(async () => {
  await Promise.all(opened.map((socket) => socket.close()));
  await sandbox.stop();
});

async function connect(url = sandbox.url): Promise<HlSocket> {
  const socket = await hlSocket(url);
  opened.push(socket);
  return socket;
}

interface Update {
  order: { oid: number; coin: string; side: string; limitPx: string; sz: string; origSz: string; cloid?: string; reduceOnly?: true };
  status: string;
}
interface Fill {
  tid: number;
  oid: number;
  dir: string;
  cloid?: string;
  liquidation?: object;
}
interface Fills {
  user: string;
  fills: Fill[];
  isSnapshot?: true;
}
interface Statuses {
  status: string;
  response: { data: { statuses: Record<string, { oid: number }>[] } };
}

const send = async (socket: HlSocket, { agentKey }: FacadeTrader, action: Record<string, unknown>): Promise<Statuses> => {
  const { type, payload } = await socket.post('action', await signL1(new Wallet(agentKey), action));
  expect(type).toBe('action');
  return payload as Statuses;
};
const buy = (changes: object = {}) => order({ p: '63000', s: '0.1', ...changes });
const sell = (changes: object = {}) => order({ b: false, p: '57000', s: '0.1', ...changes });
const gtc = { t: { limit: { tif: 'Gtc' } } };
const updates = (socket: HlSocket): Update[] => socket.of<Update[]>('orderUpdates').flat();
const findUpdate = async (socket: HlSocket, fits: (update: Update) => boolean): Promise<Update> => {
  const [found] = (await socket.find<Update[]>('orderUpdates', (frame) => frame.some(fits))).filter(fits);
  if (!found) throw new Error('nothing fits any more');
  return found;
};
const lower = (address: string): string => address.toLowerCase();

describe('the stream of an account', () => {
  it('sends orders and fills of a bot that trades over it, as the info handler does, also under the address of its agent', async () => {
    const bot = await newFacadeTrader(sandbox);
    const agent = lower(new Wallet(bot.agentKey).address);
    const [socket, asAgent] = [await connect(), await connect()];
    await asAgent.subscribe('userFills', { user: agent });
    for (const type of ['orderUpdates', 'userEvents', 'userFills', 'userHistoricalOrders'])
      await socket.subscribe(type, { user: bot.address });
    expect(await socket.find<Fills>('userFills')).toEqual({ user: lower(bot.address), fills: [], isSnapshot: true });
    const cloid = `0x${'1c'.repeat(16)}`;
    const { status, response } = await send(socket, bot, orderAction(buy({ c: cloid })));
    expect(status).toBe('ok');
    const oid = response.data.statuses[0]?.['filled']?.oid ?? 0;
    expect(await findUpdate(socket, (update) => update.status === 'filled')).toMatchObject({
      order: { oid, cloid, coin: 'BTC', side: 'B', limitPx: '63000.0', sz: '0.0', origSz: '0.1' },
    });
    expect(updates(socket).map(({ status: word }) => word)).toEqual(['filled']);
    const { fills } = await socket.find<Fills>('userFills', (frame) => frame.fills.length > 0);
    expect(fills).toEqual(await info.ask('userFills', { user: bot.address }));
    expect(fills).toEqual([expect.objectContaining({ oid, cloid, dir: 'Open Long' })]);
    expect(await socket.find('user')).toEqual({ fills });
    expect(await asAgent.find<Fills>('userFills', (frame) => frame.fills.length > 0)).toEqual({ user: agent, fills });
    await send(socket, bot, orderAction(sell({ r: true })));
    await socket.find<Fills>('userFills', (frame) => frame.fills.some(({ dir }) => dir === 'Close Long'));
    const streamed = socket.of<Fills>('userFills').flatMap((each) => each.fills);
    expect(streamed.map(({ tid }) => tid).reverse()).toEqual(
      (await info.ask<Fill[]>('userFills', { user: bot.address })).map(({ tid }) => tid),
    );
    const history = socket.of<{ orderHistory: object[]; isSnapshot?: true }>('userHistoricalOrders');
    expect(history[0]).toEqual({ user: lower(bot.address), orderHistory: [], isSnapshot: true });
    expect(history.at(-1)?.orderHistory.at(-1)).toEqual((await info.ask<object[]>('historicalOrders', { user: bot.address }))[0]);
  });

  it('sends one update per order of the bot, although it became several orders of the gateway', async () => {
    const bot = await newFacadeTrader(sandbox);
    const socket = await connect();
    await send(socket, bot, orderAction(buy()));
    await socket.subscribe('orderUpdates', { user: bot.address });
    await socket.subscribe('userFills', { user: bot.address });
    const { response } = await send(socket, bot, orderAction(sell({ s: '0.3' })));
    const oid = response.data.statuses[0]?.['filled']?.oid ?? 0;
    await eventually(
      () => socket.of<Fills>('userFills').flatMap(({ fills }) => fills),
      (fills) => fills.filter((fill) => fill.oid === oid).length === 2,
    );
    const flip = updates(socket).filter((update) => update.order.oid === oid);
    expect(flip.at(-1)).toMatchObject({ status: 'filled', order: { sz: '0.0', origSz: '0.3', side: 'A' } });
    expect(new Set(updates(socket).map((update) => update.order.oid))).toEqual(new Set([oid]));
  });

  it('sends a resting order, its change and its end', async () => {
    const bot = await newFacadeTrader(sandbox);
    const socket = await connect();
    await socket.subscribe('orderUpdates', { user: bot.address });
    await socket.subscribe('openOrders', { user: bot.address });
    expect(await socket.find('openOrders')).toEqual({ dex: '', user: lower(bot.address), orders: [] });
    const cloid = `0x${'2c'.repeat(16)}`;
    const { response } = await send(socket, bot, orderAction(buy({ p: '50000', c: cloid, ...gtc })));
    const first = response.data.statuses[0]?.['resting']?.oid ?? 0;
    expect(await findUpdate(socket, ({ order: { oid } }) => oid === first)).toMatchObject({
      status: 'open',
      order: { cloid, limitPx: '50000.0', sz: '0.1', origSz: '0.1' },
    });
    await socket.find<{ orders: { oid: number }[] }>('openOrders', ({ orders }) => orders[0]?.oid === first);
    await eventually(
      () => bot.trader.trades(),
      (trades) => trades.length === 1,
    );
    const changed = await send(socket, bot, {
      type: 'batchModify',
      modifies: [{ oid: first, order: buy({ p: '49000', c: cloid, ...gtc }) }],
    });
    const second = changed.response.data.statuses[0]?.['resting']?.oid ?? 0;
    await findUpdate(socket, ({ order: { oid, limitPx }, status }) => oid === second && status === 'open' && limitPx === '49000.0');
    await findUpdate(socket, ({ order: { oid }, status }) => oid === first && status === 'canceled');
    await send(socket, bot, { type: 'cancelByCloid', cancels: [{ asset: 0, cloid }] });
    await findUpdate(socket, ({ order: { oid }, status }) => oid === second && status === 'canceled');
    await eventually(
      () => socket.of<{ orders: object[] }>('openOrders').at(-1)?.orders,
      (orders) => orders?.length === 0,
    );
  });

  it('sends the stop loss of a position, when it is set and when it is hit', async () => {
    const bot = await newFacadeTrader(sandbox);
    const socket = await connect();
    await socket.subscribe('orderUpdates', { user: bot.address });
    await send(socket, bot, orderAction(buy()));
    const trigger = { trigger: { isMarket: true, triggerPx: '55000', tpsl: 'sl' } };
    const { response } = await send(socket, bot, orderAction(sell({ r: true, p: '50000', t: trigger })));
    const oid = response.data.statuses[0]?.['resting']?.oid ?? 0;
    await findUpdate(socket, (update) => update.order.oid === oid && update.status === 'open');
    sandbox.controls.prices.jump(0, '54900');
    await findUpdate(socket, (update) => update.order.oid === oid && update.status === 'filled');
    sandbox.controls.prices.jump(0, '60000');
    await eventually(
      () => sandbox.gateway.venues.get('arbitrum-sepolia')?.feed.lastPrice(0)?.oracle,
      (price) => price === 60_000n * 10n ** 10n,
    );
  });

  it('sends what a trader of the native API does on chain, without its client ids', async () => {
    const native = await newAgentTrader(sandbox, chain);
    const user = native.trader.account.address;
    const socket = await connect();
    await socket.subscribe('orderUpdates', { user });
    await socket.subscribe('userFills', { user });
    const made = await native.create({
      market: 'BTC/USD',
      side: 'long',
      type: 'limit',
      price: '50000',
      size: '0.02',
      leverage: '10',
      collateral: 'USDC',
      clientId: 'my-secret-name',
    });
    expect(made).toMatchObject({ status: 201 });
    await native.trader.open({ collateralAmount: 100_000_000n }, 50_000);
    const { fills } = await socket.find<Fills>('userFills', (frame) => frame.fills.length > 0);
    expect(fills).toMatchObject([{ dir: 'Open Long' }]);
    const filled = await findUpdate(socket, ({ status }) => status === 'filled');
    expect(filled.order).not.toHaveProperty('cloid');
    expect(filled.order.oid).toBe(fills[0]?.oid);
    expect(new Set(updates(socket).map((update) => update.order.oid))).toEqual(new Set([filled.order.oid]));
    expect(JSON.stringify(socket.received)).not.toContain('my-secret-name');
  });

  it('sends a liquidation as a fill and as a liquidation', async () => {
    const trader = await newTrader(chain);
    const socket = await connect();
    await socket.subscribe('user', { user: trader.account.address });
    await trader.open({ leverage: 100_000, collateralAmount: 100_000_000n }, 50_000);
    await socket.find<{ fills?: Fill[] }>('user', ({ fills }) => fills?.[0]?.dir === 'Open Long');
    sandbox.controls.prices.jump(0, '50000');
    const { liquidation } = await socket.find<{ liquidation?: Record<string, unknown> }>('user', (event) => 'liquidation' in event);
    expect(liquidation).toMatchObject({ liquidated_user: lower(trader.account.address) });
    expect(Number(liquidation?.['liquidated_ntl_pos'])).toBeGreaterThan(5_000);
    const { fills } = await socket.find<{ fills?: Fill[] }>('user', (event) => event.fills?.[0]?.dir === 'Close Long');
    expect(fills?.[0]?.liquidation).toMatchObject({ liquidatedUser: lower(trader.account.address), method: 'market' });
    sandbox.controls.prices.jump(0, '60000');
    await eventually(
      () => sandbox.gateway.venues.get('arbitrum-sepolia')?.feed.lastPrice(0)?.oracle,
      (price) => price === 60_000n * 10n ** 10n,
    );
  });

  it('sends what an account has, and again when that changes', async () => {
    const bot = await newFacadeTrader(sandbox);
    const socket = await connect();
    const user = bot.address;
    for (const type of ['clearinghouseState', 'allDexsClearinghouseState', 'webData2', 'webData3', 'spotState', 'twapStates'])
      await socket.subscribe(type, { user });
    await socket.subscribe('activeAssetData', { user, coin: 'BTC' });
    for (const type of [
      'clearinghouseState',
      'allDexsClearinghouseState',
      'webData2',
      'webData3',
      'spotState',
      'twapStates',
      'activeAssetData',
    ])
      await socket.find(type);
    await send(socket, bot, orderAction(buy()));
    interface State {
      clearinghouseState: { assetPositions: { position: { szi: string } }[]; withdrawable: string };
    }
    const { clearinghouseState } = await socket.find<State>(
      'clearinghouseState',
      (frame) => frame.clearinghouseState.assetPositions.length === 1,
    );
    expect(Number(clearinghouseState.assetPositions[0]?.position.szi)).toBeCloseTo(0.1, 3);
    await socket.find<State>('webData2', (frame) => frame.clearinghouseState.assetPositions.length === 1);
    const usdc = Number(await bot.trader.usdc()) / 1e6;
    await socket.find<State>('clearinghouseState', (frame) => Number(frame.clearinghouseState.withdrawable) === usdc);
    expect(Number((await info.ask<State['clearinghouseState']>('clearinghouseState', { user })).withdrawable)).toBe(usdc);
  });

  it('begins what does not exist here with an empty snapshot', async () => {
    const socket = await connect();
    const user = lower(privateKeyToAddress(generatePrivateKey()));
    for (const [type, field] of [
      ['userFundings', 'fundings'],
      ['userNonFundingLedgerUpdates', 'nonFundingLedgerUpdates'],
      ['userTwapSliceFills', 'twapSliceFills'],
      ['userTwapHistory', 'history'],
    ] as const) {
      await socket.subscribe(type, { user });
      expect(await socket.find(type)).toEqual({ user, [field]: [], isSnapshot: true });
    }
    await socket.subscribe('notification', { user });
    await socket.subscribe('clearinghouseState', { user, dex: 'xyz' });
    expect(await socket.find('clearinghouseState')).toMatchObject({ dex: 'xyz', user });
  });

  it('is the same on every replica', async () => {
    const beside = await startSecondGateway(sandbox);
    try {
      const bot = await newFacadeTrader(sandbox);
      const here = await connect();
      await eventually(
        () => fetch(`${beside.url}/ready`).then(({ status }) => status),
        (status) => status === 200,
      );
      const there = await hlSocket(beside.url);
      for (const socket of [here, there])
        for (const type of ['orderUpdates', 'userFills']) await socket.subscribe(type, { user: bot.address });
      await send(here, bot, orderAction(buy()));
      for (const socket of [here, there]) {
        await socket.find<Fills>('userFills', (frame) => frame.fills.length > 0);
        await findUpdate(socket, ({ status }) => status === 'filled');
      }
      expect(there.of<Fills>('userFills').flatMap(({ fills }) => fills)).toEqual(here.of<Fills>('userFills').flatMap(({ fills }) => fills));
      expect(updates(there).map(({ status }) => status)).toEqual(['filled']);
      await there.close();
    } finally {
      await beside.stop();
    }
  });

  it('sends a new snapshot after a reorganisation', async () => {
    const trader = await newTrader(chain);
    const socket = await connect();
    const user = trader.account.address;
    await socket.subscribe('userFills', { user });
    await socket.subscribe('orderUpdates', { user });
    const hash = await trader.open({}, 50_000);
    await socket.find<Fills>('userFills', (frame) => frame.fills.length > 0);
    await chain.pauseMining(true);
    try {
      const { blockNumber } = await trader.client.getTransactionReceipt({ hash });
      await chain.reorg(Number((await trader.client.getBlockNumber()) - blockNumber) + 1, true);
    } finally {
      await chain.pauseMining(false);
    }
    await eventually(
      () => socket.of<Fills>('userFills').at(-1),
      (frame) => frame?.isSnapshot === true && frame.fills.length === 0,
    );
    await findUpdate(socket, ({ status }) => status === 'canceled');
  });
});
