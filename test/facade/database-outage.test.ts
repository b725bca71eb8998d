import { Wallet } from 'ethers';
import type pg from 'pg';
import type { ChainControls } from '../../sandbox/controls.js';
import { cutOff } from '../harness/cut-off.js';
import { eventually } from '../harness/eventually.js';
import { newFacadeTrader } from '../harness/facade-trader.js';
import { firstChain } from '../harness/first-chain.js';
import { order, orderAction, postExchange, signL1 } from '../harness/hl-exchange.js';
import { startTestSandbox, type TestSandbox } from '../harness/sandbox.js';
import { sandboxDatabase } from '../harness/sandbox-database.js';

const CHAIN = 'arbitrum-sepolia';

let sandbox: TestSandbox;
let chain: ChainControls;
let database: pg.Client;

beforeAll(async () => {
  sandbox = await startTestSandbox();
  chain = firstChain(sandbox);
  database = await sandboxDatabase(sandbox);
});
afterEach(() => chain.pauseMining(false));
afterAll(async () => {
  await database.end();
  await sandbox.stop();
});

const resting = () => orderAction(order({ a: 0, b: true, p: '30000', s: '0.01', t: { limit: { tif: 'Gtc' } } }));

async function newBot() {
  const { trader, agentKey, address } = await newFacadeTrader(sandbox);
  const agent = new Wallet(agentKey);
  return {
    trader,
    place: async () => (await postExchange(sandbox.url, CHAIN, await signL1(agent, resting()))).body,
    jobs: async () =>
      (await database.query<{ state: string }>('select state from relay_jobs where trader = $1', [address.toLowerCase()])).rows,
  };
}

const openOn = ({ trader }: Awaited<ReturnType<typeof newBot>>, count: number) =>
  eventually(
    () => trader.trades(),
    ({ length }) => length === count,
  );

describe('a database that goes away', () => {
  it('while an answer is held: the order that a node has is told as resting, and is there once', async () => {
    const bot = await newBot();
    await chain.pauseMining(true);
    const answer = bot.place();
    await eventually(
      () => bot.jobs(),
      (jobs) => jobs.some(({ state }) => state === 'accepted'),
    );
    const body = await cutOff(database, 'relay_jobs', () => answer, 'access exclusive');
    expect(body).toMatchObject({ status: 'ok', response: { data: { statuses: [{ resting: { oid: expect.any(Number) } }] } } });
    await chain.pauseMining(false);
    await openOn(bot, 1);
  });
});
