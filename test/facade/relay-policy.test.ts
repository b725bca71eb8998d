import { Wallet } from 'ethers';
import type { Intent } from '../../core/domain/intent.js';
import type { Store } from '../../core/ports.js';
import type { RelayJob, RelayPurpose, SignedAction } from '../../core/relay/relay-store.js';
import { encodeIntent } from '../../core/orders/encode-intent.js';
import { namesTarget } from '../../facade/trade/names-target.js';
import { reencode } from '../../facade/trade/reencode.js';
import { eventually } from '../harness/eventually.js';
import { FACADE_CHAIN, newFacadeTrader, type FacadeTrader } from '../harness/facade-trader.js';
import { firstChain } from '../harness/first-chain.js';
import { order, postExchange, signL1 } from '../harness/hl-exchange.js';
import { startTestSandbox, type TestSandbox } from '../harness/sandbox.js';

const BTC = 0;

let sandbox: TestSandbox;
let store: Store;
let owner: FacadeTrader;
/** Orders that rest: their ids and their slots. */
const resting: { oid: number; slot: number }[] = [];

beforeAll(async () => {
  sandbox = await startTestSandbox();
  store = sandbox.gateway.store;
  owner = await newFacadeTrader(sandbox);
  for (const p of ['20000', '21000']) {
    const wire = order({ a: BTC, b: true, p, s: '0.1', r: false, t: { limit: { tif: 'Gtc' } } });
    await send({ type: 'order', orders: [wire], grouping: 'na' });
  }
  const trader = owner.address.toLowerCase() as `0x${string}`;
  const listed = await eventually(
    () => store.account.liveOrders(FACADE_CHAIN, trader),
    (live) => live.length === 2 && live.every(({ order: { status } }) => status === 'open'),
  );
  for (const { id } of listed) {
    const known = await store.orders.find(FACADE_CHAIN, trader, id);
    resting.push({ oid: Number(id), slot: Number(known?.orderKey?.split(':')[1]) });
  }
});
afterAll(() => sandbox.stop());

const send = async (action: Record<string, unknown>): Promise<unknown> =>
  (await postExchange(sandbox.url, FACADE_CHAIN, await signL1(new Wallet(owner.agentKey), action))).body;

/** Whether the relayer would believe that this signed action means this call. */
function isBelieved(action: object, intent: Intent, purpose: RelayPurpose = 'action', item = 0): Promise<boolean> {
  const signed: SignedAction = {
    id: 1n,
    chain: FACADE_CHAIN,
    signer: owner.address.toLowerCase() as `0x${string}`,
    trader: owner.address.toLowerCase() as `0x${string}`,
    envelope: JSON.stringify({ action }),
    actionHash: `0x${'00'.repeat(32)}`,
    form: 'canonical',
    network: 'a',
    nonce: 1n,
    receivedAt: 0,
  };
  const job = { purpose, orderId: null, context: { kind: 'cancel', item, intent } } as unknown as RelayJob;
  return namesTarget(store, firstChain(sandbox).definition, signed, job);
}

describe('the relayer, asked to take an order back', () => {
  const named = (at: number) => ({ type: 'cancel', cancels: [{ a: BTC, o: resting[at]?.oid }] });
  const withdraw = (at: number): Intent => ({ kind: 'withdraw', tradeIndex: resting[at]?.slot ?? -1 });

  it('does so for the order that the signed action names, and for no other', async () => {
    expect(await isBelieved(named(0), withdraw(0))).toBe(true);
    expect(await isBelieved(named(0), withdraw(1))).toBe(false);
    expect(await isBelieved(named(1), withdraw(0))).toBe(false);
    expect(await isBelieved(named(0), withdraw(0), 'action', 1)).toBe(false);
  });

  it('does not take a protection away for the cancel of an entry', async () => {
    expect(await isBelieved(named(0), { kind: 'protect', tradeIndex: resting[0]?.slot ?? -1, tp: null, sl: 0n })).toBe(false);
  });

  it('does so for a schedule with entries of the trader only, and never with protections', async () => {
    const schedule = { type: 'scheduleCancel', time: 1 };
    expect(await isBelieved(schedule, withdraw(0), 'scheduled-cancel')).toBe(true);
    expect(await isBelieved(schedule, { kind: 'withdraw', tradeIndex: 9_999 }, 'scheduled-cancel')).toBe(false);
    expect(await isBelieved(schedule, { kind: 'protect', tradeIndex: resting[0]?.slot ?? -1, tp: 0n, sl: null }, 'scheduled-cancel')).toBe(
      false,
    );
  });

  it('reclaims nothing that is not the order of the job', async () => {
    expect(await isBelieved(named(0), { kind: 'reclaim', requestIndex: 0 }, 'reclaim')).toBe(false);
  });
});

describe('the relayer, asked to give levels their room', () => {
  it('does so for the trade that an order of the signed action opened, and for no other', async () => {
    const trader = owner.address.toLowerCase() as `0x${string}`;
    const t = { trigger: { isMarket: true, triggerPx: '10000', tpsl: 'sl' } };
    const parent = order({ a: BTC, b: true, p: '9000000', s: '0.01', r: false });
    await send({ type: 'order', orders: [parent, order({ a: BTC, b: false, p: '9000', s: '0.01', r: true, t })], grouping: 'normalTpsl' });
    const [opened] = await eventually(
      () => store.account.openPositions(FACADE_CHAIN, trader),
      ({ length }) => length === 1,
    );
    const [seen] = await store.facade.history.orders(FACADE_CHAIN, trader, 1);
    const record = await store.exchange.find(FACADE_CHAIN, trader, seen?.id ?? 0n);
    const signed = await store.relay.action(FACADE_CHAIN, record?.action ?? 0n);
    if (!opened || !record || !signed) throw new Error('nothing was opened');
    const asks = (changes: object, purpose: RelayPurpose = 'action', by: SignedAction = signed) => {
      const context = { kind: 'room', item: 0, oid: record.oid, tradeIndex: opened.tradeIndex, ...changes };
      const job = { purpose, orderId: null, context } as unknown as RelayJob;
      return namesTarget(store, firstChain(sandbox).definition, by, job);
    };
    expect(await asks({})).toBe(true);
    expect(await asks({ tradeIndex: opened.tradeIndex + 1 })).toBe(false);
    expect(await asks({ item: 1 })).toBe(false);
    expect(await asks({ oid: BigInt(resting[0]?.oid ?? 0) })).toBe(false);
    expect(await asks({}, 'reclaim')).toBe(false);
    expect(await asks({}, 'action', { ...signed, id: signed.id + 1n })).toBe(false);
    const job = { purpose: 'action' as const, context: { kind: 'room', item: 0, oid: record.oid, tradeIndex: opened.tradeIndex } };
    const call = (slippageP: bigint) =>
      encodeIntent({ kind: 'protect', tradeIndex: opened.tradeIndex, tp: null, sl: null, slippageP }, trader);
    expect(reencode(signed, job, () => 1n)).toEqual([call(10_000n)]);
  });
});

describe('a schedule', () => {
  it('that was taken by a process which died is taken again, and once it is done never more', async () => {
    const trader = owner.address.toLowerCase() as `0x${string}`;
    const action = await store.relay.recordAction({
      chain: FACADE_CHAIN,
      signer: trader,
      trader,
      envelope: '{}',
      actionHash: `0x${'00'.repeat(32)}`,
      form: 'canonical',
      network: 'a',
      nonce: 1n,
      receivedAt: 0,
    });
    // Another chain's: the running gateway must not take it first.
    const cancel = { chain: 'base', trader, agent: trader, action: action.id } as const;
    await store.exchange.schedule({ ...cancel, dueAt: 1_000 });
    expect(await store.exchange.takeDue('base', 999, 5_000)).toEqual([]);
    expect(await store.exchange.takeDue('base', 1_500, 5_000)).toEqual([{ ...cancel, dueAt: 1_000 }]);
    expect(await store.exchange.takeDue('base', 2_000, 6_000)).toEqual([]);
    expect(await store.exchange.takeDue('base', 5_000, 9_000)).toEqual([{ ...cancel, dueAt: 1_000 }]);
    await store.exchange.fired(cancel);
    expect(await store.exchange.takeDue('base', 99_000, 100_000)).toEqual([]);
  });
});
