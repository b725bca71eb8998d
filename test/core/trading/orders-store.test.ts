import pg from 'pg';
import type { KnexStore } from '../../../core/adapters/postgres/create-store.js';
import { formatDecimal } from '../../../core/domain/decimal.js';
import type { Placed } from '../../../core/ports/stores/orders.js';
import type { Address } from '../../../core/types.js';
import { LANE_WAITS } from '../../../core/config/relayer.js';
import type { RelayPurpose } from '../../../core/ports/stores/relay.js';
import { eventually } from '../../harness/time/eventually.js';
import { newTag, orderDraft, type DraftWishes } from '../../harness/traders/order-draft.js';
import { storeAction } from '../../harness/hyperliquid/store-action.js';
import { openReplicas, type Replicas } from '../../harness/database/two-stores.js';

const CHAIN = 'base';
const NOW = Date.UTC(2026, 0, 6, 15);
const DAY = Math.floor(NOW / 86_400_000);
let replicas: Replicas;
let stores: Replicas['stores'];
let store: KnexStore;

beforeAll(async () => {
  replicas = await openReplicas();
  ({ stores } = replicas);
  [store] = stores;
});
afterAll(() => replicas.close());

let last = 0;
const newTrader = (): Address => `0x${String((last += 1)).padStart(40, '0')}`;
const draft = (trader: Address, wishes: DraftWishes = {}) => orderDraft(CHAIN, trader, { now: NOW, ...wishes });
const spent = async (trader: Address, agent = trader): Promise<string> =>
  formatDecimal(await store.spend.spent({ chain: CHAIN, agent, trader, day: DAY }));
const journaled = async (trader: Address) =>
  (await store.journal.after(CHAIN, trader, 0n, 100)).map(({ fact }) =>
    fact.kind === 'order' ? `${fact.id} ${fact.order.status}` : fact.kind,
  );

async function placed(trader: Address, wishes: DraftWishes = {}) {
  const answer = await store.orders.place(draft(trader, wishes));
  if (answer.kind !== 'placed') throw new Error(`it was ${answer.kind}`);
  return answer.stored;
}

/** In the relayer's queue, for an action of the trader. */
async function queued(trader: Address, orderId: bigint, purpose: RelayPurpose = 'action', notAfter: number | null = null) {
  const proof = { envelope: '{}', actionHash: '0x00', form: 'canonical', network: 'a', nonce: 1n, receivedAt: NOW } as const;
  const { id } = await storeAction(store, { chain: CHAIN, signer: trader, trader, ...proof });
  const call = { data: '0x', gas: 1n, context: null, notAfter } as const;
  return store.relay.queue({ chain: CHAIN, wallet: trader, trader, purpose, parent: id, orderId, ...call }, NOW);
}

describe('an order that is placed', () => {
  it('is stored as a whole: the order, its bytes, its first event and its journal entry', async () => {
    const trader = newTrader();
    const given = draft(trader, { spend: { usd: '1000' } });
    const answer = await store.orders.place(given);
    if (answer.kind !== 'placed') throw new Error(answer.kind);
    const { id } = answer.stored;
    expect(answer.stored).toEqual({
      id,
      order: given.order,
      orderKey: null,
      agent: trader,
      fingerprint: '0x01',
      repeatOf: null,
      transaction: { tag: given.tag, data: given.data, gas: null },
      formerData: [],
      hashes: [],
    });
    expect(await stores[1].orders.find(CHAIN, trader, id)).toEqual(answer.stored);
    expect((await store.orders.timeline(CHAIN, trader, id))?.events.map(({ event }) => event.kind)).toEqual(['prepared']);
    expect(await journaled(trader)).toEqual([`${id} prepared`]);
    expect(await spent(trader)).toBe('1000');
  });

  it('is found for its own trader only', async () => {
    const { id } = await placed(newTrader());
    expect(await store.orders.find(CHAIN, newTrader(), id)).toBeNull();
    expect(await store.orders.timeline(CHAIN, newTrader(), id)).toBeNull();
  });

  it('is one order however many ask at once with one clientId, on both replicas', async () => {
    const trader = newTrader();
    const wishes = { order: { clientId: 'mine' }, spend: { usd: '10' } };
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, at) => stores[at % 2 === 0 ? 0 : 1].orders.place(draft(trader, wishes))),
    );
    const idOf = (answer: Placed): bigint | null => ('stored' in answer ? answer.stored.id : null);
    expect(new Set(answers.map(idOf)).size).toBe(1);
    expect(answers.filter(({ kind }) => kind === 'placed')).toHaveLength(1);
    expect(answers.filter(({ kind }) => kind === 'known')).toHaveLength(11);
    expect(await spent(trader)).toBe('10');
    expect(await journaled(trader)).toHaveLength(1);
    expect((await store.orders.findByClientId(CHAIN, trader, 'mine'))?.id).toBe(answers.map(idOf)[0]);
  });

  it('shares its clientId with orders of other traders only', async () => {
    const wishes = { order: { clientId: 'same' } };
    const [one, other] = [await placed(newTrader(), wishes), await placed(newTrader(), wishes)];
    expect(one.id).not.toBe(other.id);
  });

  it('never passes the number of unsent orders, nor the day’s cap, however many ask at once', async () => {
    const [trader, spender] = [newTrader(), newTrader()];
    const many = await Promise.all(
      Array.from({ length: 9 }, (_, at) => stores[at % 2 === 0 ? 0 : 1].orders.place(draft(trader, { maxUnsent: 4, forMs: 1000 + at }))),
    );
    expect(many.filter(({ kind }) => kind === 'placed')).toHaveLength(4);
    expect(many.filter(({ kind }) => kind === 'too-many')).toHaveLength(5);
    const costly = await Promise.all(
      Array.from({ length: 9 }, (_, at) => stores[at % 2 === 0 ? 0 : 1].orders.place(draft(spender, { spend: { usd: '30', cap: '100' } }))),
    );
    expect(costly.filter(({ kind }) => kind === 'placed')).toHaveLength(3);
    expect(costly.flatMap((answer) => (answer.kind === 'over-cap' ? [formatDecimal(answer.spentUsd)] : []))).toEqual(Array(6).fill('90'));
    expect(await store.account.ordersBefore(CHAIN, spender, null, 50)).toHaveLength(3);
  });

  it('returns when the next unsent order may come, and counts none that is sent or over', async () => {
    const trader = newTrader();
    const first = await placed(trader, { maxUnsent: 2, forMs: 5_000 });
    await placed(trader, { maxUnsent: 2, forMs: 9_000 });
    expect(await store.orders.place(draft(trader, { maxUnsent: 2 }))).toEqual({ kind: 'too-many', earliestExpiry: NOW + 5_000 });
    await store.orders.recordHash(CHAIN, first.id, '0xaa', NOW);
    expect((await store.orders.place(draft(trader, { maxUnsent: 2 }))).kind).toBe('placed');
    expect((await store.orders.place(draft(trader, { maxUnsent: 2, now: NOW + 9_000 }))).kind).toBe('placed');
  });
});

describe('the orders of one transaction', () => {
  const idsOf = async (trader: Address): Promise<bigint[]> =>
    (await store.account.ordersBefore(CHAIN, trader, null, 50)).map(({ id }) => id).sort((a, b) => Number(a - b));

  it('are stored together, the first with the clientId', async () => {
    const trader = newTrader();
    const [first, second, third] = [draft(trader, { order: { clientId: 'all' } }), draft(trader), draft(trader)];
    const answer = await store.orders.place(first, [second, third]);
    if (answer.kind !== 'placed') throw new Error(answer.kind);
    expect(answer.others.map(({ order }) => order)).toEqual([second.order, third.order]);
    expect(await idsOf(trader)).toEqual([answer.stored, ...answer.others].map(({ id }) => id));
    expect((await store.orders.findByClientId(CHAIN, trader, 'all'))?.id).toBe(answer.stored.id);
  });

  it('are none where one of them is refused, or the clientId is known', async () => {
    const trader = newTrader();
    const wishes = { maxUnsent: 2, order: { clientId: 'all' } };
    expect(await store.orders.place(draft(trader, wishes), [draft(trader, { maxUnsent: 2 }), draft(trader, { maxUnsent: 2 })])).toEqual({
      kind: 'too-many',
      earliestExpiry: NOW + 60_000,
    });
    expect(await idsOf(trader)).toEqual([]);
    expect(await journaled(trader)).toEqual([]);
    const { id } = await placed(trader, wishes);
    expect(await store.orders.place(draft(trader, wishes), [draft(trader)])).toMatchObject({ kind: 'known', stored: { id } });
    expect(await idsOf(trader)).toEqual([id]);
  });

  it('come with the one that is renewed, or not at all', async () => {
    const trader = newTrader();
    const { id } = await placed(trader, { forMs: 1_000 });
    expect(await store.orders.renew(CHAIN, id, draft(trader), [draft(trader)])).toEqual({ kind: 'moved-on' });
    await store.orders.expire(CHAIN, NOW + 1_000);
    const full = { maxUnsent: 1 };
    expect((await store.orders.renew(CHAIN, id, draft(trader, full), [draft(trader, full)])).kind).toBe('too-many');
    expect(await idsOf(trader)).toEqual([id]);
    expect((await store.orders.find(CHAIN, trader, id))?.order.status).toBe('expired');
    const renewed = await store.orders.renew(CHAIN, id, draft(trader), [draft(trader)]);
    if (renewed.kind !== 'placed') throw new Error(renewed.kind);
    expect(renewed.stored).toMatchObject({ id, order: { status: 'prepared' } });
    expect(await idsOf(trader)).toEqual([id, ...renewed.others.map((other) => other.id)]);
  });
});

describe('an order that is not sent', () => {
  it('expires when its time is up, and gives its spending back', async () => {
    const trader = newTrader();
    const { id } = await placed(trader, { spend: { usd: '70' }, forMs: 1_000, now: 1_000 });
    expect(await store.orders.expire(CHAIN, 1_999)).toBe(0);
    expect(await store.orders.expire(CHAIN, 2_000)).toBe(1);
    expect(await store.orders.expire(CHAIN, 2_000)).toBe(0);
    expect((await store.orders.find(CHAIN, trader, id))?.order).toMatchObject({ status: 'expired', updatedAt: 2_000 });
    expect(formatDecimal(await store.spend.spent({ chain: CHAIN, agent: trader, trader, day: 0 }))).toBe('0');
    expect(await journaled(trader)).toEqual([`${id} prepared`, `${id} expired`]);
  });

  it('expires once, on whichever replica', async () => {
    const traders = Array.from({ length: 30 }, newTrader);
    for (const trader of traders) await placed(trader, { now: 10_000, forMs: 1 });
    const counts = await Promise.all([0, 1, 0, 1].map((at) => stores[at === 0 ? 0 : 1].orders.expire(CHAIN, 20_000)));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(30);
    for (const trader of traders) expect(await journaled(trader)).toHaveLength(2);
  });

  it('is given up by its owner once, unless a hash is known', async () => {
    const trader = newTrader();
    const [one, sent] = [await placed(trader), await placed(trader)];
    await store.orders.recordHash(CHAIN, sent.id, '0xbb', NOW);
    expect(await store.orders.giveUp(CHAIN, newTrader(), one.id, NOW)).toBe(false);
    const given = await Promise.all([0, 1].map((at) => stores[at === 0 ? 0 : 1].orders.giveUp(CHAIN, trader, one.id, NOW + 1)));
    expect(given.filter(Boolean)).toHaveLength(1);
    expect(await store.orders.giveUp(CHAIN, trader, sent.id, NOW)).toBe(false);
    expect((await store.orders.timeline(CHAIN, trader, one.id))?.events.map(({ event }) => event)).toMatchObject([
      { kind: 'prepared' },
      { kind: 'expired', because: 'owner' },
    ]);
  });

  it('is not sent by the relayer after it was given up, and not given up after the relayer took a nonce for it', async () => {
    const trader = newTrader();
    const [given, numbered] = [await placed(trader), await placed(trader)];
    const jobs = [await queued(trader, given.id), await queued(trader, numbered.id)];
    expect(await store.orders.giveUp(CHAIN, trader, given.id, NOW)).toBe(true);
    const sent = await store.relay.assignNonces(
      CHAIN,
      trader,
      jobs.map(({ id }) => id),
      0,
    );
    expect(sent.map(({ orderId, state }) => ({ orderId, state }))).toEqual([{ orderId: numbered.id, state: 'assigned' }]);
    expect(await store.orders.giveUp(CHAIN, trader, numbered.id, NOW)).toBe(false);
  });

  it('does not expire while the relayer has a nonce for it and may send it', async () => {
    const trader = newTrader();
    const { id } = await placed(trader, { now: 30_000, forMs: 1_000 });
    const job = await queued(trader, id, 'action', 31_000);
    await store.relay.assignNonces(CHAIN, trader, [job.id], 0);
    expect(await store.orders.expire(CHAIN, 31_000 + LANE_WAITS.tooLateMs)).toBe(0);
    expect((await store.orders.find(CHAIN, trader, id))?.order.status).toBe('prepared');
    expect(await store.orders.expire(CHAIN, 31_000 + 2 * LANE_WAITS.tooLateMs)).toBe(1);
  });

  it('gets no nonce when it expires in the same moment', async () => {
    const trader = newTrader();
    const { id } = await placed(trader);
    const job = await queued(trader, id);
    let isDone = false;
    let numbering: Promise<readonly unknown[]> = Promise.resolve([]);
    await store.transaction(async (trx) => {
      await trx.raw("update orders set status = 'expired' where id = ?", [id.toString()]);
      numbering = store.relay.assignNonces(CHAIN, trader, [job.id], 0).finally(() => (isDone = true));
      await eventually(
        () => store.db.raw<{ rows: unknown[] }>('select from pg_locks where not granted'),
        ({ rows }) => isDone || rows.length > 0,
      );
    });
    expect(await numbering).toEqual([]);
  });

  it('is handed out afresh under its old id and clientId, reserving anew', async () => {
    const trader = newTrader();
    const wishes = { order: { clientId: 'again' }, spend: { usd: '60', cap: '100' } };
    const { id } = await placed(trader, { ...wishes, forMs: 1 });
    expect(await store.orders.renew(CHAIN, id, draft(trader, wishes))).toEqual({ kind: 'moved-on' });
    await store.orders.expire(CHAIN, NOW + 1);
    const later = NOW + 50;
    const afresh = draft(trader, { ...wishes, now: later });
    const answers = await Promise.all([0, 1].map((at) => stores[at === 0 ? 0 : 1].orders.renew(CHAIN, id, { ...afresh, tag: newTag() })));
    expect(answers.map(({ kind }) => kind).sort()).toEqual(['moved-on', 'placed']);
    const found = await store.orders.findByClientId(CHAIN, trader, 'again');
    expect(found).toMatchObject({ id, order: { status: 'prepared', expiresAt: later + 60_000, createdAt: NOW, updatedAt: later } });
    expect(await spent(trader)).toBe('60');
    await store.orders.expire(CHAIN, later + 60_000);
    expect((await store.orders.renew(CHAIN, id, draft(trader, { ...wishes, spend: { usd: '101', cap: '100' } }))).kind).toBe('over-cap');
    expect((await store.orders.find(CHAIN, trader, id))?.order.status).toBe('expired');
    expect((await store.orders.timeline(CHAIN, trader, id))?.events.map(({ event }) => event.kind)).toEqual([
      'prepared',
      'expired',
      'renewed',
      'expired',
    ]);
  });
});

describe('a hash', () => {
  it('is kept once, shown in the order, and keeps it from expiring until it is looked for', async () => {
    const trader = newTrader();
    const { id } = await placed(trader, { forMs: 1 });
    await store.orders.recordHash(CHAIN, id, '0xA1', NOW);
    await Promise.all([0, 1].map((at) => stores[at === 0 ? 0 : 1].orders.recordHash(CHAIN, id, '0xb2', NOW + 1)));
    const known = await store.orders.recordHash(CHAIN, id, '0xa1', NOW + 2);
    expect(known).toMatchObject({ hashes: ['0xa1', '0xb2'], order: { status: 'prepared', txHash: '0xb2' } });
    expect((await store.orders.sent(CHAIN, 500)).map((one) => one.id)).toContain(id);
    await store.orders.expire(CHAIN, NOW + 5);
    expect((await store.orders.find(CHAIN, trader, id))?.order.status).toBe('prepared');
    await store.orders.expire(CHAIN, NOW + 5, [id]);
    expect((await store.orders.find(CHAIN, trader, id))?.order.status).toBe('expired');
    expect(await store.orders.renew(CHAIN, id, draft(trader))).toEqual({ kind: 'moved-on' });
  });
});

describe('a request that the oracle left unanswered', () => {
  it('is taken back for its bot once, also where a switch has asked for it', async () => {
    const trader = newTrader();
    const made = await Promise.all(
      (['action', 'scheduled-cancel'] as const).map(async (purpose) => {
        const { id } = await placed(trader);
        const { parent } = await queued(trader, id, purpose);
        return { orderId: id, action: parent };
      }),
    );
    const client = new pg.Client(replicas.url);
    await client.connect();
    for (const { orderId } of made)
      await client.query("update orders set status = 'timed_out', order_key = 'request:' || id where id = $1", [orderId]);
    await client.end();
    const lost = async () => (await store.relay.unreclaimed(CHAIN, NOW)).map(({ orderId, action }) => ({ orderId, action }));
    expect(await lost()).toEqual(expect.arrayContaining(made));
    for (const { orderId } of made) await queued(trader, orderId, 'reclaim');
    expect(await lost()).toEqual([]);
  });

  it('waits longer after each failure of its trader, and keeps those of others from nothing', async () => {
    const [stubborn, other] = [newTrader(), newTrader()];
    const client = new pg.Client(replicas.url);
    await client.connect();
    const loseOne = async (trader: Address): Promise<void> => {
      const { id } = await placed(trader, { maxUnsent: 100 });
      await queued(trader, id);
      await client.query("update orders set status = 'timed_out', order_key = 'request:' || id where id = $1", [id]);
    };
    for (let count = 0; count < 52; count += 1) await loseOne(stubborn);
    await loseOne(other);
    await client.end();
    const lostTo = async (now: number): Promise<Set<Address>> =>
      new Set((await store.relay.unreclaimed(CHAIN, now)).map(({ trader }) => trader));
    expect(await lostTo(NOW)).toEqual(new Set([stubborn]));
    await store.relay.reclaimTried(CHAIN, stubborn, NOW, false);
    expect(await lostTo(NOW)).toEqual(new Set([other]));
    await store.relay.reclaimTried(CHAIN, other, NOW, true);
    expect(await lostTo(NOW + 29_999)).toEqual(new Set([other]));
    expect(await lostTo(NOW + 30_000)).toEqual(new Set([stubborn, other]));
    const [first] = await store.relay.unreclaimed(CHAIN, NOW + 30_000);
    expect(first?.trader).toBe(other);
    for (const wait of [60_000, 120_000, 240_000]) {
      await store.relay.reclaimTried(CHAIN, stubborn, NOW, false);
      expect((await lostTo(NOW + wait - 1)).has(stubborn)).toBe(false);
      expect((await lostTo(NOW + wait)).has(stubborn)).toBe(true);
    }
    for (let count = 0; count < 30; count += 1) await store.relay.reclaimTried(CHAIN, stubborn, NOW, false);
    expect((await lostTo(NOW + 3_600_000)).has(stubborn)).toBe(true);
    await store.relay.reclaimTried(CHAIN, stubborn, NOW, true);
    expect((await lostTo(NOW)).has(stubborn)).toBe(true);
  });
});
