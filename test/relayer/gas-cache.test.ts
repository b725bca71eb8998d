import type { AgentCaller } from '../../core/access/caller.js';
import type { OpenIntent } from '../../core/domain/intent.js';
import { venueOf, type Venue } from '../../core/gateway.js';
import { learnGas } from '../../core/caching/gas-cache.js';
import { prepareTransaction } from '../../core/trading/prepare-transaction.js';
import type { Simulation } from '../../core/ports/simulation.js';
import type { Address } from '../../core/types.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { eventually } from '../harness/time/eventually.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { relayBench, requestOf, type RelayBench } from '../harness/relayer/relayer-bench.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';

let sandbox: TestVenue;
let chain: ChainControls;
let bench: RelayBench;
let caller: AgentCaller;

beforeAll(async () => {
  sandbox = await sharedVenue();
  chain = firstChain(sandbox);
  bench = await relayBench(chain, sandbox.gateway);
  const scope = { markets: 'all', maxLeverage: null, dailySpendCapUsd: null, expiresAt: null, permissions: 'trade' } as const;
  const trader = bench.trader.account.address.toLowerCase() as Address;
  caller = { via: 'agent', trader, agent: bench.wallet, sender: bench.wallet, mode: 'relayed', scope };
});
afterAll(() => sandbox.stop());

const SLUG = 'arbitrum-sepolia';
/** Of a whole estimate; nothing that opens a trade gets by with it. */
const FAR_TOO_LITTLE = 40_000n;
let price = 200_000_000_000_000n;

const resting = (): OpenIntent => ({
  kind: 'open',
  type: 'limit',
  pairIndex: 0,
  collateralIndex: chain.collaterals.find(({ symbol }) => symbol === 'USDC')?.index ?? 1,
  long: true,
  leverage: 10_000n,
  collateralAmount: 100_000_000n,
  price: (price += 1_000_000_000n),
  tp: 0n,
  sl: 0n,
  slippageP: 1_000n,
});

/** The real venue, which has learned nothing yet, and what its node is asked. */
function watched(): { readonly venue: Venue; readonly asked: Simulation[] } {
  const real = venueOf(sandbox.gateway, SLUG);
  const asked: Simulation[] = [];
  const simulate: Venue['chain']['simulate'] = (simulation) => {
    asked.push(simulation);
    return real.chain.simulate(simulation);
  };
  return { venue: { ...real, chain: { ...real.chain, simulate } }, asked };
}

async function gasFor(venue: Venue, intent = resting()) {
  const { handedOut, inner } = await prepareTransaction(sandbox.gateway, venue, caller, { intent, takes: null });
  if (handedOut.gas === null) throw new Error('no gas');
  return { gas: handedOut.gas, data: handedOut.data, inner };
}

const estimateOf = (data: `0x${string}`): Promise<bigint> =>
  bench.client.estimateGas({ account: bench.wallet, to: chain.definition.diamond, data });

describe('gas that was learned', () => {
  it('is not given to a call that needs more: it is estimated after all, and mined', async () => {
    const { venue, asked } = watched();
    learnGas(venue, resting(), FAR_TOO_LITTLE);
    const { gas, data, inner } = await gasFor(venue);
    expect(asked.map((simulation) => simulation.gas)).toEqual([(FAR_TOO_LITTLE * 13n) / 10n]);
    expect(gas).toBeGreaterThanOrEqual((await estimateOf(data)) + 1n);
    const relayer = bench.start();
    const { job } = await relayer.send({ ...(await requestOf(bench, { inner })), data, gas });
    const over = await eventually(
      () => bench.store.job(SLUG, job.id),
      (now) => now?.mined != null,
    );
    await relayer.stop();
    expect(over?.state).toBe('mined');
    expect(over?.mined?.gasUsed).toBeLessThan(gas);
    await gasFor(venue);
    expect(asked.at(-1)?.gas).toBeGreaterThan(FAR_TOO_LITTLE * 2n);
  });

  it('is tried as it is, and a fifth more is sent along', async () => {
    const { venue, asked } = watched();
    const first = await gasFor(venue);
    const second = await gasFor(venue);
    const [estimated, tried] = asked.map((simulation) => simulation.gas);
    expect(estimated).toBeUndefined();
    expect(second.gas).toBe(((tried ?? 0n) * 12n) / 10n);
    expect(second.gas).toBeGreaterThan(first.gas);
    expect(asked).toHaveLength(2);
  });

  it('is asked for once by many who come together', async () => {
    const { venue, asked } = watched();
    await Promise.all(Array.from({ length: 20 }, () => gasFor(venue)));
    expect(asked.filter(({ gas }) => gas === undefined)).toHaveLength(1);
    expect(asked).toHaveLength(20);
  });

  it('makes what follows usual, for this trader in this market', async () => {
    const { venue, asked } = watched();
    for (let times = 0; times < 3; times += 1) await gasFor(venue);
    await gasFor(venue, { ...resting(), pairIndex: 1, price: price / 20n });
    await gasFor(venue, { ...resting(), tp: 300_000_000_000_000n });
    await gasFor(venue);
    expect(asked.map(({ gas, isUsual }) => (gas === undefined ? 'estimated' : isUsual))).toEqual([
      'estimated',
      false,
      true,
      false,
      false,
      true,
    ]);
    await expect(gasFor(venue, { ...resting(), collateralAmount: 10n ** 18n })).rejects.toThrow();
    await gasFor(venue);
    expect(asked.at(-1)?.isUsual).toBe(false);
    learnGas(venue, resting(), FAR_TOO_LITTLE);
    await gasFor(venue);
    expect(asked.at(-1)?.isUsual).toBe(false);
  });

  it('keeps no call waiting for another that fails', async () => {
    const { venue, asked } = watched();
    const refused = gasFor(venue, { ...resting(), collateralAmount: 10n ** 18n });
    const fine = gasFor(venue);
    await expect(refused).rejects.toThrow();
    expect((await fine).gas).toBeGreaterThan(0n);
    expect(asked.map(({ gas }) => gas)).toEqual([undefined, undefined]);
  });
});
