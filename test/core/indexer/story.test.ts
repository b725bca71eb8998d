import fc from 'fast-check';
import { createStore, type KnexStore } from '../../../core/adapters/postgres/create-store.js';
import type { ChainEvent, OrderKey } from '../../../core/domain/chain-event.js';
import { foldOrder } from '../../../core/domain/order-machine.js';
import type { Order } from '../../../core/domain/order.js';
import type { Address, Hex } from '../../../core/types.js';
import { applyFresh, applyLate, revertAbove } from '../../../core/indexer/apply-events.js';
import type { Changes, TrackingUnit } from '../../../core/ports/stores/tracking.js';
import { createTestDatabase, type TestDatabase } from '../../harness/database/test-database.js';
import { createRecordedLog } from '../../harness/checks/recorded-log.js';
import { orderDraft } from '../../harness/traders/order-draft.js';

/** A simulated chain against the real database: whatever is mined and taken back, the orders are what the chain says. */

const CHAIN = 'base';
const NOW = Date.UTC(2026, 0, 6, 15);
let database: TestDatabase;
let store: KnexStore;

beforeAll(async () => {
  const log = createRecordedLog();
  database = await createTestDatabase();
  store = createStore({ log, url: database.url });
});
afterAll(async () => {
  await store.close();
  await database.drop();
});

let worlds = 0;
const hex = (...numbers: number[]): Hex =>
  `0x${numbers
    .map((number) => number.toString(16).padStart(16, '0'))
    .join('')
    .padStart(64, '0')}`;

interface Made {
  readonly id: bigint;
  readonly data: Hex;
}

/** What stands in a slot of the chain. */
interface Slot {
  readonly data: Hex | null;
  status: 'open' | 'canceled';
  price: bigint;
}

type Deed =
  | { readonly kind: 'send'; readonly which: number }
  | { readonly kind: 'open' }
  | { readonly kind: 'amend' | 'cancel'; readonly slot: number };

async function newWorld(count: number) {
  const world = (worlds += 1);
  const base = BigInt(world) * 1_000n;
  const trader: Address = `0x${world.toString(16).padStart(40, '0')}`;
  const own: Made[] = [];
  for (let at = 0; at < count; at += 1) {
    const draft = orderDraft(CHAIN, trader, { trade: { tradeType: 1 }, now: NOW });
    const answer = await store.orders.place(draft);
    if (answer.kind !== 'placed') throw new Error(answer.kind);
    own.push({ id: answer.stored.id, data: draft.data });
  }
  const terms = { pairIndex: 0, collateralIndex: 3, long: true, leverage: 10_000n, collateralAmount: 100_000_000n, tp: 0n, sl: 0n };
  const blocks: { deeds: Deed[]; branch: number }[] = [];
  let branch = 0;

  const change = (work: (unit: TrackingUnit) => Promise<Changes>): Promise<void> =>
    store.tracking.change(CHAIN, async (unit) => unit.publish(NOW, (await work(unit)).journalEntries));

  /** Slots of the chain up to a block, by replaying it. */
  function slotsUpTo(height: number): Slot[] {
    const slots: Slot[] = [];
    for (const { deeds } of blocks.slice(0, height)) for (const deed of deeds) play(slots, deed);
    return slots;
  }

  function play(slots: Slot[], deed: Deed): void {
    if (deed.kind === 'send' || deed.kind === 'open')
      slots.push({ data: deed.kind === 'send' ? (own[deed.which % own.length]?.data ?? null) : null, status: 'open', price: 100n });
    else {
      const slot = slots[deed.slot % Math.max(slots.length, 1)];
      if (slot?.status !== 'open') return;
      if (deed.kind === 'cancel') slot.status = 'canceled';
      else slot.price += 1n;
    }
  }

  function eventsOf(height: number): { events: ChainEvent[]; inputs: Map<Hex, Hex> } {
    const { deeds, branch: at } = blocks[height - 1] ?? { deeds: [], branch: 0 };
    const slots = slotsUpTo(height - 1);
    const inputs = new Map<Hex, Hex>();
    const events = deeds.flatMap((deed, index): ChainEvent[] => {
      const txHash = hex(world, height, at, index);
      const place = { blockNumber: base + BigInt(height), blockHash: hex(world, height, at), txHash, logIndex: index, at: NOW + height };
      const before = slots.map((slot) => ({ ...slot }));
      play(slots, deed);
      if (deed.kind === 'send' || deed.kind === 'open') {
        const slot = slots.at(-1);
        if (slot?.data) inputs.set(txHash, slot.data);
        const orderKey: OrderKey = `resting:${slots.length - 1}`;
        const size = { sizeCollateral: 1_000_000_000n, sizeToken: null, slippageP: 1000n };
        return [
          { kind: 'rested', type: 'limit', trader, orderKey, tradeIndex: null, place, terms: { ...terms, openPrice: 100n }, ...size },
        ];
      }
      const at_ = deed.slot % Math.max(slots.length, 1);
      if (before[at_]?.status !== 'open') return [];
      const about = { trader, orderKey: `resting:${at_}` as const, tradeIndex: null, place };
      if (deed.kind === 'cancel') return [{ kind: 'withdrawn', ...about }];
      return [{ kind: 'amended', ...about, openPrice: slots[at_]?.price ?? 0n, tp: 0n, sl: 0n, slippageP: 1000n }];
    });
    return { events, inputs };
  }

  return {
    trader,
    own,
    async mine(batch: readonly (readonly Deed[])[], late: boolean): Promise<void> {
      const from = blocks.length + 1;
      for (const deeds of batch) blocks.push({ deeds: [...deeds], branch });
      const read = batch.map((_, at) => eventsOf(from + at));
      const inputs = new Map(read.flatMap((one) => [...one.inputs]));
      const events = read.flatMap((one) => one.events);
      await change((unit) => (late ? applyLate : applyFresh)(unit, events, { inputs }));
    },
    async reorganise(depth: number): Promise<void> {
      const height = Math.max(0, blocks.length - depth);
      blocks.splice(height);
      branch += 1;
      await change((unit) => revertAbove(unit, base + BigInt(height)));
    },
    /** Slot by slot: whose order it is and how it stands. The first to be sent with a tag is the order, all others are their own. */
    expected(): string[] {
      const taken = new Set<Hex>();
      return slotsUpTo(blocks.length).map(({ data, status, price }, at) => {
        const made = data === null || taken.has(data) ? undefined : own.find((one) => one.data === data);
        if (data !== null) taken.add(data);
        return `resting:${at} ${made?.id ?? 'elsewhere'} ${status} ${price}`;
      });
    },
    async found(): Promise<string[]> {
      const ids = new Set(own.map(({ id }) => id));
      const rows = (await store.account.ordersBefore(CHAIN, trader, null, 500)).filter(({ orderKey }) => orderKey !== null);
      return rows
        .sort((a, b) => Number(a.orderKey?.slice(8)) - Number(b.orderKey?.slice(8)))
        .map(({ id, orderKey, order }) => `${orderKey ?? ''} ${ids.has(id) ? id : 'elsewhere'} ${order.status} ${order.price}`);
    },
    /** Own orders that are nowhere on the chain are as they were prepared. */
    async waiting(): Promise<string[]> {
      const rows = await store.account.ordersBefore(CHAIN, trader, null, 500);
      return rows.filter(({ orderKey }) => orderKey === null).map(({ order }) => order.status);
    },
  };
}

const deed: fc.Arbitrary<Deed> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('send' as const), which: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('open' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('amend' as const, 'cancel' as const), slot: fc.nat(4) }) },
);
const block = fc.array(deed, { maxLength: 3 });
const happening = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('mine' as const),
      batch: fc.array(block, { minLength: 1, maxLength: 3 }),
      late: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reorganise' as const), depth: fc.integer({ min: 1, max: 5 }) }) },
);

async function expectOneTimeline(trader: Address): Promise<void> {
  const rows = new Map((await store.account.ordersBefore(CHAIN, trader, null, 500)).map(({ id, order }) => [id, order]));
  const journaled = new Map<bigint, Order>();
  for (const { fact } of await store.journal.after(CHAIN, trader, 0n, 5_000)) {
    if (fact.kind === 'order') journaled.set(fact.id, fact.order);
    if (fact.kind !== 'correction' || fact.of.kind !== 'order') continue;
    if (fact.of.order) journaled.set(fact.of.id, fact.of.order);
    else journaled.delete(fact.of.id);
  }
  expect(journaled).toEqual(rows);
  for (const [id, order] of rows) {
    const timeline = await store.orders.timeline(CHAIN, trader, id);
    const events = timeline?.events.filter(({ isTakenBack }) => !isTakenBack).map(({ event }) => event) ?? [];
    expect(events.reduce<Order | null>(foldOrder, null)).toEqual(order);
  }
}

describe('the orders', () => {
  it('match the chain, the journal and the fold of their events after any number of blocks, repeats and reorganisations', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(happening, { minLength: 1, maxLength: 8 }), async (happenings) => {
        const world = await newWorld(3);
        for (const one of happenings) await (one.kind === 'mine' ? world.mine(one.batch, one.late) : world.reorganise(one.depth));
        expect(await world.found()).toEqual(world.expected());
        const linked = world.expected().filter((text) => !text.includes('elsewhere')).length;
        expect(await world.waiting()).toEqual(Array(world.own.length - linked).fill('prepared'));
        await expectOneTimeline(world.trader);
      }),
      { numRuns: 40 },
    );
  });

  it('have one timeline even when they expire at the moment they are mined', async () => {
    for (let round = 0; round < 15; round += 1) {
      const world = await newWorld(3);
      const batch = [world.own.map((_, which): Deed => ({ kind: 'send', which }))];
      await Promise.all([world.mine(batch, false), store.orders.expire(CHAIN, NOW + 60_000)]);
      expect(await world.found()).toEqual(world.expected());
      await expectOneTimeline(world.trader);
    }
  });
});
