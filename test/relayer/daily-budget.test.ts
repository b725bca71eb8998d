import type { KnexStore } from '../../core/adapters/postgres/create-store.js';
import { systemClock } from '../../core/adapters/system/clock.js';
import type { Clock } from '../../core/ports/clock.js';
import type { Address } from '../../core/types.js';
import type { DailyBudgetSetting } from '../../core/config/relayer.js';
import type { Refusal, RelayJob } from '../../core/ports/stores/relay.js';
import { createDailyBudget, type DailyBudget, type UsedBudget } from '../../relayer/daily-budget.js';
import { createRecordedLog } from '../harness/checks/recorded-log.js';
import { openReplicas, type Replicas } from '../harness/database/two-stores.js';

const CHAIN = 'base';
const DAY_MS = 86_400_000;
let replicas: Replicas;
let store: KnexStore;
beforeAll(async () => {
  replicas = await openReplicas();
  [store] = replicas.stores;
});
afterAll(() => replicas.close());

let last = 0;
const newAddress = (): Address => `0x${String((last += 1)).padStart(40, '0')}`;

/** What a mined transaction cost, as the ledger books it: on the day of the database's clock. */
async function spend(wallet: Address, wei: bigint): Promise<void> {
  const mined = JSON.stringify({ costWei: { $n: wei.toString() }, blockHash: '0x00' });
  const job = { chain: CHAIN, wallet, purpose: 'no-op', data: '0x', gas: 1, context: 'null', created_at: 1 };
  await store.db('relay_jobs').insert({ ...job, state: 'mined', is_over: true, mined, mined_block: 1 });
}

interface Wallet {
  readonly wallet: Address;
  readonly events: (UsedBudget | 'left')[];
  readonly budget: (setting: DailyBudgetSetting, clock?: Clock) => ReturnType<typeof createDailyBudget>;
}

function newWallet(): Wallet {
  const wallet = newAddress();
  const events: (UsedBudget | 'left')[] = [];
  const handlers = {
    onReached: (used: UsedBudget) => Promise.resolve(void events.push(used)),
    onLeft: () => Promise.resolve(void events.push('left')),
  };
  return {
    wallet,
    events,
    budget: (setting, clock = systemClock) =>
      createDailyBudget({ setting, slug: CHAIN, wallet, store: store.relay, events: handlers, clock, log: createRecordedLog() }),
  };
}

const over = (id: bigint): RelayJob => ({ id, state: 'mined' }) as RelayJob;
/** Asked for a job that is not begun. */
async function refusalOf(budget: DailyBudget, maxCostWei: bigint): Promise<Refusal | null> {
  const refusal = await budget.refusal(99n, maxCostWei);
  budget.release([99n]);
  return refusal;
}

const REACHED = {
  reason: 'budget',
  note: expect.stringMatching(/^the relayer has used its budget of .* cancels and closes are still sent$/),
};

describe('the budget of a wallet and day', () => {
  it('counts what was spent on that day and what is under way, and opens an alert at its end', async () => {
    const { wallet, events, budget } = newWallet();
    const own = budget(100n);
    await spend(wallet, 40n);
    await own.refresh(1_000n, []);
    expect(await refusalOf(own, 60n)).toBeNull();
    own.begin(1n, 50n);
    expect(await refusalOf(own, 11n)).toMatchObject(REACHED);
    expect(await refusalOf(own, 10n)).toBeNull();
    expect(await refusalOf(own, 11n)).toMatchObject(REACHED);
    expect(events).toEqual(['left', { wallet, spentWei: 40n, budgetWei: 100n, freesAt: expect.any(Number) }]);
    await spend(wallet, 20n);
    own.step(over(1n));
    await own.refresh(1_000n, []);
    expect(await refusalOf(own, 40n)).toBeNull();
    expect(events.at(-1)).toBe('left');
  });

  it('is half of the highest balance of the day where none is set, also after a restart, and a top-up counts at once', async () => {
    const { wallet, budget } = newWallet();
    await budget('half').refresh(1_000n, []);
    await spend(wallet, 450n);
    const restarted = budget('half');
    await restarted.refresh(550n, []);
    expect(await refusalOf(restarted, 51n)).toMatchObject(REACHED);
    expect(await refusalOf(restarted, 50n)).toBeNull();
    await restarted.refresh(2_000n, []);
    expect(await refusalOf(restarted, 550n)).toBeNull();
    expect(await refusalOf(restarted, 551n)).toMatchObject(REACHED);
  });

  it('covers jobs that are checked at the same time only as far as it lasts for all of them', async () => {
    const own = newWallet().budget(100n);
    await own.refresh(1_000n, []);
    const checked = await Promise.all([own.refusal(1n, 60n), own.refusal(2n, 30n), own.refusal(3n, 60n)]);
    expect(checked).toEqual([null, null, expect.objectContaining(REACHED)]);
    own.release([1n]);
    expect(await own.refusal(3n, 60n)).toBeNull();
  });

  it('covers a higher fee of what is under way only as far as it lasts', async () => {
    const { wallet, budget } = newWallet();
    const own = budget(100n);
    await spend(wallet, 40n);
    await own.refresh(1_000n, []);
    own.begin(1n, 20n);
    own.begin(2n, 10n);
    expect(own.raise(1n, 51n)).toBe(false);
    expect(await refusalOf(own, 30n)).toBeNull();
    expect(own.raise(1n, 50n)).toBe(true);
    expect(await refusalOf(own, 1n)).toMatchObject(REACHED);
    expect(budget('unlimited').raise(1n, 10n ** 30n)).toBe(true);
  });

  it('begins anew with the UTC day', async () => {
    const { wallet, budget } = newWallet();
    await spend(wallet, 100n);
    let shift = 0;
    const own = budget(100n, { ...systemClock, now: () => systemClock.now() + shift });
    await own.refresh(1_000n, []);
    expect(await refusalOf(own, 1n)).toMatchObject(REACHED);
    shift = DAY_MS;
    expect(await refusalOf(own, 100n)).toBeNull();
  });

  it('counts what a replica before it began and what is still open', async () => {
    const { budget } = newWallet();
    const own = budget(100n);
    const open = { id: 7n, gas: 10n, state: 'accepted', attempts: [{ maxFeePerGas: 6n }] } as unknown as RelayJob;
    await own.refresh(1_000n, [open]);
    expect(await refusalOf(own, 41n)).toMatchObject(REACHED);
    expect(await refusalOf(own, 40n)).toBeNull();
  });

  it('can be lifted', async () => {
    const { wallet, budget } = newWallet();
    await spend(wallet, 10n ** 30n);
    const own = budget('unlimited');
    await own.refresh(0n, []);
    expect(await refusalOf(own, 10n ** 30n)).toBeNull();
  });
});
