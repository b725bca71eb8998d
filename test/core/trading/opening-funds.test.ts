import type { KnexStore } from '../../../core/adapters/postgres/create-store.js';
import type { OpeningFunds } from '../../../core/ports/stores/orders.js';
import type { Address } from '../../../core/types.js';
import { givenRules } from '../../../core/domain/relay/guardrails.js';
import { orderDraft } from '../../harness/traders/order-draft.js';
import { openReplicas, type Replicas } from '../../harness/database/two-stores.js';

const CHAIN = 'base';
const NOW = Date.UTC(2026, 0, 6, 15);
const USDC = 3;
let replicas: Replicas;
let store: KnexStore;

beforeAll(async () => {
  replicas = await openReplicas();
  [store] = replicas.stores;
});
afterAll(() => replicas.close());

let last = 0;
const newAddress = (): Address => `0x${String((last += 1)).padStart(40, '0')}`;

type Wish = Partial<OpeningFunds>;

async function databaseTime(): Promise<number> {
  const { rows } = await store.db.raw<{ rows: [{ now: bigint }] }>('select (extract(epoch from clock_timestamp()) * 1000)::bigint as now');
  return Number(rows[0].now);
}

const opening = (trader: Address, funds: Wish = {}) => ({
  ...orderDraft(CHAIN, trader, { now: NOW, order: { collateralIndex: USDC, collateralAmount: funds.amount ?? 100n } }),
  funds: {
    collateralIndex: USDC,
    amount: 100n,
    takes: funds.amount ?? 100n,
    balance: 250n,
    allowance: 1_000n,
    readAt: NOW,
    askedAt: NOW,
    ...funds,
  },
});

async function placed(trader: Address, wish?: Wish, at: 0 | 1 = 0): Promise<bigint> {
  const answer = await replicas.stores[at].orders.place(opening(trader, wish));
  if (answer.kind !== 'placed') throw new Error(`it was ${answer.kind}`);
  return answer.stored.id;
}

const kindOf = async (trader: Address, wish?: Wish): Promise<string> => (await store.orders.place(opening(trader, wish))).kind;

async function sentAs(state: string, orderId: bigint): Promise<void> {
  const nothing = { purpose: 'no-op', data: '0x', gas: 1, context: 'null', is_over: true };
  await store.db('relay_jobs').insert({ chain: CHAIN, wallet: newAddress(), order_id: orderId, state, created_at: NOW, ...nothing });
}

describe('an opening of the facade', () => {
  it('is stored while balance and allowance cover it beside those that are not mined yet', async () => {
    const trader = newAddress();
    await placed(trader);
    await placed(trader);
    expect(await store.orders.place(opening(trader))).toMatchObject({ kind: 'short', takes: 200n, amount: 200n });
    expect(await kindOf(trader, { amount: 50n })).toBe('placed');
    expect(await kindOf(trader, { amount: 1n })).toBe('short');
    expect(await kindOf(newAddress(), { allowance: 99n })).toBe('short');
  });

  it('takes its share once where many come at once through two replicas', async () => {
    const trader = newAddress();
    const answers = await Promise.all(Array.from({ length: 12 }, (_, at) => replicas.stores[at % 2 ? 1 : 0].orders.place(opening(trader))));
    expect(answers.filter(({ kind }) => kind === 'placed')).toHaveLength(2);
  });

  it('that stands in for another takes only what is more, and needs an allowance for all of it', async () => {
    const trader = newAddress();
    for (let count = 0; count < 5; count += 1) await placed(trader, { takes: 10n, allowance: 500n });
    expect(await kindOf(trader, { takes: 10n, allowance: 500n })).toBe('short');
    expect(await kindOf(trader, { takes: 10n })).toBe('placed');
  });

  it.each(['refused', 'replaced', 'reverted'])('does not count any more once its transaction is %s', async (state) => {
    const trader = newAddress();
    await sentAs(state, await placed(trader, { amount: 200n }));
    expect(await kindOf(trader, { amount: 200n })).toBe('placed');
  });

  it('counts while the figures may be older than its block', async () => {
    const trader = newAddress();
    const before = await databaseTime();
    const id = String(await placed(trader, { amount: 200n, readAt: before }));
    await store.db('orders').where({ id }).update({ status: 'open' });
    expect(await kindOf(trader, { amount: 100n, readAt: before })).toBe('short');
    expect(await kindOf(trader, { amount: 100n, readAt: (await databaseTime()) + 1, balance: 100n })).toBe('placed');
  });

  it('of one collateral leaves what is there of another alone', async () => {
    const trader = newAddress();
    await placed(trader, { amount: 250n });
    const other = opening(trader);
    const answer = await store.orders.place({
      ...other,
      order: { ...other.order, collateralIndex: 1 },
      funds: { ...other.funds, collateralIndex: 1 },
    });
    expect(answer.kind).toBe('placed');
  });
});

it('a reverted transaction counts tenfold in the quota of its trader', async () => {
  const trader = newAddress();
  const job = { chain: CHAIN, wallet: newAddress(), trader, purpose: 'no-op', data: '0x', gas: 1, context: 'null', created_at: NOW };
  for (const state of ['mined', 'reverted', 'refused', 'queued', 'reverted']) await store.db('relay_jobs').insert({ ...job, state });
  const given = givenRules({ rules: { dailyTransactions: 30 }, allowed: null, blocked: new Set() }, trader);
  const question = { given, collaterals: new Map(), instead: null, now: NOW };
  expect((await store.rules.rulesWithFacts(CHAIN, trader, question, 'needed')).facts.dayTransactions).toBe(22);
  const id = BigInt(Number.MAX_SAFE_INTEGER);
  expect(await store.rules.before({ chain: CHAIN, trader, id, given, since: NOW })).toMatchObject({ transactions: 22 });
});
