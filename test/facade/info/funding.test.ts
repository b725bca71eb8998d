import { HOUR_MS, recordFunding } from '../../../core/markets/funding.js';
import { venueOf } from '../../../core/gateway.js';
import { newTrader } from '../../harness/traders/chain-trader.js';
import { price, usdc } from '../../harness/diamond/diamond-calls.js';
import { eventually } from '../../harness/time/eventually.js';
import { hlInfo, type HlInfo } from '../../harness/hyperliquid/info.js';
import { createManualClock } from '../../harness/time/manual-clock.js';
import type { TestVenue } from '../../harness/venue/own-venue.js';
import { sharedVenue } from '../../harness/venue/shared-venue.js';

const CHAIN = 'arbitrum-sepolia';
let sandbox: TestVenue;
let info: HlInfo;
beforeAll(async () => {
  sandbox = await sharedVenue();
  info = hlInfo(sandbox);
});
afterAll(() => sandbox.stop());

interface Hour {
  time: number;
  fundingRate: string;
}
const historyOf = (coin: string, fields: Record<string, unknown> = {}): Promise<Hour[]> =>
  info.ask<Hour[]>('fundingHistory', { coin, startTime: 0, ...fields });

describe('the history of funding', () => {
  it('holds what was charged when an hour began, once, and no hour that was not observed', async () => {
    const [chain] = sandbox.controls.chains;
    if (!chain) throw new Error('the sandbox has no chain');
    const trader = await newTrader(chain);
    sandbox.controls.prices.jump(0, '60000');
    await trader.open({ collateralAmount: usdc(5_000), leverage: 100_000, openPrice: price(60_000) }, 50_000);
    const [, [rates]] = await eventually(
      () => info.ask<[[string, [[string, { fundingRate: string }]]], ...unknown[]]>('predictedFundings').then(([first]) => first),
      ([, [[, { fundingRate }]]]) => Number(fundingRate) !== 0,
    );
    const charged = Number(rates[1].fundingRate);

    const venue = venueOf(sandbox.gateway, CHAIN);
    const start = Math.ceil(Date.now() / HOUR_MS) * HOUR_MS;
    const clock = createManualClock(start - 90_000);
    const stop = recordFunding(sandbox.gateway.store.facade.funding, { ...venue, clock });
    expect(await historyOf('BTC', { startTime: start })).toEqual([]);
    await clock.pass(200_000, 20_000);
    const [hour, ...others] = await eventually(
      () => historyOf('BTC', { startTime: start }),
      (hours) => hours.length > 0,
    );
    expect([hour?.time, others]).toEqual([start, []]);
    expect(Math.sign(Number(hour?.fundingRate))).toBe(Math.sign(charged));
    await clock.pass(HOUR_MS, 20_000);
    const both = await eventually(
      () => historyOf('BTC', { startTime: start }),
      (hours) => hours.length === 2,
    );
    expect(both.map(({ time }) => time)).toEqual([start, start + HOUR_MS]);
    expect(await historyOf('BTC', { startTime: start, endTime: start })).toEqual([hour]);
    expect(await historyOf('PAIR5')).toEqual([]);
    stop();
  });
});
