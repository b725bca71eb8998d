import type { Gateway } from '../../../core/gateway.js';
import type { ChainControls } from '../../../sandbox/controls.js';
import { newTrader, type ChainTrader } from '../../harness/traders/chain-trader.js';
import { createTestDatabase, type TestDatabase } from '../../harness/database/test-database.js';
import { price } from '../../harness/diamond/diamond-calls.js';
import { eventually } from '../../harness/time/eventually.js';
import { startSecondGateway, type SecondGateway } from '../../harness/venue/second-gateway.js';
import { firstChain } from '../../harness/venue/first-chain.js';
import type { TestVenue } from '../../harness/venue/own-venue.js';
import { sharedVenue } from '../../harness/venue/shared-venue.js';

/** Two gateways on one database of their own, while the sandbox's gateway minds its own business. */

let sandbox: TestVenue;
let chain: ChainControls;
let database: TestDatabase;
const running: SecondGateway[] = [];

beforeAll(async () => {
  sandbox = await sharedVenue();
  chain = firstChain(sandbox);
  database = await createTestDatabase();
  sandbox.controls.prices.jump(0, '60000');
});
afterAll(async () => {
  for (const one of running) await one.stop();
  await database.drop();
  await sandbox.stop();
});

async function join(): Promise<SecondGateway> {
  const joined = await startSecondGateway({ ...sandbox, config: { ...sandbox.config, database: { kind: 'server', url: database.url } } });
  running.push(joined);
  return joined;
}

const ordersSeenBy = async ({ store }: Gateway, { account }: ChainTrader): Promise<string[]> =>
  (await store.account.ordersBefore('arbitrum-sepolia', account.address.toLowerCase() as `0x${string}`, null, 50)).map(
    ({ id, order }) => `${id}:${order.status}`,
  );
const untilFilled = (beside: SecondGateway, trader: ChainTrader, count: number): Promise<string[]> =>
  eventually(
    () => ordersSeenBy(beside.gateway, trader),
    (orders) => orders.filter((order) => order.endsWith(':filled')).length === count,
  );

describe('two gateways that follow one chain', () => {
  it('hand it over when the one at work ends, without a loss or a repeat', async () => {
    const [leader, waiting] = [await join(), await join()];
    const trader = await newTrader(chain);
    await trader.open({ openPrice: price(60_000) });
    const [first] = await untilFilled(leader, trader, 1);

    await leader.stop();
    await trader.open({ openPrice: price(60_000) });
    const after = await untilFilled(waiting, trader, 2);
    expect(after).toHaveLength(2);
    expect(after).toContain(first);

    const again = await join();
    await waiting.stop();
    await trader.open({ openPrice: price(60_000) });
    const last = await untilFilled(again, trader, 3);
    expect(last).toHaveLength(3);
    expect(last).toEqual(expect.arrayContaining(after));
  });
});
