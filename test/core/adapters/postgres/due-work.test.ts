import { createStore, type KnexStore } from '../../../../core/adapters/postgres/create-store.js';
import { parseDecimal } from '../../../../core/domain/decimal.js';
import type { DueWork } from '../../../../core/ports/store.js';
import type { Address, Hex } from '../../../../core/types.js';
import { createTestDatabase, type TestDatabase } from '../../../harness/database/test-database.js';
import { orderDraft, type DraftWishes } from '../../../harness/traders/order-draft.js';
import { storeAction } from '../../../harness/hyperliquid/store-action.js';
import { createRecordedLog } from '../../../harness/checks/recorded-log.js';
import { eventually } from '../../../harness/time/eventually.js';
import { NOTHING_DUE } from '../../../harness/database/nothing-due.js';

/** One statement answers for all that waits for a time or for another replica: each part must come, and go again when it is done. */

const [CHAIN, OTHER_CHAIN] = ['base', 'arbitrum'] as const;
const NOW = 1_000_000;
const [TRADER, WALLET, OTHER_WALLET] = ['a', 'b', 'c'].map((digit): Address => `0x${digit.repeat(40)}`) as [Address, Address, Address];

let database: TestDatabase;
let store: KnexStore;

beforeEach(async () => {
  database = await createTestDatabase();
  store = createStore({ url: database.url, log: createRecordedLog() });
});
afterEach(async () => {
  // Whatever is due on one chain is not due on another.
  expect(await store.due(OTHER_CHAIN, [WALLET], NOW + 1e9)).toEqual(NOTHING_DUE);
  await store.close();
  await database.drop();
});

const due = (now = NOW, wallets: readonly Address[] = [WALLET, OTHER_WALLET]): Promise<DueWork> => store.due(CHAIN, wallets, now);

async function placed(wishes: DraftWishes = {}): Promise<bigint> {
  const answer = await store.orders.place(orderDraft(CHAIN, TRADER, { now: NOW, ...wishes }));
  if (answer.kind !== 'placed') throw new Error(`it was ${answer.kind}`);
  return answer.stored.id;
}

async function newAction(): Promise<bigint> {
  const proof = { envelope: '{}', actionHash: '0x00', form: 'canonical', network: 'a', nonce: 1n, receivedAt: NOW } as const;
  return (await storeAction(store, { chain: CHAIN, signer: TRADER, trader: TRADER, ...proof })).id;
}

const queued = async (orderId: bigint | null, parent: bigint) =>
  store.relay.queue(
    {
      chain: CHAIN,
      wallet: WALLET,
      trader: TRADER,
      purpose: 'action',
      parent,
      orderId,
      data: '0x',
      gas: 1n,
      context: null,
      notAfter: null,
    },
    NOW,
  );

describe('what is due on a chain', () => {
  it('is nothing where nothing is stored', async () => {
    expect(await due()).toEqual(NOTHING_DUE);
    expect(await due(NOW, [])).toEqual(NOTHING_DUE);
  });

  it('is an order from the moment it expires, until it is expired', async () => {
    await placed({ forMs: 1_000 });
    expect(await due(NOW + 999)).toEqual(NOTHING_DUE);
    expect(await due(NOW + 1_000)).toEqual({ ...NOTHING_DUE, orders: true });
    expect(await store.orders.expire(CHAIN, NOW + 1_000)).toBe(1);
    expect(await due(NOW + 1_000)).toEqual(NOTHING_DUE);
  });

  it('is an order with a known hash until its end, which time alone is not', async () => {
    const id = await placed({ forMs: 1_000 });
    await store.orders.recordHash(CHAIN, id, '0xa1', NOW);
    expect(await due(NOW)).toEqual({ ...NOTHING_DUE, sentOrders: true });
    expect(await due(NOW + 1_000)).toEqual({ ...NOTHING_DUE, sentOrders: true });
    await store.orders.expire(CHAIN, NOW + 1_000, [id]);
    expect(await due(NOW + 1_000)).toEqual(NOTHING_DUE);
  });

  it('is spending that was reserved for a while, until it is released', async () => {
    const account = { chain: CHAIN, agent: TRADER, trader: TRADER, day: 1 };
    await store.spend.reserve({ ...account, id: 'kept', usd: parseDecimal('5') }, null);
    await store.spend.reserve({ ...account, id: '1/2', usd: parseDecimal('5'), expiresAt: NOW }, null);
    expect(await due(NOW - 1)).toEqual(NOTHING_DUE);
    expect(await due(NOW)).toEqual({ ...NOTHING_DUE, reservations: true });
    expect(await store.spend.releaseUnsent(CHAIN, NOW)).toBe(1);
    expect(await due(NOW)).toEqual(NOTHING_DUE);
  });

  it('is a job of one of the asked wallets, until it is over', async () => {
    const { id } = await queued(null, await newAction());
    expect(await due()).toEqual({ ...NOTHING_DUE, busyWallets: [WALLET] });
    expect(await due(NOW, [OTHER_WALLET])).toEqual(NOTHING_DUE);
    await store.relay.refuse(CHAIN, id, { reason: 'canceled', note: 'it was canceled' });
    expect(await due()).toEqual(NOTHING_DUE);
  });

  it('are the problems of the asked wallets, until they can send again', async () => {
    const problem = { reason: 'gas is dear', since: NOW };
    await store.relay.storeLaneProblem(CHAIN, WALLET, { ...problem, cause: 'fees' });
    await store.relay.storeLaneProblem(CHAIN, OTHER_WALLET, null);
    expect(await due()).toEqual({ ...NOTHING_DUE, laneProblems: [{ ...problem, wallet: WALLET }] });
    expect(await due(NOW, [OTHER_WALLET])).toEqual(NOTHING_DUE);
    expect(await due(NOW, [])).toEqual(NOTHING_DUE);
    await store.relay.storeLaneProblem(CHAIN, WALLET, null);
    expect(await due()).toEqual(NOTHING_DUE);
  });

  it('is how far the chain is indexed, also for a replica without wallets', async () => {
    const indexedBlock = 2n ** 60n;
    await store.tracking.change(CHAIN, (unit) => {
      unit.setCursor({ startBlock: 1n, number: indexedBlock, hash: '0x01' });
      return Promise.resolve();
    });
    expect(await due()).toEqual({ ...NOTHING_DUE, indexedBlock });
    expect(await due(NOW, [])).toEqual({ ...NOTHING_DUE, indexedBlock });
  });

  it('are all switches, as they are stored', async () => {
    await store.switches.set(CHAIN, null, { mode: 'paused', reason: 'drill' }, NOW);
    await store.switches.retire(CHAIN, WALLET, true, NOW + 1);
    const { switches, ...rest } = await due();
    expect([...switches].sort((a, b) => a.changedAt - b.changedAt)).toEqual(await store.switches.all(CHAIN));
    expect(switches).toContainEqual({ wallet: null, mode: 'paused', isRetiring: false, reason: 'drill', changedAt: NOW });
    expect({ ...rest, switches: [] }).toEqual(NOTHING_DUE);
  });

  it('is a schedule from its time on, until it is taken', async () => {
    const action = await newAction();
    await store.db.raw(
      `insert into agents (chain, agent, trader, name, mode, permissions, created_at) values (:chain, :trader, :trader, 'bot', 'relayed', 'trade', 0)`,
      { chain: CHAIN, trader: TRADER },
    );
    expect(await store.exchange.schedule({ chain: CHAIN, trader: TRADER, agent: TRADER, action, dueAt: NOW })).toBe(true);
    expect(await due(NOW - 1)).toEqual(NOTHING_DUE);
    expect(await due(NOW)).toEqual({ ...NOTHING_DUE, schedules: true });
    expect(await due(NOW, [])).toEqual(NOTHING_DUE); // a replica without wallets sends nothing
    expect(await store.exchange.takeDue(CHAIN, NOW, NOW + 20_000)).toHaveLength(1);
    expect(await due(NOW)).toEqual(NOTHING_DUE);
    expect(await due(NOW + 20_000)).toEqual({ ...NOTHING_DUE, schedules: true });
  });

  it('is a request without an answer, until its collateral is on its way back', async () => {
    const [id, action] = [await placed(), await newAction()];
    const job = await queued(id, action);
    await store.relay.refuse(CHAIN, job.id, { reason: 'canceled', note: 'it was canceled' });
    await store.db.raw(`update orders set status = 'timed_out', order_key = 'request:' || id where id = ?`, [String(id)]);
    expect(await due()).toEqual({ ...NOTHING_DUE, reclaims: true });
    expect(await due(NOW, [])).toEqual(NOTHING_DUE); // a replica without wallets sends nothing
    await store.relay.reclaimTried(CHAIN, TRADER, NOW, false);
    expect(await due()).toEqual(NOTHING_DUE);
    expect(await due(NOW + 30_000)).toEqual({ ...NOTHING_DUE, reclaims: true });
  });

  it('is a closing slippage once its order does not rest any more', async () => {
    const [id, action] = [await placed({ forMs: 1_000 }), await newAction()];
    const owed = { chain: CHAIN, trader: TRADER, agent: TRADER, action: String(action), orderId: String(id), dueAt: NOW };
    await store.db.raw(
      `insert into pending_closing_slippages (chain, trader, agent, action, item, oid, order_id, trade_index, slippage_p, due_at)
       values (:chain, :trader, :agent, :action, 0, 1, :orderId, null, 1000, :dueAt)`,
      owed,
    );
    expect(await due()).toEqual(NOTHING_DUE);
    await store.orders.expire(CHAIN, NOW + 1_000);
    expect(await due(NOW - 1)).toEqual(NOTHING_DUE);
    expect(await due()).toEqual({ ...NOTHING_DUE, closingSlippages: true });
    expect(await due(NOW, [])).toEqual(NOTHING_DUE); // a replica without wallets sends nothing
    expect(await store.closingSlippages.takeDue(CHAIN, NOW, NOW + 2_000)).toHaveLength(1);
    expect(await due()).toEqual(NOTHING_DUE);
  });
});

describe('an accepted change of the contract', () => {
  const [FIRST, BRANCH] = ['0xf1', '0xf2'] as const;
  const noted = (block: bigint, hash: Hex, forkAt: bigint | null = null) =>
    store.tracking.change(CHAIN, async (unit) => {
      if (forkAt !== null) await unit.orphanAbove(forkAt);
      unit.noteCuts([{ blockNumber: block, blockHash: hash, txHash: hash, logIndex: 0, at: NOW }]);
    });
  const standing = async () => {
    const { cut, cutHash, accepted } = (await due()).contract;
    return [cut, cutHash, accepted];
  };
  const words = { findings: ['one'], reason: null };

  it('covers no change of another branch, and its findings stay', async () => {
    await noted(50n, FIRST);
    expect(await store.contract.accept(CHAIN, { block: 50n, hash: FIRST }, words, NOW)).toBe(true);
    expect(await store.contract.agree(CHAIN, { block: 50n, hash: FIRST }, NOW)).toBe(false);
    await noted(100n, FIRST);
    expect(await store.contract.agree(CHAIN, { block: 100n, hash: FIRST }, NOW)).toBe(true);
    expect(await standing()).toEqual([100n, FIRST, { upTo: 100n, findings: ['one'] }]);
    // A replica that is late.
    expect(await store.contract.accept(CHAIN, { block: 50n, hash: FIRST }, { ...words, findings: [] }, NOW)).toBe(false);

    await noted(98n, BRANCH, 80n);
    expect(await standing()).toEqual([98n, BRANCH, { upTo: 0n, findings: ['one'] }]);
    await noted(100n, BRANCH);
    for (const take of [
      () => store.contract.agree(CHAIN, { block: 100n, hash: FIRST }, NOW),
      () => store.contract.accept(CHAIN, { block: 100n, hash: FIRST }, words, NOW),
    ])
      expect(await take()).toBe(false);
    expect(await standing()).toEqual([100n, BRANCH, { upTo: 0n, findings: ['one'] }]);
  });

  it('is not stored while a reorganisation takes the change back', async () => {
    await noted(100n, FIRST);
    const agreeing = { done: Promise.resolve(false) };
    await store.tracking.change(CHAIN, async (unit) => {
      await unit.orphanAbove(80n);
      agreeing.done = store.contract.agree(CHAIN, { block: 100n, hash: FIRST }, NOW);
      await eventually(
        async () =>
          (
            await store.db.raw<{ rows: unknown[] }>(
              `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
            )
          ).rows.length,
        (waiting) => waiting > 0,
      );
    });
    expect(await agreeing.done).toBe(false);
    expect(await due()).toEqual(NOTHING_DUE);
  });
});
