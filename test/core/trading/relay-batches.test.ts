import type { KnexStore } from '../../../core/adapters/postgres/create-store.js';
import type { Address, Hex } from '../../../core/types.js';
import { UNCOMPARED, type NewAttempt, type RelayJob } from '../../../core/ports/stores/relay.js';
import { orderDraft } from '../../harness/traders/order-draft.js';
import { storeAction } from '../../harness/hyperliquid/store-action.js';
import { openReplicas, type Replicas } from '../../harness/database/two-stores.js';

const CHAIN = 'base';
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

async function placed(trader: Address): Promise<bigint> {
  const answer = await store.orders.place(orderDraft(CHAIN, trader, { now: NOW, maxUnsent: 1_000 }));
  if (answer.kind !== 'placed') throw new Error(`it was ${answer.kind}`);
  return answer.stored.id;
}

async function queue(wallet: Address, count: number, trader = newAddress(), context: unknown = null): Promise<RelayJob[]> {
  const proof = { envelope: '{}', actionHash: '0x00', form: 'canonical', network: 'a', nonce: 1n, receivedAt: NOW } as const;
  const { id: parent } = await storeAction(store, { chain: CHAIN, signer: trader, trader, ...proof });
  const request = {
    chain: CHAIN,
    wallet,
    trader,
    purpose: 'action',
    parent,
    data: '0x01',
    gas: 1n,
    context,
    notAfter: null,
  } as const;
  const jobs: RelayJob[] = [];
  for (let at = 0; at < count; at += 1) jobs.push(await store.relay.queue({ ...request, orderId: await placed(trader) }, NOW));
  return jobs;
}

const idsOf = (jobs: readonly RelayJob[]): bigint[] => jobs.map(({ id }) => id);
const hashOf = (id: bigint, place = 0): Hex => `0x${id.toString(16)}${place}`;
const attemptOf = (id: bigint, place = 0): NewAttempt => ({
  id,
  attempt: { hash: hashOf(id, place), raw: '0x02', maxFeePerGas: 1n, maxPriorityFeePerGas: 1n, isNoOp: false, signedAt: NOW },
});

describe('many jobs of a wallet', () => {
  it('get dense nonces in the order they came, from what the chain says', async () => {
    const wallet = newAddress();
    const ids = idsOf(await queue(wallet, 5));
    const numbered = await store.relay.assignNonces(CHAIN, wallet, [...ids].reverse(), 7);
    expect(numbered.map(({ id, nonce, state }) => ({ id, nonce, state }))).toEqual(
      ids.map((id, at) => ({ id, nonce: 7 + at, state: 'assigned' })),
    );
    expect((await store.relay.lane(CHAIN, wallet)).nextNonce).toBe(12);
  });

  it('are begun in turns of their traders, what takes risk away first, and so many of a trader at a time', async () => {
    const [wallet, busy, quiet] = [newAddress(), newAddress(), newAddress()];
    const flood = idsOf(await queue(wallet, 90, busy));
    const others = idsOf(await queue(wallet, 2, quiet));
    const cancels = idsOf(await queue(wallet, 30, busy, { kind: 'cancel' }));
    const [close] = idsOf(await queue(wallet, 1, quiet, { kind: 'cancel' }));
    const next = idsOf(await store.relay.queued(CHAIN, wallet, 100));
    expect(next.slice(0, 3)).toEqual([cancels[0], close, cancels[1]]);
    // Thirty cancels leave ten of the forty; the quiet trader has all of its own.
    expect(new Set(next)).toEqual(new Set([...cancels, close, ...others, ...flood.slice(0, 10)]));
    await store.relay.assignNonces(CHAIN, wallet, next, 0);
    expect(await store.relay.queued(CHAIN, wallet, 100)).toEqual([]);
    const [more] = idsOf(await queue(wallet, 1, busy, { kind: 'cancel' }));
    expect(idsOf(await store.relay.queued(CHAIN, wallet, 100))).toEqual([more]);
    await store.relay.setState(CHAIN, cancels[0] ?? 0n, 'refused', NOW, null);
    expect(idsOf(await store.relay.queued(CHAIN, wallet, 100))).toEqual([more]);
    for (const id of [cancels[1], cancels[2]]) await store.relay.setState(CHAIN, id ?? 0n, 'refused', NOW, null);
    expect(idsOf(await store.relay.queued(CHAIN, wallet, 100))).toEqual([more, flood[10], flood[11]]);
  });

  it('get each nonce once, also where two replicas number the same jobs and others at the same moment', async () => {
    const wallet = newAddress();
    const ids = idsOf(await queue(wallet, 30));
    const parts = [ids, ids.slice(0, 20), ids.slice(10), [...ids].reverse()];
    const given = await Promise.all(parts.map((part, at) => stores[at % 2 === 0 ? 0 : 1].relay.assignNonces(CHAIN, wallet, part, 0)));
    expect(idsOf(given.flat()).sort((a, b) => Number(a - b))).toEqual(ids);
    const nonces = (await store.relay.jobs(CHAIN, ids)).map(({ nonce }) => nonce);
    expect(nonces.sort((a, b) => Number(a) - Number(b))).toEqual(ids.map((_, at) => at));
    expect((await store.relay.lane(CHAIN, wallet)).nextNonce).toBe(30);
  });

  it('move no number when none of them is queued any more', async () => {
    const wallet = newAddress();
    const ids = idsOf(await queue(wallet, 2));
    await store.relay.assignNonces(CHAIN, wallet, ids, 0);
    expect(await store.relay.assignNonces(CHAIN, wallet, ids, 0)).toEqual([]);
    expect((await store.relay.lane(CHAIN, wallet)).nextNonce).toBe(2);
  });

  it('get none where they were marked as not compared with the chain, until the mark is taken off', async () => {
    const wallet = newAddress();
    const [marked = 0n, noted = 0n, plain = 0n] = idsOf(await queue(wallet, 3));
    await store.relay.noteQueued(CHAIN, marked, UNCOMPARED);
    await store.relay.noteQueued(CHAIN, noted, 'its nonce is free again');
    expect(idsOf(await store.relay.assignNonces(CHAIN, wallet, [marked, noted, plain], 0))).toEqual([noted, plain]);
    expect(await store.relay.job(CHAIN, marked)).toMatchObject({ state: 'queued', nonce: null, note: UNCOMPARED });
    await store.relay.noteQueued(CHAIN, marked, null);
    expect(await store.relay.assignNonces(CHAIN, wallet, [marked], 0)).toMatchObject([{ id: marked, nonce: 2 }]);
  });

  it('are found by the hash of any attempt, and what two replicas signed stands side by side', async () => {
    const wallet = newAddress();
    const ids = idsOf(await queue(wallet, 4));
    await store.relay.assignNonces(CHAIN, wallet, ids, 0);
    await Promise.all(
      [0, 1].map((at) =>
        stores[at === 0 ? 0 : 1].relay.addAttempt(
          CHAIN,
          ids.map((id) => attemptOf(id, at)),
        ),
      ),
    );
    for (const id of ids) {
      const found = await Promise.all([0, 1].map((at) => store.relay.jobByHash(CHAIN, hashOf(id, at))));
      expect(found.map((job) => job?.id)).toEqual([id, id]);
      expect(found[0]?.state).toBe('signed');
      expect(found[0]?.attempts.map(({ hash }) => hash).sort()).toEqual([hashOf(id, 0), hashOf(id, 1)]);
    }
  });

  it('are settled in one go, and what was over before a node answered stays over', async () => {
    const wallet = newAddress();
    const ids = idsOf(await queue(wallet, 3));
    await store.relay.assignNonces(CHAIN, wallet, ids, 0);
    await store.relay.addAttempt(
      CHAIN,
      ids.map((id) => attemptOf(id)),
    );
    const block = { blockNumber: 9n, blockHash: '0xb9', gasUsed: 21_000n, costWei: 5n } as const;
    const states = ['mined', 'reverted'] as const;
    const settled = ids.slice(0, 2).map((id, at) => ({ id, state: states[at] ?? 'mined', mined: { hash: hashOf(id), ...block } }));
    await store.relay.settle(CHAIN, settled);
    await store.relay.accept(CHAIN, ids, NOW);
    expect((await store.relay.jobs(CHAIN, ids)).sort((a, b) => Number(a.id - b.id)).map(({ state }) => state)).toEqual([
      'mined',
      'reverted',
      'accepted',
    ]);
    const blocks = await store.relay.minedBlocks(CHAIN, wallet, 64);
    expect(blocks).toEqual([{ number: 9n, hash: '0xb9' }]);
    expect(idsOf(await store.relay.settledIn(CHAIN, wallet, blocks, 0))).toEqual(ids.slice(0, 2));
    expect(await store.relay.settledIn(CHAIN, wallet, [{ number: 9n, hash: '0xother' }], 0)).toEqual([]);
  });
});

describe('hashes of many orders', () => {
  it('are stored and journaled once, whichever replica reports them, and leave orders that moved on as they are', async () => {
    const trader = newAddress();
    const ids = [await placed(trader), await placed(trader), await placed(trader)];
    const [first, second, gone] = ids;
    if (first === undefined || second === undefined || gone === undefined) throw new Error('no orders');
    await store.orders.giveUp(CHAIN, trader, gone, NOW);
    const sent = ids.map((id) => ({ id, hash: hashOf(id) }));
    await Promise.all([0, 1].map((at) => stores[at === 0 ? 0 : 1].orders.recordHashes(CHAIN, sent, NOW)));
    await store.orders.recordHashes(CHAIN, sent, NOW + 1);
    for (const id of [first, second]) {
      const timeline = await store.orders.timeline(CHAIN, trader, id);
      expect(timeline?.events.map(({ event }) => event.kind)).toEqual(['prepared', 'sent']);
      expect((await store.orders.find(CHAIN, trader, id))?.order).toMatchObject({ status: 'prepared', txHash: hashOf(id) });
    }
    expect(await store.orders.giveUp(CHAIN, trader, first, NOW)).toBe(false);
    const facts = await store.journal.after(CHAIN, trader, 0n, 100);
    const journaled = facts.flatMap(({ fact }) => (fact.kind === 'order' && fact.id === first ? [fact.order.txHash] : []));
    expect(journaled).toEqual([null, hashOf(first)]);
  });
});
