import type { KnexStore } from '../../../../core/adapters/postgres/create-store.js';
import type { Protection } from '../../../../core/ports/stores/protections.js';
import type { Settled } from '../../../../core/ports/stores/relay.js';
import type { Address } from '../../../../core/types.js';
import { openReplicas, type Replicas } from '../../../harness/database/two-stores.js';
import { storeAction } from '../../../harness/hyperliquid/store-action.js';

/** Which order has a level, after the transactions of later ones at the same price failed or were mined after all. */
const [WALLET, TRADER] = ['0xaa', '0xbb'] as Address[] as [Address, Address];
const CHAIN = 'base';

let replicas: Replicas;
let store: KnexStore;
let trade = 0;
let clock = 0;
beforeAll(async () => {
  replicas = await openReplicas();
  [store] = replicas.stores;
});
afterAll(() => replicas.close());
beforeEach(() => (trade += 2));

interface Placed {
  readonly oid: bigint;
  /** One for each trade. */
  readonly jobs: readonly bigint[];
}

/** A stop loss at 55 for the first trade, or for both. */
async function place(count = 1): Promise<Placed> {
  const createdAt = (clock += 1);
  const action = await storeAction(store, {
    ...{ chain: CHAIN, signer: TRADER, trader: TRADER, envelope: '{}', actionHash: '0x', form: 'canonical', network: 'a' },
    ...{ nonce: BigInt(createdAt), receivedAt: createdAt },
  });
  const wanted = levels(count);
  const request = { trader: TRADER, wallet: WALLET, purpose: 'action', parent: action.id, data: '0x', gas: 1n, notAfter: null } as const;
  const placed = await store.relay.placeAndQueue({
    legs: wanted.map((_, leg) => ({ draft: null, request: { ...request, context: { kind: 'order', item: 0, leg } } })),
    record: {
      ...{ chain: CHAIN, trader: TRADER, agent: WALLET, action: action.id, item: 0, cloid: null, pairIndex: 0, manner: 'protection' },
      order: { isBuy: false, limit: 55n, size: 1n, reduceOnly: true, style: { kind: 'trigger', trigger: 55n, tpsl: 'sl' } },
      wire: { limitPx: '55', sz: '1', tif: null, triggerPx: '55', isMarket: true, tpsl: 'sl' },
      ...{ createdAt, levels: wanted, isContinued: false, children: [] },
      legs: wanted.map(({ tradeIndex }) => ({ role: 'protect', tradeIndex, sizeBase: 1n })),
    },
  });
  if (placed.kind !== 'placed') throw new Error('not placed');
  return { oid: placed.oid, jobs: placed.jobs.map(({ id }) => id) };
}

const both = (): Protection[] => [trade, trade + 1].map((tradeIndex) => ({ tradeIndex, kind: 'sl', price: 55n }));
const levels = (count: number): Protection[] => both().slice(0, count);
const owners = async () => (await store.facade.protections.identify(CHAIN, TRADER, both(), clock)).map(({ id }) => id);
const refuse = ({ jobs }: Placed) =>
  Promise.all(jobs.map((id) => store.relay.refuse(CHAIN, id, { reason: 'policy', note: 'it was refused' })));
const settle = (state: Settled['state'], ...orders: readonly Placed[]) => {
  const mined = { hash: '0x01', blockNumber: 1n, blockHash: '0x02', gasUsed: 1n, costWei: 1n } as const;
  return store.relay.settle(
    CHAIN,
    orders.flatMap(({ jobs }) => jobs.map((id) => ({ id, state, mined }))),
  );
};

const move = (from: bigint, to: bigint) =>
  store.tracking.change(CHAIN, (unit) => {
    unit.moveStops([{ trader: TRADER, tradeIndex: trade, from, to }]);
    return Promise.resolve();
  });
const ownerAt = async (price: bigint) =>
  (await store.facade.protections.identify(CHAIN, TRADER, [{ tradeIndex: trade, kind: 'sl', price }], clock))[0]?.id;

async function placeMined(count = 1): Promise<Placed> {
  const placed = await place(count);
  await settle('mined', placed);
  return placed;
}

it('the one that is refused gives back only the level that it took', async () => {
  const x = await placeMined(2);
  const z = await place();
  expect(await owners()).toEqual([z.oid, x.oid]);
  await refuse(z);
  expect(await owners()).toEqual([x.oid, x.oid]);
  const w = await place(2);
  await store.relay.setState(CHAIN, w.jobs[1] ?? 0n, 'refused', clock, 'it was refused', 'policy');
  expect(await owners()).toEqual([w.oid, x.oid]);
});

it.each([
  ['the first one first', (z: Placed, w: Placed) => refuse(z).then(() => refuse(w))],
  ['the last one first', (z: Placed, w: Placed) => refuse(w).then(() => refuse(z))],
  ['both in one block', (z: Placed, w: Placed) => settle('reverted', z, w)],
])('of two that fail neither has it: %s', async (_name, fail) => {
  const x = await placeMined();
  await fail(await place(), await place());
  expect((await owners())[0]).toBe(x.oid);
});

it('of two of which the last one fails the first one has it', async () => {
  await placeMined();
  const [z, w] = [await place(), await place()];
  await settle('mined', z);
  await refuse(w);
  expect((await owners())[0]).toBe(z.oid);
});

it('one that fails where none had the level has none', async () => {
  const z = await place(2);
  await settle('replaced', z);
  expect(await store.facade.protections.everOf(CHAIN, TRADER, z.oid)).toEqual([]);
  const later = await owners();
  expect(later).toHaveLength(2);
  expect(later).not.toContain(z.oid);
});

it('one that a mined one replaced stays without, also when a third fails', async () => {
  const x = await placeMined(2);
  const z = await placeMined(2);
  await refuse(await place(2));
  expect(await owners()).toEqual([z.oid, z.oid]);
  expect(await store.facade.protections.everOf(CHAIN, TRADER, x.oid)).toEqual([]);
});

describe('a transaction that is settled again after a reorganisation', () => {
  it.each([
    ['one trade', 1],
    ['two trades', 2],
  ])('sets the level for its order whenever it is mined, and for the order before it whenever it fails: %s', async (_name, count) => {
    const x = await placeMined(count);
    const z = await place(count);
    const had = async () => (await owners()).slice(0, count);
    const all = ({ oid }: Placed) => levels(count).map(() => oid);
    for (const state of ['reverted', 'mined', 'replaced', 'mined', 'reverted', 'mined'] as const) {
      await settle(state, z);
      const [owner, other] = state === 'mined' ? [z, x] : [x, z];
      expect(await had()).toEqual(all(owner));
      expect(await store.facade.protections.everOf(CHAIN, TRADER, owner.oid)).toHaveLength(count);
      expect(await store.facade.protections.everOf(CHAIN, TRADER, other.oid)).toEqual([]);
    }
  });

  it('has the level where none had it, though it was listed under another number meanwhile', async () => {
    const z = await place();
    await settle('reverted', z);
    const [number] = await owners();
    expect(number).not.toBe(z.oid);
    await settle('mined', z);
    expect((await owners())[0]).toBe(z.oid);
    await settle('reverted', z);
    expect((await owners())[0]).toBe(number);
  });

  it('takes nothing from a later one', async () => {
    await placeMined();
    const z = await place();
    await settle('reverted', z);
    const w = await placeMined();
    await settle('mined', z);
    expect((await owners())[0]).toBe(w.oid);
    await settle('reverted', w);
    expect((await owners())[0]).toBe(z.oid);
  });

  it('has the level also at the price to which the contract moved it meanwhile', async () => {
    const x = await placeMined();
    const z = await place();
    await settle('reverted', z);
    await move(55n, 60n);
    expect(await ownerAt(60n)).toBe(x.oid);
    await settle('mined', z);
    expect([await ownerAt(55n), await ownerAt(60n)]).toEqual([z.oid, z.oid]);
  });

  it('whose nonce is free again has nothing, unless it is mined after all', async () => {
    const x = await placeMined();
    const z = await place();
    const [numbered] = await store.relay.assignNonces(CHAIN, WALLET, z.jobs, 0);
    await store.relay.setState(CHAIN, z.jobs[0] ?? 0n, 'refused', clock, 'it was refused', 'policy');
    await store.relay.fillGap(CHAIN, WALLET, numbered?.nonce ?? -1, 1n, clock);
    expect((await owners())[0]).toBe(x.oid);
    await settle('mined', z);
    expect((await owners())[0]).toBe(z.oid);
  });
});

it('the newest are listed by orders, each with all its levels', async () => {
  const x = await placeMined(2);
  trade += 2;
  const y = await placeMined(2);
  const listed = async (limit: number) => (await store.facade.protections.list(CHAIN, TRADER, limit)).map(({ id }) => id);
  expect(await listed(1)).toEqual([y.oid, y.oid]);
  expect(await listed(2)).toEqual([y.oid, y.oid, x.oid, x.oid]);
});

it('two that list a level at once give it one number', async () => {
  const found = await Promise.all([1, 2, 3, 4].map(owners));
  expect(new Set(found.map(String)).size).toBe(1);
});

describe('where the contract moves a stop loss to a price at which another one stood', () => {
  it('an order that is refused later gives it back with what it took', async () => {
    await placeMined();
    await move(55n, 60n);
    const w = await placeMined();
    const x = await place();
    await move(55n, 60n);
    await refuse(x);
    expect([await ownerAt(55n), await ownerAt(60n)]).toEqual([w.oid, w.oid]);
  });

  it('the failure of the one that stood there takes it from none', async () => {
    const t = await place();
    await move(55n, 60n);
    const w = await placeMined();
    await move(55n, 60n);
    await settle('reverted', t);
    expect(await ownerAt(60n)).toBe(w.oid);
  });
});

describe('beside a native order at the same price', () => {
  /** It set the stop loss at 55 in these blocks, orders of bots in those, and another front end in others. A block's time is its number. */
  async function mined(
    native: readonly number[],
    bots: readonly (readonly [Placed, number])[],
    others: readonly number[] = [],
  ): Promise<bigint> {
    const id = 9_000n + BigInt(trade);
    const [placedAt, createdAt] = [(block: number) => `{"at": ${block}, "txHash": "h${trade}-${block}"}`, native[0] ?? 0];
    const blocks = [...native, ...bots.map(([, block]) => block), ...others];
    const rows = [
      ...blocks.map((block) => ['edited', null, block, `{"field": "sl", "value": {"$n": "55"}, "place": ${placedAt(block)}}`]),
      ...native.map((block) => [
        'guarded',
        id,
        block,
        `{"level": "sl", "terms": {"openPrice": {"$n": "55"}}, "place": ${placedAt(block)}}`,
      ]),
    ];
    for (const [kind, order, block, event] of rows)
      await store.db.raw(
        `insert into chain_events (chain, event_key, trader, kind, order_key, order_id, trade_index, block_number, log_index, is_fill, event)
         values (:chain, :key, :trader, :kind, :order_key, :order, :trade, :block, 0, false, :event)`,
        {
          ...{ chain: CHAIN, trader: TRADER, key: `${kind}-${trade}-${block}`, kind, order: order === null ? null : String(order), trade },
          ...{ block, event, order_key: order === null ? null : `sl:${trade}` },
        },
      );
    for (const [{ jobs }, block] of bots)
      await store.db.raw(`insert into relay_hashes (chain, hash, job_id) values (?, ?, ?)`, [CHAIN, `h${trade}-${block}`, String(jobs[0])]);
    await store.db.raw(
      `insert into orders (id, chain, trader, order_key, status, is_live, state) values (:id, :chain, :trader, :key, 'open', true, :state)`,
      {
        ...{ id: String(id), chain: CHAIN, trader: TRADER, key: `sl:${trade}` },
        state: `{"price": {"$n": "55"}, "createdAt": ${createdAt}, "tradeIndex": ${trade}, "type": "stop", "action": "close"}`,
      },
    );
    await settle('mined', ...bots.map(([placed]) => placed));
    return id;
  }
  const owner = async () => (await owners())[0];
  const takenOverAt = async ({ oid }: Placed) => (await store.facade.protections.everOf(CHAIN, TRADER, oid))[0]?.takenOverAt;
  const successor = async (native: bigint) => (await store.facade.protections.successors(CHAIN, TRADER, [native])).get(native)?.oid;

  it('the native one has it if it was mined later, since then', async () => {
    const bot = await place();
    const native = await mined([20], [[bot, 10]]);
    expect([await owner(), await successor(native), await takenOverAt(bot)]).toEqual([native, undefined, 20]);
  });

  it('the native one that was mined before and after has it since the second time', async () => {
    const bot = await place();
    const native = await mined([5, 20, 30], [[bot, 10]]);
    expect([await owner(), await takenOverAt(bot)]).toEqual([native, 20]);
  });

  it('the bot’s has it if it was mined later, and nothing took it over', async () => {
    const bot = await place();
    const native = await mined([5], [[bot, 10]]);
    expect([await owner(), await successor(native), await takenOverAt(bot)]).toEqual([bot.oid, bot.oid, null]);
  });

  it('the bot’s keeps it when another front end sets the same price again', async () => {
    const bot = await place();
    const native = await mined([5], [[bot, 10]], [15]);
    expect([await owner(), await successor(native)]).toEqual([bot.oid, bot.oid]);
  });

  it('the native one that was mined first has nothing where two bots’ were mined in the other order than they were asked for', async () => {
    const [first, second] = [await place(), await place()];
    const native = await mined(
      [5],
      [
        [first, 11],
        [second, 10],
      ],
    );
    expect(await owner()).not.toBe(native);
    expect(await successor(native)).toBeDefined();
  });
});
