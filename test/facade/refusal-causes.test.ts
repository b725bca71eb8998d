import { Wallet } from 'ethers';
import type { ChainControls } from '../../sandbox/controls.js';
import { order, orderAction, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import { eventually } from '../harness/time/eventually.js';
import { FACADE_CHAIN, newFacadeTrader, type FacadeTrader } from '../harness/traders/facade-trader.js';
import { answersWhenKnown } from '../harness/venue/answer-hold.js';
import { firstChain } from '../harness/venue/first-chain.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';

/** Clients compare how a refusal begins; what follows says what the order came to and what was allowed. */

const ETH = 1;
const PRICE = 3_000;

let sandbox: TestVenue;
let chain: ChainControls;
beforeAll(async () => {
  sandbox = await sharedVenue();
  chain = firstChain(sandbox);
});
beforeEach(async () => {
  sandbox.controls.prices.jump(ETH, String(PRICE));
  await eventually(
    () => sandbox.gateway.venues.get(FACADE_CHAIN)?.feed.lastPrice(ETH)?.oracle,
    (oracle) => oracle === BigInt(PRICE) * 10n ** 10n,
  );
});
afterAll(async () => {
  chain.setOraclePolicy(ETH, { mode: 'auto' });
  await sandbox.stop();
});

const act = async ({ agentKey }: FacadeTrader, action: object): Promise<unknown> =>
  (await postExchange(sandbox.url, FACADE_CHAIN, await signL1(new Wallet(agentKey), action as never))).body;

async function refusal(bot: FacadeTrader, wire: object): Promise<string> {
  const body = await act(bot, orderAction(order({ a: ETH, p: '3300', ...wire })));
  const [status] = (body as { response: { data: { statuses: { error?: string }[] } } }).response.data.statuses;
  if (status?.error === undefined) throw new Error(`not refused: ${JSON.stringify(body)}`);
  return status.error;
}

const NO_MATCH = 'Order could not immediately match against any resting orders.';
/** The first number after these words. */
const after = (words: string, text: string): number => Number(new RegExp(`${words} \\$?([\\d.]+\\d)`).exec(text)?.[1]);

describe('the refusal of an order', () => {
  it('names the price of the oracle and the limit that it is beyond', async () => {
    const bot = await newFacadeTrader(sandbox);
    expect(await refusal(bot, { p: '2900', s: '1' })).toBe(`${NO_MATCH} The oracle's price is 3000.0, the limit 2900.0. asset=${ETH}`);
    expect(await refusal(bot, { b: false, p: '3100', s: '1' })).toBe(
      `${NO_MATCH} The oracle's price is 3000.0, the limit 3100.0. asset=${ETH}`,
    );
  });

  it("names the price that impact would make of the oracle's, which the limit would have allowed", async () => {
    const bot = await newFacadeTrader(sandbox);
    const text = await refusal(bot, { p: '3000.1', s: '50' });
    expect(text).toMatch(new RegExp(`^${NO_MATCH} Price impact and spread would take the execution price to `));
    expect(after('execution price to', text)).toBeGreaterThan(3_000.1);
    expect([after('the limit is', text), after("the oracle's price is", text)]).toEqual([3_000.1, 3_000]);
  });

  it('names the loss by price impact that the quote of the same order finds, and the greatest allowed', async () => {
    const bot = await newFacadeTrader(sandbox, '3000000');
    await act(bot, { type: 'updateLeverage', asset: ETH, isCross: false, leverage: 50 });
    const request = { market: 'ETH/USD', side: 'long', type: 'market', size: '30000', leverage: '50', slippage: '10' };
    const { body } = await sandbox.post(`/v1/${FACADE_CHAIN}/quote`, request);
    const { spreadPercent, volumePercent } = (body as { impact: Record<'spreadPercent' | 'volumePercent', string> }).impact;
    const text = await refusal(bot, { p: '3300', s: '30000' });
    expect(text).toMatch(
      new RegExp(`^${NO_MATCH} Price impact and spread would cost [\\d.]+ % of the collateral, at most 40 % are allowed\\.`),
    );
    // The facade takes collateral for the price after impact, the quote for the oracle's.
    expect(Math.abs(after('would cost', text) / ((Number(spreadPercent) + Number(volumePercent)) * 50) - 1)).toBeLessThan(0.05);
  });

  it('names the price that the oracle answered with and the worst that was allowed, once the contract refused it', async () => {
    const bot = await newFacadeTrader(sandbox);
    chain.setOraclePolicy(ETH, { mode: 'hold' });
    answersWhenKnown(sandbox);
    const refused = refusal(bot, { p: '3010', s: '1' });
    try {
      await eventually(
        () => bot.trader.pending(),
        (pending) => pending === 1,
      );
      sandbox.controls.prices.jump(ETH, '3050');
    } finally {
      chain.setOraclePolicy(ETH, { mode: 'auto' });
    }
    await chain.mine(1);
    const text = await refused;
    expect(text).toMatch(new RegExp(`^${NO_MATCH} The oracle's price moved too far: the execution price was `));
    expect(after('execution price was', text)).toBeGreaterThanOrEqual(3_050);
    expect(after('the worst allowed is', text)).toBeCloseTo(3_010, 0);
  });

  it('names what the order takes and what the wallet holds', async () => {
    const bot = await newFacadeTrader(sandbox, '100');
    const text = await refusal(bot, { s: '1' });
    expect(text).toMatch(/^Insufficient margin to place order\. /);
    expect(after('The order takes', text)).toBeGreaterThan(590);
    expect(after('which holds', text)).toBe(100);
  });

  it('begins with the ten dollars that clients look for, and names the least that is taken here', async () => {
    const bot = await newFacadeTrader(sandbox);
    const text = await refusal(bot, { s: '0.003' });
    expect(text).toMatch(/^Order must have minimum value of \$10\. At 5x the minimum here is \$/);
    const least = after('the minimum here is', text);
    expect(least).toBeGreaterThan(10);
    // An order of that value is taken.
    const body = await act(bot, orderAction(order({ a: ETH, p: '3300', s: (Math.ceil((least / PRICE) * 1e4 + 1) / 1e4).toFixed(4) })));
    expect(body).toMatchObject({ response: { data: { statuses: [{ filled: {} }] } } });
  });
});
