import { wrapFor } from '../../core/trading/encode-intent.js';
import type { Address } from '../../core/types.js';
import { DAY_MS, dayOf, runwayDays, type GasLedger } from '../../core/ports/stores/gas.js';
import type { RelayJob, RelayStore } from '../../core/ports/stores/relay.js';
import type { RelayNode } from '../../core/ports/relayer.js';
import type { RunningRelayer } from '../../relayer/create-relayer.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { eventually } from '../harness/time/eventually.js';
import { reorgAway } from '../harness/diamond/reorg-away.js';
import { createShiftedClock } from '../harness/time/shifted-clock.js';
import { relayBench, requestOf, type RelayBench } from '../harness/relayer/relayer-bench.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';
import { storeAction } from '../harness/hyperliquid/store-action.js';

const SLUG = 'arbitrum-sepolia';
const HOUR_MS = 3_600_000;
const FUNDED = 10n * 10n ** 18n;
/** Cancels a resting order that does not exist: the Diamond reverts. */
const CANCEL_NOTHING = `0x85886333${'0'.repeat(61)}3e7` as const;

let sandbox: TestVenue;
let chain: ChainControls;
let store: RelayStore;
let ledger: GasLedger;
let running: RunningRelayer[] = [];

beforeAll(async () => {
  sandbox = await startOwnVenue();
  const [first] = sandbox.controls.chains;
  if (!first) throw new Error('the sandbox has no chain');
  chain = first;
  store = sandbox.gateway.store.relay;
  ledger = sandbox.gateway.store.gas;
});
afterEach(async () => {
  await Promise.all(running.map((relayer) => relayer.stop()));
  running = [];
  await chain.pauseMining(false);
});
afterAll(() => sandbox.stop());

function start(bench: RelayBench, parts?: Parameters<RelayBench['start']>[0]): RunningRelayer {
  const relayer = bench.start(parts);
  running.push(relayer);
  return relayer;
}

const whenIn = (id: bigint, ...states: RelayJob['state'][]): Promise<RelayJob | null> =>
  eventually(
    () => store.job(SLUG, id),
    (job) => job !== null && states.includes(job.state),
  );

const totalsOf = async ({ wallet }: RelayBench) => (await ledger.totals()).filter((row) => row.wallet === wallet);
const spentOf = async (bench: RelayBench): Promise<bigint> =>
  FUNDED - (await bench.client.getBalance({ address: bench.wallet, blockTag: 'latest' }));

/** The invariant: what the ledger says left the wallet is what left it, in every way of summing it up. */
async function expectToTheWei(bench: RelayBench): Promise<void> {
  const { spent } = await eventually(
    async () => ({ spent: await spentOf(bench), booked: (await totalsOf(bench)).reduce((sum, { costWei }) => sum + costWei, 0n) }),
    ({ spent, booked }) => spent === booked,
  );
  expect(spent).toBeGreaterThan(0n);
  const now = sandbox.gateway.clock.now();
  expect(await ledger.burn(SLUG, bench.wallet, now)).toEqual({ dayWei: spent, weekWei: spent });
  const { rows } = await ledger.costs({ chain: SLUG, by: 'wallet', from: dayOf(now) - 1, to: dayOf(now), limit: 1_000 });
  expect(rows.find(({ key }) => key === bench.wallet)?.costWei).toBe(spent);
}

describe('the gas ledger', () => {
  it('equals what left the wallet to the wei: mined, reverted, given away and filling a gap', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    const clock = createShiftedClock();
    let isForgetful = false;
    const node: RelayNode = {
      ...bench.node,
      send: (raw) => (isForgetful ? Promise.resolve({ verdict: 'unknown', note: 'nothing' }) : bench.node.send(raw)),
    };
    const relayer = start(bench, { clock, node });
    const trader = bench.trader.account.address.toLowerCase() as Address;
    const good = await relayer.send(await requestOf(bench));
    const bad = await relayer.send({
      ...(await requestOf(bench)),
      data: wrapFor(bench.wallet, trader, CANCEL_NOTHING),
      context: CANCEL_NOTHING,
    });
    await whenIn(good.job.id, 'mined');
    await whenIn(bad.job.id, 'reverted');
    isForgetful = true;
    const late = await relayer.send(await requestOf(bench, { notAfter: clock.now() + 5_000 }));
    await whenIn(late.job.id, 'unknown');
    clock.move(HOUR_MS);
    isForgetful = false;
    await whenIn(late.job.id, 'replaced');
    const gap = await store.fillGap(SLUG, bench.wallet, await bench.nonce(), 100_000n, clock.now());
    await whenIn(gap?.id ?? 0n, 'replaced', 'mined');
    expect((await totalsOf(bench)).map(({ action, outcome, transactions }) => [action, outcome, transactions]).sort()).toEqual([
      ['no-op', 'no-op', 1],
      ['other', 'mined', 1],
      ['other', 'replaced', 1],
      ['other', 'reverted', 1],
    ]);
    await expectToTheWei(bench);
  });

  it('follows the chain through reorganisations: what is dropped is taken back, what comes again is booked again', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    const relayer = start(bench, { waits: { stuckMs: 300 } });
    const first = await relayer.send(await requestOf(bench));
    const over = await whenIn(first.job.id, 'mined');
    await expectToTheWei(bench);
    await chain.setBaseFee(3);
    await reorgAway(chain, bench.client, over?.mined?.blockNumber ?? 0n);
    const second = await relayer.send(await requestOf(bench));
    await whenIn(second.job.id, 'mined');
    await eventually(
      () => bench.trader.trades(),
      ({ length }) => length === 2,
    );
    await expectToTheWei(bench);
    expect((await totalsOf(bench)).map(({ transactions }) => transactions)).toEqual([2]);
    await chain.setBaseFee(1);
  });

  it('pays for a replacement once, at the fee of the one that was mined', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    await chain.pauseMining(true);
    const relayer = start(bench, { waits: { stuckMs: 200 } });
    const { job, handedOver } = await relayer.send(await requestOf(bench));
    await handedOver;
    await chain.setBaseFee(20);
    await chain.pauseMining(false);
    const over = await whenIn(job.id, 'mined');
    expect(over?.attempts.length).toBeGreaterThan(1);
    await expectToTheWei(bench);
    await chain.setBaseFee(1);
  });

  it('books each transaction under what its action is, why a job was never sent, and a week by days with the hours of its first', async () => {
    const envelopes: readonly (readonly [string, string])[] = [
      ['{"action":{"type":"order"}}', 'order'],
      ['{"action":{"type":"cancelByCloid"}}', 'cancelByCloid'],
      ['{"action":{"type":"batchModify"}}', 'batchModify'],
      ['{"action":{"type":"anActionOfALaterRelease"}}', 'anActionOfALaterRelease'],
      ['{"action":{"type":"order","note":"\\u0000"}}', 'other'],
      ['no JSON at all', 'other'],
    ];
    const bench = await relayBench(chain, sandbox.gateway);
    const relayer = start(bench);
    for (const [envelope] of envelopes) {
      const signed = await storeAction(sandbox.gateway.store, { ...(await bench.action()), envelope });
      const { job } = await relayer.send({ ...(await requestOf(bench)), parent: signed.id });
      await whenIn(job.id, 'mined');
    }
    const booked = (await totalsOf(bench)).flatMap((row) => Array.from({ length: row.transactions }, () => row.action));
    expect(booked.sort()).toEqual(envelopes.map(([, action]) => action).sort());

    const counted = async (): Promise<number> => (await ledger.refusals()).find(({ reason }) => reason === 'gas-cap')?.count ?? 0;
    const before = await counted();
    const { handedOver } = await relayer.send({ ...(await requestOf(bench)), gas: 50_000_000n });
    expect((await handedOver).state).toBe('refused');
    expect(await counted()).toBe(before + 1);

    const now = sandbox.gateway.clock.now();
    const spent = await spentOf(bench);
    const at = async (later: number) => ledger.burn(SLUG, bench.wallet, now + later);
    expect(await at(DAY_MS / 2)).toEqual({ dayWei: spent, weekWei: spent });
    expect(await at(1.5 * DAY_MS)).toEqual({ dayWei: 0n, weekWei: spent });
    expect(await at(7 * DAY_MS - HOUR_MS)).toEqual({ dayWei: 0n, weekWei: spent });
    expect(await at(7 * DAY_MS + HOUR_MS)).toEqual({ dayWei: 0n, weekWei: 0n });
  });

  it('says how long the balance lasts at the dearer pace', () => {
    expect(runwayDays(100n, { dayWei: 10n, weekWei: 14n })).toBe(10);
    expect(runwayDays(100n, { dayWei: 1n, weekWei: 140n })).toBe(5);
    expect(runwayDays(100n, { dayWei: 0n, weekWei: 0n })).toBeNull();
  });
});
