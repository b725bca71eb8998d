import { zeroAddress } from 'viem';
import { venueOf, type Venue } from '../../../core/gateway.js';
import type { ChainControls } from '../../../sandbox/controls.js';
import { expectViewEqualsChain, lowerOf } from '../../harness/diamond/chain-checker.js';
import { newTrader, type ChainTrader } from '../../harness/traders/chain-trader.js';
import { diamondCall, packed, price } from '../../harness/diamond/diamond-calls.js';
import { eventually } from '../../harness/time/eventually.js';
import { storedOrders } from '../../harness/traders/stored-orders.js';
import { firstChain } from '../../harness/venue/first-chain.js';
import type { TestVenue } from '../../harness/venue/own-venue.js';
import { sharedVenue } from '../../harness/venue/shared-venue.js';

const CHAIN = 'arbitrum-sepolia';
const LIMIT_OPEN = 2;
let sandbox: TestVenue;
let chain: ChainControls;
let venue: Venue;
let own: ReturnType<typeof storedOrders>;

beforeAll(async () => {
  sandbox = await sharedVenue();
  chain = firstChain(sandbox);
  venue = venueOf(sandbox.gateway, CHAIN);
  own = storedOrders(sandbox, chain, venue);
});
afterAll(() => sandbox.stop());

/** A limit order of ours below the market. */
async function resting(trader: ChainTrader): Promise<bigint> {
  sandbox.controls.prices.jump(1, '3005');
  const { id, data } = await own.place(trader, { trade: { pairIndex: 1, tradeType: 1, openPrice: price(3000) } });
  await own.send(trader, data);
  await own.reaches(trader, id, 'open');
  return id;
}

describe('a keeper', () => {
  it('that tries in vain leaves the order resting, and has no order itself', async () => {
    const [trader, keeper] = [await newTrader(chain), await newTrader(chain)];
    const id = await resting(trader);
    await own.send(keeper, diamondCall('triggerOrder', [packed(LIMIT_OPEN, trader.account.address, 0)]));
    const { orderId, cancelReason } = await keeper.event('TriggerOrderCanceled');
    expect(cancelReason).toBe(11);
    expect(orderId).toMatchObject({ user: keeper.account.address });
    await eventually(
      () => keeper.pending(),
      (pending) => pending === 0,
    );
    await expectViewEqualsChain(sandbox.gateway, CHAIN, trader);
    expect((await own.find(trader, id)).order).toMatchObject({ status: 'open', reason: null });
    expect(await own.all(keeper)).toEqual([]);
    expect(await own.journal(keeper)).toEqual([]);
  });

  it('that succeeds with a zero order id fills the order under a new trade index', async () => {
    const trader = await newTrader(chain);
    const id = await resting(trader);
    sandbox.controls.prices.jump(1, '2990');
    const { order } = await own.reaches(trader, id, 'filled');
    const executed = await trader.event('LimitExecuted');
    expect(executed).toMatchObject({ orderId: { user: zeroAddress, index: 0 }, limitIndex: 0, index: 1 });
    expect(order.fill).toMatchObject({ tradeIndex: 1, price: executed['marketPrice'] });
    expect(await sandbox.gateway.store.account.openPositions(CHAIN, lowerOf(trader))).toMatchObject([{ tradeIndex: 1 }]);
    await expectViewEqualsChain(sandbox.gateway, CHAIN, trader);
  });
});
