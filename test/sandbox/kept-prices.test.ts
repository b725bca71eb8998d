import { readdirSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { createPriceWalk } from '../../sandbox/backend/price-walk.js';
import { keepPrices, readPrices } from '../../sandbox/venue.js';
import { chainTrader } from '../harness/traders/chain-trader.js';
import { price } from '../harness/diamond/diamond-calls.js';
import { eventually } from '../harness/time/eventually.js';
import { createRecordedLog } from '../harness/checks/recorded-log.js';
import { createManualClock } from '../harness/time/manual-clock.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';
import { makeTemporaryFolder } from '../harness/database/temporary-folder.js';

let folder: string;
beforeEach(async () => (folder = await makeTemporaryFolder('kept-prices')));
afterEach(() => rm(folder, { recursive: true, force: true }));

const markets = [{ startPrice: '100', volatilityPercent: 5 }, null, { startPrice: '0.5', volatilityPercent: 5 }];

describe('prices', () => {
  it('are on disk a second later and at the end, whole and with nothing beside them', () => {
    const clock = createManualClock();
    const log = createRecordedLog();
    const walk = createPriceWalk({ seed: 'x', markets, clock });
    const file = path.join(folder, 'prices.json');
    const stop = keepPrices(file, walk, clock, log);
    walk.jump(0, price(77));
    clock.advance(1_000);
    expect(readPrices(file, log)).toEqual(new Map([...walk.prices()]));
    walk.jump(2, price(0.25));
    stop();
    expect(readPrices(file, log).get(2)).toBe(price(0.25));
    expect(readdirSync(folder)).toEqual(['prices.json']);
    expect(log.entries).toEqual([]);
  });

  it('start afresh without a file, and with a complaint when it makes no sense', () => {
    const log = createRecordedLog();
    const file = path.join(folder, 'prices.json');
    expect(readPrices(file, log).size).toBe(0);
    expect(log.entries).toEqual([]);
    for (const text of [
      '',
      '{"version":1,',
      '{"version":2,"prices":{}}',
      '{"version":1,"prices":{"0":"-5"}}',
      '{"version":1,"prices":{"0":"9e9"}}',
    ]) {
      writeFileSync(file, text);
      expect(readPrices(file, log).size).toBe(0);
    }
    expect(log.entries.map(({ event }) => event)).toEqual(Array(5).fill('sandbox.prices-unreadable'));
  });
});

describe('a sandbox that is started again', () => {
  const chainOf = ({ controls }: TestVenue) => {
    const [chain] = controls.chains;
    if (!chain) throw new Error('no chain');
    return chain;
  };

  it('goes on where its prices were, so that no position is liquidated by the restart, and answers what waited', async () => {
    const before = await startOwnVenue({ SANDBOX_DATA: folder });
    await before.post('/sandbox/price', { market: 'BTC/USD', price: '52000' });
    const { privateKey } = await chainOf(before).faucet.createTrader({ usdc: '1000', eth: '10', approve: true, delegate: null });
    const trader = chainTrader(chainOf(before), privateKey);
    await trader.open({ openPrice: price(52_000), leverage: 20_000, long: false });
    await trader.event('MarketExecuted');
    await before.post('/sandbox/oracle', { mode: 'hold' });
    await trader.open({ openPrice: price(52_000), leverage: 20_000, long: false });
    expect(await trader.pending()).toBe(1);
    await before.stop();
    const after = await startOwnVenue({ SANDBOX_DATA: folder });
    try {
      const again = chainTrader(chainOf(after), privateKey);
      await eventually(
        () => again.pending(),
        (count) => count === 0,
      );
      expect((await again.trades()).map(({ isOpen, index }) => [isOpen, index])).toEqual([
        [true, 0],
        [true, 1],
      ]);
    } finally {
      await after.stop();
    }
  });
});
