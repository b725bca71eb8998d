import { serializeErc6492Signature } from 'viem/utils';
import { createVerdictLane, isApprovedByContract, type VerdictLane } from '../../../core/access/wallet-verdicts.js';
import { GatewayError } from '../../../core/errors.js';
import type { Address } from '../../../core/types.js';
import { createRecordedLog } from '../../harness/checks/recorded-log.js';
import { createManualClock, type ManualClock } from '../../harness/time/manual-clock.js';

let clock: ManualClock;
let lane: VerdictLane;

/** No other replica has counted anything. */
const store = {
  addCounts: (_window: number, counts: readonly { requests: number }[]) => Promise.resolve(counts.map(({ requests }) => requests)),
};

beforeEach(() => {
  clock = createManualClock();
  lane = createVerdictLane({ perMinute: 600, store, clock, log: createRecordedLog() });
});
afterEach(() => lane.stop());

const wallet = (n: number): Address => `0x${n.toString(16).padStart(40, '0')}`;
const approve = (): Promise<boolean> => Promise.resolve(true);
const outcome = (from: string, of: Address, chain = 'base'): Promise<string> =>
  lane
    .run({ chain, from, wallet: of }, approve)
    .then(String, (error: unknown) => (error instanceof GatewayError ? `${error.code} ${error.message}` : String(error)));

/** A check that ends when the test says so. */
function held(from: string, chain = 'base') {
  let release = (): void => undefined;
  let hasBegun = false;
  const done = lane.run({ chain, from, wallet: wallet(1) }, () => {
    hasBegun = true;
    return new Promise<boolean>((resolve) => (release = () => resolve(true)));
  });
  done.catch(() => undefined);
  return { done, release: () => release(), begun: () => hasBegun };
}
const turns = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('the lane of contract wallets', () => {
  it('gives an address 20 checks a minute at the launch limits, whatever contracts it names', async () => {
    for (let n = 0; n < 20; n += 1) expect(await outcome('192.0.2.1', wallet(n))).toBe('true');
    expect(await outcome('192.0.2.1', wallet(99))).toMatch(/^RATE_LIMITED /);
    expect(await outcome('192.0.2.2', wallet(99))).toBe('true');
    clock.advance(60_000);
    expect(await outcome('192.0.2.1', wallet(99))).toBe('true');
  });

  it('takes an IPv6 /64 for one address', async () => {
    for (let n = 0; n < 20; n += 1) expect(await outcome(`2001:db8:0:1:0:0:0:${n}`, wallet(n))).toBe('true');
    expect(await outcome('2001:db8:0:1:0:0:0:ffff', wallet(99))).toMatch(/^RATE_LIMITED /);
    expect(await outcome('2001:db8:0:2:0:0:0:1', wallet(99))).toBe('true');
  });

  it('gives a contract 20 checks a minute too, and lets its owner through after other clients used them up', async () => {
    for (let n = 0; n < 20; n += 1) expect(await outcome(`192.0.2.${n}`, wallet(7))).toBe('true');
    for (let n = 0; n < 3; n += 1) expect(await outcome('198.51.100.1', wallet(7))).toBe('true');
    expect(await outcome('198.51.100.1', wallet(7))).toMatch(new RegExp(`Too many signature checks of the contract ${wallet(7)}`));
    expect(await outcome('198.51.100.1', wallet(7), 'polygon')).toBe('true');
  });

  it('runs two at once on a chain and one of a client; the others wait their turn', async () => {
    const first = held('192.0.2.1');
    const second = held('192.0.2.1');
    const otherClient = held('192.0.2.2');
    const third = held('192.0.2.3');
    const elsewhere = held('192.0.2.4', 'polygon');
    await turns();
    expect([first, second, otherClient, third, elsewhere].map(({ begun }) => begun())).toEqual([true, false, true, false, true]);
    otherClient.release();
    await turns();
    // The client's second check does not overtake a client that has none running.
    expect([second.begun(), third.begun()]).toEqual([false, true]);
    first.release();
    await turns();
    expect(second.begun()).toBe(true);
    for (const each of [second, third, elsewhere]) each.release();
    await Promise.all([first, second, otherClient, third, elsewhere].map(({ done }) => done));
  });

  it('refuses what would wait too long, and goes on after a check that failed', async () => {
    const first = held('192.0.2.1');
    const waiting = Array.from({ length: 4 }, () => held('192.0.2.1'));
    expect(await outcome('192.0.2.1', wallet(1))).toMatch(/^RATE_LIMITED Too many contract wallets/);
    first.release();
    for (const each of waiting) {
      await turns();
      each.release();
    }
    await Promise.all(waiting.map(({ done }) => done));
    await expect(lane.run({ chain: 'base', from: '192.0.2.1', wallet: wallet(1) }, () => Promise.reject(new Error('no')))).rejects.toThrow(
      'no',
    );
    expect(await outcome('192.0.2.1', wallet(1))).toBe('true');
  });
});

describe("a contract wallet's signature", () => {
  const signature = `0x${'11'.repeat(65)}` as const;
  const undeployed = serializeErc6492Signature({ address: wallet(8), data: '0x00', signature });

  it.each([
    ['asked of a contract', true, signature, true],
    ['refused without asking where there is no code', false, signature, false],
    ['asked where its factory is named, although there is no code yet', false, undeployed, true],
    ['refused without asking if half a byte is missing', true, `${signature}1` as const, false],
  ])('is %s', async (_what, hasCode, given, isAsked) => {
    let asked = 0;
    const chain = { hasCode: () => Promise.resolve(hasCode), isValidSignature: () => Promise.resolve((asked += 1) > 0) };
    const claim = { from: '192.0.2.1', wallet: wallet(7), digest: `0x${'22'.repeat(32)}`, signature: given } as const;
    const verdict = await isApprovedByContract({ access: { verdicts: lane } }, { chain, definition: { slug: 'base' } }, claim);
    expect([verdict, asked]).toEqual([isAsked, isAsked ? 1 : 0]);
  });
});
