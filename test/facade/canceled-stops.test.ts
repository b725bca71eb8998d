import { Wallet } from 'ethers';
import { order, orderAction, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import { hlInfo, type HlInfo } from '../harness/hyperliquid/info.js';
import { hlSocket } from '../harness/hyperliquid/socket.js';
import { eventually } from '../harness/time/eventually.js';
import { FACADE_CHAIN, newFacadeTrader, type FacadeTrader } from '../harness/traders/facade-trader.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';

const ETH = 1;
let sandbox: TestVenue;
let info: HlInfo;
beforeAll(async () => {
  sandbox = await sharedVenue();
  info = hlInfo(sandbox);
  sandbox.controls.prices.jump(ETH, '3000');
  await eventually(
    () => sandbox.gateway.venues.get(FACADE_CHAIN)?.feed.lastPrice(ETH)?.oracle,
    (oracle) => oracle === 3_000n * 10n ** 10n,
  );
});
afterAll(() => sandbox.stop());

interface Shown {
  order: { oid: number; sz: string; origSz: string };
  status: string;
}
type Answer = Record<'filled' | 'resting', { oid: number }>;

async function send({ agentKey }: FacadeTrader, wire: object): Promise<Answer> {
  const action = orderAction(order({ a: ETH, ...wire }));
  const { body } = await postExchange(sandbox.url, FACADE_CHAIN, await signL1(new Wallet(agentKey), action));
  const [status] = (body as { response: { data: { statuses: Answer[] } } }).response.data.statuses;
  if (status === undefined || 'error' in status) throw new Error(`refused: ${JSON.stringify(body)}`);
  return status;
}
const buy = (s: string) => ({ p: '3300', s });
const sell = (s: string) => ({ b: false, p: '2700', s, r: true });
const stop = (s: string) => ({ ...sell(s), t: { trigger: { isMarket: true, triggerPx: '2800', tpsl: 'sl' } } });

/** What every answer about the stop says once it is over. */
async function ended(bot: FacadeTrader, oid: number, updates: () => Shown[]): Promise<Shown[]> {
  const update = await eventually(
    () => updates().findLast((each) => each.order.oid === oid),
    (each) => each !== undefined && each.status !== 'open',
  );
  const { order: status } = await info.ask<{ order: Shown }>('orderStatus', { user: bot.address, oid });
  const past = (await info.ask<Shown[]>('historicalOrders', { user: bot.address })).find((each) => each.order.oid === oid);
  return [update, status, past].flatMap((each) => (each ? [each] : []));
}

describe('a stop that a close cancels', () => {
  it.each([
    ['of one trade, closed at once', ['3'], ['3'], '3.0'],
    ['of one trade, closed in parts', ['3'], ['1', '2'], '2.0'],
    ['of two trades, closed one after the other', ['1', '2'], ['1', '2'], '2.0'],
    ['of two trades, closed by one order', ['1', '2'], ['3'], '3.0'],
  ])('%s shows the size that was left', async (_name, buys, sells, left) => {
    const bot = await newFacadeTrader(sandbox);
    const socket = await hlSocket(sandbox.url);
    await socket.subscribe('orderUpdates', { user: bot.address });
    for (const size of buys) await send(bot, buy(size));
    const { oid } = (await send(bot, stop('3'))).resting;
    await eventually(
      () => bot.trader.trades(),
      (trades) => trades.every(({ sl }) => sl > 0n),
    );
    for (const size of sells) await send(bot, sell(size));
    const shown = await ended(bot, oid, () => socket.of<Shown[]>('orderUpdates').flat());
    expect(shown.map(({ status, order: { origSz } }) => [status, origSz])).toEqual(Array(3).fill(['reduceOnlyCanceled', '3.0']));
    // A trade may be smaller than its order by the contract's rounding, which shows as one lot.
    for (const { order: own } of shown) expect(Math.abs(Number(own.sz) - Number(left))).toBeLessThan(0.000_11);
    await socket.close();
  });
});
