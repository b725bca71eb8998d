import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { startWatchedProxy, type Moment, type WatchedProxy } from '../harness/servers/cutting-proxy.js';
import { eventually } from '../harness/time/eventually.js';
import { newFacadeTrader, type FacadeTrader } from '../harness/traders/facade-trader.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { tradingVenue } from '../harness/venue/trading-venue.js';

const BTC = 0;
const LIMIT_TRADE = 1;
const STEP = 1_000;
const script = path.resolve(import.meta.dirname, '../../examples/grid-bot.mjs');

let sandbox: TestVenue;
let proxy: WatchedProxy;
let bot: FacadeTrader;
const running: ChildProcess[] = [];

beforeAll(async () => {
  ({ sandbox } = await tradingVenue());
  proxy = await startWatchedProxy(sandbox.url);
});
beforeEach(async () => {
  sandbox.controls.prices.jump(BTC, '60500');
  bot = await newFacadeTrader(sandbox);
});
afterEach(async () => {
  for (const child of running.splice(0)) await kill(child);
});
afterAll(async () => {
  await proxy.stop();
  await sandbox.stop();
});

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

function start(): ChildProcess {
  const env = { PATH: process.env['PATH'] ?? '', HL_USER: bot.address, HL_AGENT_KEY: bot.agentKey, GRID_PAUSE_MS: '20' };
  const child = spawn(process.execPath, [script, proxy.url], { env, stdio: 'ignore' });
  running.push(child);
  return child;
}

/** Runs the bot until its nth order, and kills it with SIGKILL at that moment. */
async function killedAt(nth: number, moment: Moment): Promise<void> {
  const child = start();
  const gone = once(child, 'exit');
  proxy.watch('/exchange', (now, at) => {
    if (at === nth && now === moment) child.kill('SIGKILL');
  });
  expect(await gone).toEqual([null, 'SIGKILL']);
}

/** A trade of the contract by its line: the contract keeps a price less the spread. */
interface Held {
  readonly price: number;
  readonly isResting: boolean;
}

const held = async (): Promise<Held[]> =>
  (await bot.trader.trades())
    .map(({ openPrice, tradeType }) => ({
      price: Math.round(Number(openPrice / 10n ** 10n) / STEP) * STEP,
      isResting: tradeType === LIMIT_TRADE,
    }))
    .sort((a, b) => b.price - a.price);
const resting = (prices: readonly number[]): Held[] => prices.map((price) => ({ price, isResting: true }));
const lined =
  (prices: readonly number[]) =>
  (now: readonly Held[]): boolean =>
    JSON.stringify(now) === JSON.stringify(resting(prices));

/**
 * The entries that the venue has ever taken from it, by price: a doubled one would be one more, even if it is gone. What the contract
 * gave beyond the size of an order is listed as an order of its own, without a cloid.
 */
const entries = async (): Promise<number[]> => {
  const body = JSON.stringify({ type: 'historicalOrders', user: bot.address });
  const headers = { 'Content-Type': 'application/json' };
  const answer = await fetch(`${sandbox.url}/hl/arbitrum-sepolia/info`, { method: 'POST', body, headers });
  const rows = (await answer.json()) as { order: { oid: number; side: string; limitPx: string; cloid: string | null } }[];
  const prices = new Map(
    rows.filter(({ order }) => order.side === 'B' && order.cloid !== null).map(({ order }) => [order.oid, Number(order.limitPx)]),
  );
  return [...prices.values()].sort((a, b) => b - a);
};

describe('the grid bot', () => {
  it('killed before, during and after an order has each line once', async () => {
    await killedAt(1, 'before it is sent');
    await killedAt(1, 'before it is answered');
    await killedAt(1, 'after it is answered');
    await killedAt(1, 'before it is answered');
    start();
    await eventually(held, lined([60_000, 59_000, 58_000, 57_000]));
    await passes(3);
    expect(await held()).toEqual(resting([60_000, 59_000, 58_000, 57_000]));
    expect(await entries()).toEqual([60_000, 59_000, 58_000, 57_000]);
  });

  it('killed while a line is filled and sold begins the next round of that line alone', async () => {
    const first = start();
    await eventually(held, lined([60_000, 59_000, 58_000, 57_000]));
    await kill(first);
    sandbox.controls.prices.jump(BTC, '59500');
    await eventually(held, (now) => now.filter(({ isResting }) => isResting).length === 3);
    const second = start();
    await eventually(held, (now) => now.filter(({ isResting }) => isResting).length === 4); // 56,000 is in reach now
    await kill(second);
    sandbox.controls.prices.jump(BTC, '61500');
    await eventually(held, (now) => now.every(({ isResting }) => isResting));
    await killedAt(1, 'before it is answered');
    start();
    await eventually(held, lined([61_000, 60_000, 59_000, 58_000, 57_000, 56_000]));
    await passes(3);
    expect(await held()).toEqual(resting([61_000, 60_000, 59_000, 58_000, 57_000, 56_000]));
    expect(await entries()).toEqual([61_000, 60_000, 60_000, 59_000, 58_000, 57_000, 56_000]);
  });
});

/** Until the bot has looked at every line so many times more: what it wanted to place is placed by then. */
async function passes(times: number): Promise<void> {
  await new Promise<void>((resolve) => {
    let looks = 0;
    proxy.watch('/info', (moment) => {
      if (moment === 'after it is answered' && (looks += 1) > 6 * times) resolve();
    });
  });
  proxy.watch('', () => undefined);
}
