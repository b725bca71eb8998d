import type { PublicClient } from 'viem';
import { createTry, type Trial } from '../../core/adapters/evm/try-together.js';
import { wrapFor, appendTag } from '../../core/trading/encode-intent.js';
import type { Clock } from '../../core/ports/clock.js';
import type { Address, Hex } from '../../core/types.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { relayBench, type RelayBench } from '../harness/relayer/relayer-bench.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';

let sandbox: TestVenue;
let chain: ChainControls;
let bench: RelayBench;
let other: RelayBench;
beforeAll(async () => {
  sandbox = await sharedVenue();
  chain = firstChain(sandbox);
  bench = await relayBench(chain, sandbox.gateway);
  other = await relayBench(chain, sandbox.gateway);
});
afterAll(() => sandbox.stop());

const GAS = 700_000n;

let tags = 0;
/** As the relayer would send it, with the tag behind it. */
function trialOf(of: RelayBench, parts: Partial<Trial> = {}): Trial {
  const { wallet, trader } = of;
  const owner = trader.account.address.toLowerCase() as Address;
  const tag: Hex = `0x${(tags += 1).toString(16).padStart(32, '0')}`;
  return { from: wallet, data: appendTag(wrapFor(wallet, owner, of.orderCall()), tag), gas: GAS, isUsual: true, ...parts };
}

/** Takes nothing for a call that the Diamond does not know. */
const senseless = (): Trial => trialOf(bench, { data: '0x604755cf' });

/** The real node, and how many questions it was asked. */
function watched(refuse: (data: Hex) => boolean = () => false) {
  let [asked, now] = [0, 1_000];
  const request = ((question: { method: 'eth_call'; params: [{ data: Hex }, 'latest'] }) => {
    asked += 1;
    return refuse(question.params[0].data) ? Promise.reject(new Error('refused')) : bench.client.request(question as never);
  }) as PublicClient['request'];
  const clock = { now: () => now } as Clock;
  const tried = createTry({ request } as PublicClient, chain.definition.diamond, clock);
  return {
    tryAll: (trials: readonly Trial[]) => Promise.all(trials.map(tried)),
    questions: () => asked,
    wait: (ms: number) => void (now += ms),
  };
}

const some = (count: number, make: () => Trial): Trial[] => Array.from({ length: count }, make);
const isMulticall = (data: Hex): boolean => data.startsWith('0xac9650d8');

describe('calls that are tried together', () => {
  it('pass in one question', async () => {
    const { tryAll, questions } = watched();
    expect(await tryAll(some(20, () => trialOf(bench)))).toEqual(Array.from({ length: 20 }, () => true));
    expect(questions()).toBe(1);
  });

  it('are twenty at most', async () => {
    const { tryAll, questions } = watched();
    expect(await tryAll(some(41, () => trialOf(bench)))).not.toContain(false);
    expect(questions()).toBe(3);
  });

  it('are of one sender', async () => {
    const { tryAll, questions } = watched();
    expect(await tryAll([...some(3, () => trialOf(bench)), ...some(3, () => trialOf(other))])).not.toContain(false);
    expect(questions()).toBe(2);
  });

  it('leave out what is not usual: it shows what it takes alone', async () => {
    const { tryAll, questions } = watched();
    const unusual = trialOf(bench, { isUsual: false, gas: 100_000n });
    expect(await tryAll([trialOf(bench), unusual, trialOf(bench)])).toEqual([true, false, true]);
    expect(questions()).toBe(2);
  });

  it('are tried alone where one fails, and only that one is refused', async () => {
    const { tryAll, questions } = watched();
    expect(await tryAll([trialOf(bench), senseless(), trialOf(bench)])).toEqual([true, false, true]);
    expect(questions()).toBe(4);
    expect(await tryAll(some(3, () => trialOf(bench)))).not.toContain(false);
    expect(questions()).toBe(5);
  });

  it('are refused where another wallet would send them', async () => {
    const { tryAll } = watched();
    expect(await tryAll([trialOf(bench), { ...trialOf(bench), from: other.wallet }, trialOf(other)])).toEqual([true, false, true]);
  });

  it('go alone for a minute where they pass alone and not together', async () => {
    const { tryAll, questions, wait } = watched(isMulticall);
    const trials = some(3, () => trialOf(bench));
    expect(await tryAll(trials)).not.toContain(false);
    expect(questions()).toBe(1 + 3);
    wait(59_999);
    expect(await tryAll(trials)).not.toContain(false);
    expect(questions()).toBe(4 + 3);
    wait(1);
    expect(await tryAll(trials)).not.toContain(false);
    expect(questions()).toBe(7 + 1 + 3);
  });

  it('is no way for one that comes alone', async () => {
    const { tryAll, questions } = watched(isMulticall);
    expect(await tryAll([trialOf(bench)])).toEqual([true]);
    expect(await tryAll([senseless()])).toEqual([false]);
    expect(questions()).toBe(2);
  });
});
