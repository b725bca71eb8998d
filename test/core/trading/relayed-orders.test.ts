import type { SignerClaim } from '../../../core/ports/stores/signers.js';
import type { KnexStore } from '../../../core/adapters/postgres/create-store.js';
import { RECORD_CHILD } from '../../../core/adapters/postgres/exchange-sql.js';
import { childValues } from '../../../core/adapters/postgres/exchange-store.js';
import type { Address } from '../../../core/types.js';
import type { BotOrder, RelayedLeg, RelayedOrder } from '../../../core/ports/stores/relay.js';
import type { OpeningGuard } from '../../../core/ports/stores/rules.js';
import { orderDraft, type DraftWishes } from '../../harness/traders/order-draft.js';
import { storeAction } from '../../harness/hyperliquid/store-action.js';
import { eventually } from '../../harness/time/eventually.js';
import { openReplicas, type Replicas } from '../../harness/database/two-stores.js';

const CHAIN = 'base';
/** Sessions that wait for a row which another one changes. */
const WAITING = `select count(*)::int from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
const NOW = Date.UTC(2026, 0, 6, 15);
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
const newAddress = (): Address => `0x${String((last += 1)).padStart(40, '0')}`;
const oneOf = (at: number): KnexStore => stores[at % 2 === 0 ? 0 : 1];

const TRIGGER = { kind: 'sl', price: 55n } as const;

describe('a signed action', () => {
  async function newAgent(ending: { revoked_at?: number; expires_at?: number } = {}): Promise<{ agent: Address; trader: Address }> {
    const who = { agent: newAddress(), trader: newAddress() };
    const row = { chain: CHAIN, ...who, name: who.agent, permissions: 'trade', mode: 'relayed', created_at: NOW, ...ending };
    await store.db('agents').insert(row);
    return who;
  }

  function claimOf(candidates: readonly Address[], after: number, limit = 100): SignerClaim {
    const readings = candidates.map((_, at) => ({
      actionHash: `0x0${at}` as const,
      form: at < 2 ? ('canonical' as const) : ('as-sent' as const),
      network: at % 2 === 0 ? ('a' as const) : ('b' as const),
    }));
    const count = { window: 0, bucket: 'test', weight: 1, limit, items: 0, itemLimit: 1 };
    return { chain: CHAIN, candidates, nonce: BigInt(NOW + after), now: NOW, count, proof: { envelope: '{}', receivedAt: NOW, readings } };
  }

  /** From then on a trader is none of those who only sign. */
  async function sentFor(trader: Address): Promise<void> {
    const nothing = { purpose: 'no-op', data: '0x', gas: 1, context: 'null', state: 'mined', is_over: true };
    await store.db('relay_jobs').insert({ chain: CHAIN, wallet: newAddress(), trader, created_at: NOW, ...nothing });
  }

  async function knownAgent(): Promise<{ agent: Address; trader: Address }> {
    const who = await newAgent();
    await sentFor(who.trader);
    return who;
  }

  it('counts for its trader, whichever agent of it signed', async () => {
    const { agent, trader } = await knownAgent();
    const second = newAddress();
    await store
      .db('agents')
      .insert({ chain: CHAIN, agent: second, trader, name: second, permissions: 'trade', mode: 'relayed', created_at: NOW });
    expect(await store.signers.claim(claimOf([agent], 1, 1))).toMatchObject({ used: 1, nonce: { kind: 'taken' } });
    expect(await oneOf(1).signers.claim(claimOf([second], 2, 1))).toMatchObject({ used: 2, nonce: null, kept: null });
    const { agent: other } = await knownAgent();
    expect(await store.signers.claim(claimOf([other], 3, 1))).toMatchObject({ used: 1, nonce: { kind: 'taken' } });
  });

  it('counts its items beside, and uses no nonce where they are too many', async () => {
    const { agent } = await knownAgent();
    const claim = claimOf([agent], 4);
    const of = (items: number) => ({ ...claim, count: { ...claim.count, items, itemLimit: 40 } });
    expect(await store.signers.claim(of(41))).toMatchObject({ used: 1, usedItems: 41, nonce: null, kept: null });
    expect(await store.signers.claim(of(0))).toMatchObject({ used: 2, usedItems: 0, nonce: { kind: 'taken' } });
  });

  const keptFor = (trader: Address): Promise<Record<string, unknown>[]> =>
    store.db('relay_actions').where({ trader }).select('signer', 'action_hash', 'form', 'network');

  it('is kept with the reading under which its signer was found, also where an address is named twice', async () => {
    const { agent, trader } = await knownAgent();
    const { kept } = await store.signers.claim(claimOf([newAddress(), newAddress(), agent, agent], 0));
    const reading = { form: 'as-sent', network: 'a' };
    expect(kept?.action).toMatchObject({ signer: agent, trader, actionHash: '0x02', ...reading });
    expect(await keptFor(trader)).toEqual([{ signer: agent, action_hash: '0x02', ...reading }]);
  });

  it('is kept once, however often and wherever it comes at once', async () => {
    const { agent, trader } = await knownAgent();
    const verdicts = await Promise.all(Array.from({ length: 20 }, (_, at) => oneOf(at).signers.claim(claimOf([agent], 0))));
    expect(verdicts.flatMap(({ kept }) => kept ?? [])).toHaveLength(1);
    expect(await keptFor(trader)).toHaveLength(1);
  });

  it('is not kept where it came too often, or its agent may not act any more', async () => {
    const { agent, trader } = await knownAgent();
    expect(await store.signers.claim(claimOf([agent], 0, 0))).toMatchObject({ used: 1, nonce: null, kept: null });
    expect(await keptFor(trader)).toEqual([]);
    for (const ending of [{ revoked_at: NOW }, { expires_at: NOW }]) {
      const gone = await newAgent(ending);
      await sentFor(gone.trader);
      expect(await store.signers.claim(claimOf([gone.agent, agent], 0))).toMatchObject({ used: null, nonce: null, kept: null });
      expect(await keptFor(gone.trader)).toEqual([]);
    }
  });

  it('of a trader for whom nothing was ever sent uses its nonce and is kept only when it is asked to be', async () => {
    const { agent, trader } = await newAgent();
    const { proof, ...claim } = claimOf([newAddress(), agent], 0);
    if (!proof) throw new Error('no proof');
    expect(await store.signers.claim({ ...claim, proof })).toMatchObject({ nonce: { kind: 'taken' }, kept: null });
    expect(await keptFor(trader)).toEqual([]);
    const kept = await store.signers.keep({ ...claim, proof });
    expect(kept).toMatchObject({ action: { signer: agent, trader, actionHash: '0x01', nonce: claim.nonce }, wallet: null });
    expect(await keptFor(trader)).toHaveLength(1);
    expect(await store.signers.keep({ ...claim, proof, candidates: [newAddress()] })).toBeNull();
  });
});

describe('an order that is stored with what sends it', () => {
  interface SingleOrder extends RelayedOrder {
    readonly record: BotOrder;
    readonly request: NonNullable<RelayedLeg['request']>;
    readonly draft: NonNullable<RelayedLeg['draft']>;
  }

  async function newOrders(): Promise<(wishes?: DraftWishes, guard?: OpeningGuard) => SingleOrder> {
    const trader = newAddress();
    const proof = { envelope: '{}', actionHash: '0x00', form: 'canonical', network: 'a', nonce: 1n, receivedAt: NOW } as const;
    const { id: action } = await storeAction(store, { chain: CHAIN, signer: trader, trader, ...proof });
    const order = { isBuy: true, limit: 1n, size: 1n, reduceOnly: false, style: { kind: 'limit', tif: 'Ioc' } } as const;
    const wire = { limitPx: '1', sz: '1', tif: 'Ioc', triggerPx: null, isMarket: null, tpsl: null };
    const leg = { role: 'open', tradeIndex: null, sizeBase: 10n ** 30n } as const;
    const who = { chain: CHAIN, trader, agent: trader } as const;
    const terms = { action, item: 0, cloid: null, pairIndex: 0, manner: 'market', order, wire, createdAt: NOW } as const;
    const record: BotOrder = { ...who, ...terms, legs: [leg], triggers: [null], isContinued: false, children: [] };
    return (wishes = {}, guard) => {
      const draft = { ...orderDraft(CHAIN, trader, { now: NOW, ...wishes }), ...(guard && { guard }) };
      const call = { data: draft.data, gas: 1n, context: { block: 7n }, notAfter: NOW };
      const request = { trader, wallet: trader, purpose: 'action', parent: action, ...call } as const;
      return { draft, request, record, legs: [{ draft, request }] };
    };
  }

  const TABLES = ['orders', 'order_tags', 'chain_events', 'journal', 'spend_reservations', 'exchange_orders', 'exchange_legs'];
  const written = async (): Promise<string[]> => {
    const rows = await Promise.all([...TABLES, 'relay_jobs'].map((table) => store.db(table).count<{ count: bigint }[]>()));
    return rows.map(([row]) => String(row?.count));
  };

  it('has the very job that the queue holds', async () => {
    const placed = await store.relay.placeAndQueue((await newOrders())());
    if (placed.kind !== 'placed') throw new Error(placed.kind);
    expect(placed.orders.map((order) => order?.id)).toEqual([placed.oid]);
    expect(placed.jobs).toHaveLength(1);
    expect(await store.relay.jobsOfOrder(CHAIN, placed.oid)).toEqual(placed.jobs);
    expect(await store.exchange.ofOrders(CHAIN, [placed.oid])).toHaveProperty('size', 1);
  });

  it('has its job also where no order of a bot stands for it', async () => {
    const { legs } = (await newOrders())();
    const placed = await store.relay.placeAndQueue({ legs, record: null });
    if (placed.kind !== 'placed') throw new Error(placed.kind);
    expect(await store.relay.jobsOfOrder(CHAIN, placed.oid)).toEqual(placed.jobs);
    expect(placed.jobs).toHaveLength(1);
    expect(await store.exchange.ofOrders(CHAIN, [placed.oid])).toHaveProperty('size', 0);
  });

  it('leaves nothing behind where anything speaks against it', async () => {
    const orderOf = await newOrders();
    expect(await store.relay.placeAndQueue(orderOf({ order: { clientId: 'taken' } }))).toMatchObject({ kind: 'placed' });
    const before = await written();
    expect(await store.relay.placeAndQueue(orderOf({ order: { clientId: 'taken' } }))).toMatchObject({
      kind: 'refused',
      why: { kind: 'known' },
    });
    expect(await store.relay.placeAndQueue(orderOf({ maxUnsent: 1 }))).toMatchObject({ kind: 'refused', why: { kind: 'too-many' } });
    expect(await store.relay.placeAndQueue(orderOf({ spend: { usd: '10', cap: '9' } }))).toMatchObject({
      kind: 'refused',
      why: { kind: 'over-cap' },
    });
    const asked = { collaterals: new Map(), instead: null, now: NOW, notionalUsd: 1n, freedUsd: 0n };
    const given = { defaults: {}, own: { access: 'blocked' } } as const;
    await expect(store.relay.placeAndQueue(orderOf({}, { ...asked, given }))).rejects.toThrow();
    const { trader } = orderOf().record;
    await store.rules.put({ chain: CHAIN, trader, rules: { reduceOnly: true }, updatedAt: NOW });
    await expect(store.relay.placeAndQueue(orderOf({}, { ...asked, given: { defaults: {}, own: {} } }))).rejects.toThrow();
    expect(await written()).toEqual(before);
  });

  it('is one, and within the cap, where many come at once to two replicas', async () => {
    const orderOf = await newOrders();
    const raced = async (wishes: DraftWishes): Promise<number> => {
      const answers = await Promise.all(Array.from({ length: 12 }, (_, at) => oneOf(at).relay.placeAndQueue(orderOf(wishes))));
      return answers.filter(({ kind }) => kind === 'placed').length;
    };
    expect(await raced({ order: { clientId: 'one' } })).toBe(1);
    expect(await raced({ spend: { usd: '10', cap: '35' } })).toBe(3);
    expect(await store.relay.queued(CHAIN, orderOf().request.wallet, 100)).toHaveLength(4);
  });

  describe('has a cloid of its own', () => {
    const cloid = `0x${'c2'.repeat(16)}`;
    const levelTerms = { manner: 'protection', cloid } as const;

    async function newNames() {
      const orderOf = await newOrders();
      const { draft, request, record } = orderOf();
      const { trader } = record;
      const order = (): RelayedOrder => {
        const named = orderOf({ order: { clientId: cloid } });
        return { record: { ...record, cloid }, legs: [{ draft: { ...named.draft, freeCloid: cloid }, request }] };
      };
      const level = (): RelayedOrder => ({
        record: {
          ...{ ...record, ...levelTerms, triggers: [{ tradeIndex: 3, kind: 'sl', price: 55n }], newCloids: [cloid] },
          legs: [{ role: 'protect', tradeIndex: 3, sizeBase: 1n }],
        },
        legs: [{ draft: null, request: { ...request, notAfter: null, context: { kind: 'order', item: 0, leg: 0 } } }],
      });
      await store.relay.assignWallet(CHAIN, trader, request.wallet);
      const parent = await store.relay.placeAndQueue(orderOf());
      if (parent.kind !== 'placed') throw new Error(parent.kind);
      const child = { ...record, ...levelTerms, item: 1, parentOrder: parent.oid, sizeBase: 1n, trigger: TRIGGER };
      const intent = { kind: 'amend', tradeIndex: 4 };
      const rests = `update orders set status = 'open', state = jsonb_set(state, '{status}', '"open"') where id = ?`;
      await store.db.raw(rests, [parent.oid.toString()]);
      const change = async (at: KnexStore, newCloid: string | null = cloid) => {
        const asked = { ...request, chain: CHAIN, orderId: null, notAfter: null, context: { kind: 'child', item: 1, intent } } as const;
        const amended = { id: parent.oid, order: draft.order };
        const queued = await at.relay.queueAmend(asked, { tradeIndex: 4, amended, child, newCloid }, NOW);
        return queued === null || queued === 'cloid-taken' ? queued : 'placed';
      };
      const place = async (at: KnexStore, relayed: RelayedOrder) => {
        const placed = await at.relay.placeAndQueue(relayed);
        return placed.kind === 'placed' ? 'placed' : placed.why.kind;
      };
      const ways = {
        order: (at = store) => place(at, order()),
        'TP/SL of a position': (at = store) => place(at, level()),
        'TP/SL of a resting order': (at = store) => change(at),
      };
      const named = async () => (await store.exchange.liveCloids(CHAIN, trader, [cloid])).size;
      return { ways, named, keep: () => change(store, null) };
    }

    it.each([
      ['order', 'TP/SL of a position'],
      ['order', 'TP/SL of a resting order'],
      ['TP/SL of a position', 'order'],
      ['TP/SL of a position', 'TP/SL of a resting order'],
      ['TP/SL of a resting order', 'order'],
      ['TP/SL of a resting order', 'TP/SL of a position'],
    ] as const)('which the %s keeps against the %s', async (first, second) => {
      const { ways, named } = await newNames();
      expect(await ways[first]()).toBe('placed');
      expect(await ways[second]()).toBe('cloid-taken');
      expect(await named()).toBe(1);
    });

    it('which one of all that come at once to two replicas gets', async () => {
      const { ways } = await newNames();
      const answers = await Promise.all(Object.values(ways).flatMap((way) => Array.from({ length: 4 }, (_, at) => way(oneOf(at)))));
      expect(answers.filter((answer) => answer === 'placed')).toHaveLength(1);
    });

    it('which a changed TP/SL keeps', async () => {
      const { ways, keep } = await newNames();
      expect(await ways['TP/SL of a position']()).toBe('placed');
      expect(await keep()).toBe('placed');
    });
  });

  it('is the only live one of its cloid, also where a past order keeps the cloid and many come at once to two replicas', async () => {
    const orderOf = await newOrders();
    const cloid = `0x${'c1'.repeat(16)}`;
    const named = (freeCloid?: string): RelayedOrder => {
      const { draft, request, record } = orderOf(freeCloid === undefined ? { order: { clientId: cloid } } : {});
      return { record: { ...record, cloid }, legs: [{ draft: { ...draft, ...(freeCloid && { freeCloid }) }, request }] };
    };
    const end = async (id: bigint) =>
      store
        .db('orders')
        .where({ id: String(id) })
        .update({ status: 'canceled', is_live: false });
    const past = await store.relay.placeAndQueue(named());
    if (past.kind !== 'placed') throw new Error(past.kind);
    await end(past.oid);
    expect(await store.relay.placeAndQueue(named())).toMatchObject({
      kind: 'refused',
      at: 0,
      why: { kind: 'known', stored: { id: past.oid } },
    });
    for (let round = 0; round < 2; round += 1) {
      const answers = await Promise.all(Array.from({ length: 12 }, (_, at) => oneOf(at).relay.placeAndQueue(named(cloid))));
      const [placed, ...others] = answers.filter(({ kind }) => kind === 'placed');
      expect(others).toEqual([]);
      if (placed?.kind !== 'placed') throw new Error('none was placed');
      const refused = answers.filter((answer) => answer !== placed);
      for (const answer of refused) expect(answer).toMatchObject({ kind: 'refused', why: { kind: 'cloid-taken' } });
      await end(placed.oid);
    }
  });

  describe('of several parts', () => {
    async function newItems() {
      const orderOf = await newOrders();
      const { record, request } = orderOf();
      const { legs, isContinued, children, triggers, ...shared } = record;
      const owed = { closingSlippageP: 5_000n, dueAt: NOW };
      const child = { ...shared, item: 1, manner: 'protection', sizeBase: 5n, trigger: TRIGGER } as const;
      const itemOf = (...wishes: DraftWishes[]): RelayedOrder => ({
        record: {
          ...shared,
          isContinued,
          legs: wishes.flatMap(() => legs),
          triggers: wishes.flatMap(() => triggers),
          children: [...children, child],
        },
        legs: wishes.map((wish, at) => ({
          draft: orderOf(wish).draft,
          request: at === 2 ? null : request,
          ...(at === 0 && { owed }),
        })),
      });
      return { itemOf, record };
    }

    it('has a job for each that is not held back, its record and its children', async () => {
      const { itemOf, record } = await newItems();
      const placed = await store.relay.placeAndQueue(itemOf({}, {}, {}));
      if (placed.kind !== 'placed') throw new Error(placed.kind);
      const { oid, orders, jobs } = placed;
      const orderIds = orders.map((order) => order?.id);
      expect(orderIds[0]).toBe(oid);
      expect(jobs.map(({ orderId }) => orderId)).toEqual(orderIds.slice(0, 2));
      expect(
        await store.relay.jobs(
          CHAIN,
          jobs.map(({ id }) => id),
        ),
      ).toEqual(jobs);
      const found = await store.exchange.find(CHAIN, record.trader, oid);
      expect(found?.legs.map(({ orderId }) => orderId)).toEqual(orderIds);
      expect(await store.db('exchange_orders').where({ parent_order: oid.toString() })).toHaveLength(1);
      expect(await store.db('pending_closing_slippages').where({ oid: oid.toString() })).toMatchObject([{ slippage_p: 5_000 }]);
    });

    it('leaves nothing of the first behind where the second is refused', async () => {
      const { itemOf, record } = await newItems();
      const before = await written();
      const over = { spend: { usd: '10', cap: '9' } };
      expect(await store.relay.placeAndQueue(itemOf({}, over))).toMatchObject({ kind: 'refused', at: 1, why: { kind: 'over-cap' } });
      await store.rules.put({ chain: CHAIN, trader: record.trader, rules: { reduceOnly: true }, updatedAt: NOW });
      const asked = { collaterals: new Map(), instead: null, now: NOW, notionalUsd: 1n, freedUsd: 0n, given: { defaults: {}, own: {} } };
      const { legs, ...rest } = itemOf({}, {});
      const ruled = legs.map((leg, at) => (at === 1 && leg.draft ? { ...leg, draft: { ...leg.draft, guard: asked } } : leg));
      await expect(store.relay.placeAndQueue({ ...rest, legs: ruled })).rejects.toThrow();
      expect(await written()).toEqual(before);
    });
  });

  it('keeps its children when it rests after all under another order of ours', async () => {
    const orderOf = await newOrders();
    const { record } = orderOf();
    const childOf = (parentOrder: bigint, sizeBase: bigint) => ({
      ...record,
      item: 1,
      manner: 'protection' as const,
      parentOrder,
      sizeBase,
      trigger: TRIGGER,
    });
    const oidOf = async (child: ReturnType<typeof childOf>) =>
      (await store.db.raw<{ rows: { oid: bigint }[] }>(RECORD_CHILD, childValues(child) as never)).rows[0]?.oid;
    const first = await oidOf(childOf(7n, 5n));
    const again = await oidOf(childOf(8n, 6n));
    expect(again).toBe(first);
    expect(await store.exchange.find(CHAIN, record.trader, first ?? 0n)).toMatchObject({ parentOrder: 8n, legs: [{ sizeBase: 6n }] });
    const rows = await store.db('exchange_orders').where({ action: record.action });
    expect(rows).toHaveLength(1);
  });

  it('is in the journal as executed where its answer is noted while it is being executed', async () => {
    const placed = await store.relay.placeAndQueue((await newOrders())());
    if (placed.kind !== 'placed') throw new Error(placed.kind);
    const { oid: id } = placed;
    let noted = Promise.resolve();
    await store.db.transaction(async (trx) => {
      await trx.raw(`update orders set state = jsonb_set(state, '{status}', '"filled"') where id = ?`, [id.toString()]);
      noted = stores[1].exchange.answer(CHAIN, id, 'resting', NOW);
      await Promise.race([
        noted,
        eventually(
          () => store.db.raw<{ rows: { count: number }[] }>(WAITING),
          ({ rows }) => rows[0]?.count === 1,
        ),
      ]);
    });
    await noted;
    const newest = await store
      .db('journal')
      .where({ order_id: id })
      .orderBy('cursor', 'desc')
      .first<{ fact: { order: { status: string } } }>();
    expect(newest.fact.order.status).toBe('filled');
  });
});
