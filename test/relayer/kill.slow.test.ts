import { Wallet } from 'ethers';
import { createPublicClient, http } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { systemClock } from '../../core/adapters/system/clock.js';
import type { Address } from '../../core/types.js';
import type { RelayJob } from '../../core/ports/stores/relay.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { createFaultProxy, type FaultProxy } from '../../sandbox/fault-proxy.js';
import { expectViewEqualsChain } from '../harness/diamond/chain-checker.js';
import { newTrader, type ChainTrader } from '../harness/traders/chain-trader.js';
import { eventually } from '../harness/time/eventually.js';
import { approveAgent, order, orderAction, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import { expectRelayInvariants, openPurse, type Purse } from '../harness/checks/relay-invariants.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';
import { createGatewayProcess, type GatewayProcess } from '../scenarios/gateway-process.js';

/** A relaying gateway that is killed, by the signal that cannot be caught, after every single step of an order's way to the chain. */

const SLUG = 'arbitrum-sepolia';
const BTC = 0;
/** More than an order has; the loop ends with the first order that gets through alive. */
const MOST_STEPS = 40;

const relayerKey = generatePrivateKey();
const relayer = privateKeyToAccount(relayerKey).address.toLowerCase() as Address;
const agent = new Wallet(Wallet.createRandom().privateKey);

let sandbox: TestVenue;
let chain: ChainControls;
let proxy: FaultProxy;
let gateway: GatewayProcess;
let trader: ChainTrader;
let purse: Purse;
let price = 40_000;

beforeAll(async () => {
  sandbox = await startOwnVenue({ SANDBOX_BLOCK_MS: '100' });
  const [first] = sandbox.controls.chains;
  if (!first) throw new Error('the sandbox has no chain');
  chain = first;
  sandbox.controls.prices.jump(BTC, '60000');
  proxy = await createFaultProxy({ target: chain.rpcUrl, clock: systemClock });
  await chain.faucet.fund(relayer, { eth: '10' });
  gateway = await createGatewayProcess(sandbox, {
    program: ['--import', 'tsx', 'test/scenarios/crash-at-step.ts'],
    settings: { RELAYER_KEY_ARBITRUM_SEPOLIA: relayerKey, RPC_URL_ARBITRUM_SEPOLIA: proxy.url, FACADE_HOLD_MS: '2000' },
  });
  trader = await newTrader(chain, { delegate: relayer, usdc: '100000' });
  const approval = await approveAgent(new Wallet(trader.privateKey), agent.address, null, { network: 'Testnet' });
  expect(await postExchange(gateway.url(), SLUG, approval)).toMatchObject({ body: { status: 'ok' } });
  purse = await openPurse(createPublicClient({ transport: http(chain.rpcUrl, { batch: true }), cacheTime: 0 }), relayer);
}, 300_000);
afterAll(async () => {
  await gateway.stop();
  await proxy.close();
  await sandbox.stop();
});

/** A resting order at a price of its own; null when the gateway died over it. */
async function place(): Promise<unknown> {
  const action = orderAction(order({ a: BTC, b: true, p: String((price += 10)), s: '0.01', t: { limit: { tif: 'Alo' } } }));
  return postExchange(gateway.url(), SLUG, await signL1(agent, action)).then(
    ({ body }) => body,
    () => null,
  );
}

const relay = () => gateway.books.store.relay;
const openJobs = (): Promise<RelayJob[]> => relay().open(SLUG, relayer);

/** What the dead one left is finished by the next: with the bytes it signed, where it had signed any. */
async function expectFinished(left: readonly RelayJob[]): Promise<void> {
  for (const { id, attempts } of left) {
    const job = await eventually(
      () => relay().job(SLUG, id),
      (known) => known?.state === 'mined',
    );
    expect(job?.attempts.slice(0, attempts.length)).toEqual(attempts);
    if (attempts.length > 0) expect(attempts.map(({ hash }) => hash)).toContain(job?.mined?.hash);
  }
  await expectRelayInvariants(purse, { slug: SLUG, store: relay() });
}

describe('a relaying gateway that is killed', () => {
  it('after any step of an order leaves nothing that the next one does not finish, once', async () => {
    const steps: string[] = [];
    let orders = 0;
    // The first order of a trader has a step more than all others, and the steps are counted.
    expect(await place()).toMatchObject({ status: 'ok' });
    await gateway.kill();
    await gateway.start({ DOOM: '1' });
    for (let step = 1; !(await getsThrough()); step += 1) {
      if (step > MOST_STEPS) throw new Error(`an order has more than ${MOST_STEPS} steps: ${steps.join(', ')}`);
      await gateway.died();
      const left = await openJobs();
      steps.push(`${step}: ${left.map(({ state }) => state).join()}`);
      orders += left.length;
      // The next process finishes what this one left, and is killed at the next order, one step later.
      await gateway.start({ DOOM: String(step + 1) });
      await expectFinished(left);
    }
    await gateway.kill();
    await gateway.start();
    await expectFinished(await openJobs());
    for (const state of ['queued', 'assigned', 'signed', 'accepted']) expect(steps.join()).toContain(state);
    expect((await trader.trades()).length).toBeGreaterThanOrEqual(orders);
    await expectViewEqualsChain(gateway.books, SLUG, trader);
  }, 900_000);

  it.each(['pass', 'reset'] as const)(
    'while a transaction is on its way to the node (%s) leaves one order on chain',
    async (fate) => {
      await gateway.kill();
      await gateway.start();
      const before = (await trader.trades()).length;
      let isDead = false;
      const heal = proxy.onRequest(async (body) => {
        if (isDead || !JSON.stringify(body).includes('eth_sendRawTransaction')) return undefined;
        isDead = true;
        await gateway.kill();
        return fate;
      });
      expect(await place()).toBeNull();
      heal();
      const left = await openJobs();
      expect(left.map(({ state, attempts }) => [state, attempts.length])).toEqual([['signed', 1]]);
      await gateway.start();
      await expectFinished(left);
      expect(await trader.trades()).toHaveLength(before + 1);
      await expectViewEqualsChain(gateway.books, SLUG, trader);
    },
    300_000,
  );
});

/** Places an order: true when it is mined and the gateway still lives. */
async function getsThrough(): Promise<boolean> {
  const answer = await place();
  if (answer === null) return false;
  const settled = eventually(openJobs, (jobs) => jobs.length === 0).then(() => true);
  return Promise.race([gateway.died().then(() => false), settled]);
}
