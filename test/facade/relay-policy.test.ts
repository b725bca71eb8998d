import { Wallet } from 'ethers';
import type { KnexStore } from '../../core/adapters/postgres/create-store.js';
import type { Intent } from '../../core/domain/intent.js';
import type { Store } from '../../core/ports/store.js';
import type { RelayJob, RelayPurpose, SignedAction } from '../../core/ports/stores/relay.js';
import { encodeIntent } from '../../core/trading/encode-intent.js';
import type { TradeAction } from '../../facade/actions/trade.js';
import { deriveCalls } from '../../facade/trade/derive-calls.js';
import { namesTarget } from '../../facade/trade/names-target.js';
import { createBodyReader } from '../../facade/trade/signing-policy.js';
import { eventually } from '../harness/time/eventually.js';
import { FACADE_CHAIN, newFacadeTrader, type FacadeTrader } from '../harness/traders/facade-trader.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { order, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';
import { storeAction } from '../harness/hyperliquid/store-action.js';

const BTC = 0;

let sandbox: TestVenue;
let store: Store;
let owner: FacadeTrader;
/** Orders that rest: their ids and their slots. One position is open besides. */
const resting: { oid: number; slot: number }[] = [];

beforeAll(async () => {
  sandbox = await sharedVenue();
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
  const t = { trigger: { isMarket: true, triggerPx: '10000', tpsl: 'sl' } };
  const parent = order({ a: BTC, b: true, p: '9000000', s: '0.01', r: false });
  await send({ type: 'order', orders: [parent, order({ a: BTC, b: false, p: '9000', s: '0.01', r: true, t })], grouping: 'normalTpsl' });
  await eventually(
    () => store.account.openPositions(FACADE_CHAIN, trader),
    ({ length }) => length === 1,
  );
});
afterAll(() => sandbox.stop());

const send = async (action: Record<string, unknown>): Promise<unknown> =>
  (await postExchange(sandbox.url, FACADE_CHAIN, await signL1(new Wallet(owner.agentKey), action))).body;

/** Whether the relayer would believe that this signed action means this call. */
async function isBelieved(action: object, intent: Intent, purpose: RelayPurpose = 'action', item = 0): Promise<boolean> {
  const signed = { id: 1n, trader: owner.address.toLowerCase() as `0x${string}`, action: action as TradeAction };
  const job = { purpose, orderId: null, context: { kind: 'cancel', item, intent } } as unknown as RelayJob;
  return (await namesTarget(store, firstChain(sandbox).definition, signed, job)) === 'named';
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

describe('the relayer, asked to set the closing slippage of TP/SL triggers', () => {
  it('does so for the trade that an order of the signed action opened, and for no other', async () => {
    const trader = owner.address.toLowerCase() as `0x${string}`;
    const [opened] = await store.account.openPositions(FACADE_CHAIN, trader);
    const [seen] = await store.facade.history.orders(FACADE_CHAIN, trader, 1);
    const record = await store.exchange.find(FACADE_CHAIN, trader, seen?.id ?? 0n);
    const signed = await store.relay.action(FACADE_CHAIN, record?.action ?? 0n);
    if (!opened || !record || !signed) throw new Error('nothing was opened');
    const action = createBodyReader()(signed)?.decoded.action as TradeAction;
    const asks = async (changes: object, purpose: RelayPurpose = 'action', by: SignedAction = signed) => {
      const context = { kind: 'closing-slippage', item: 0, oid: record.oid, tradeIndex: opened.tradeIndex, ...changes };
      const job = { purpose, orderId: null, context } as unknown as RelayJob;
      return (await namesTarget(store, firstChain(sandbox).definition, { ...by, action }, job)) === 'named';
    };
    expect(await asks({})).toBe(true);
    expect(await asks({ tradeIndex: opened.tradeIndex + 1 })).toBe(false);
    expect(await asks({ item: 1 })).toBe(false);
    expect(await asks({ oid: BigInt(resting[0]?.oid ?? 0) })).toBe(false);
    expect(await asks({}, 'reclaim')).toBe(false);
    expect(await asks({}, 'action', { ...signed, id: signed.id + 1n })).toBe(false);
    const job = {
      purpose: 'action' as const,
      context: { kind: 'closing-slippage', item: 0, oid: record.oid, tradeIndex: opened.tradeIndex },
    };
    const call = (slippageP: bigint) =>
      encodeIntent({ kind: 'protect', tradeIndex: opened.tradeIndex, tp: null, sl: null, slippageP }, trader);
    expect(deriveCalls({ ...signed, action }, job, () => 1n)).toEqual([call(10_000n)]);
  });
});

describe('the relayer, asked about a position', () => {
  const trader = () => owner.address.toLowerCase() as `0x${string}`;
  const naming = (action: object, context: object, purpose: RelayPurpose = 'action', createdAt = 0) => {
    const signed = { id: 1n, trader: trader(), action: action as TradeAction };
    return namesTarget(store, firstChain(sandbox).definition, signed, { purpose, orderId: null, createdAt, context });
  };
  const isNamed = async (action: object, context: object): Promise<boolean> => (await naming(action, context)) === 'named';
  const held = async () => {
    const [only] = await store.account.openPositions(FACADE_CHAIN, trader());
    if (!only) throw new Error('nothing is open');
    return only;
  };

  it('moves margin only while the position is what the margin was reckoned with', async () => {
    const { tradeIndex, position } = await held();
    const { collateralAmount, leverage } = position;
    const asks = (changes: object) =>
      isNamed(
        { type: 'updateIsolatedMargin', asset: BTC, isBuy: true, ntli: 1_000_000 },
        { kind: 'margin', context: { tradeIndex, collateralAmount, leverage, ...changes } },
      );
    expect(await asks({})).toBe(true);
    expect(await asks({ collateralAmount: collateralAmount + 1n })).toBe(false);
    expect(await asks({ leverage: leverage + 1n })).toBe(false);
  });

  it('closes it for a schedule that is due, unless it was opened later', async () => {
    const { tradeIndex, position } = await held();
    const asks = (time: number, createdAt: number) =>
      naming({ type: 'scheduleCancel', time }, { kind: 'flatten', tradeIndex }, 'scheduled-cancel', createdAt);
    const due = position.openedAt + 10_000;
    expect(await asks(due, due)).toBe('named');
    expect(await asks(due, due - 1)).toBe('other');
    expect(await asks(1, due)).toBe('other');
  });

  it('closes it for an order of its own market, and only against its side', async () => {
    const { tradeIndex, position } = await held();
    const asks = (pairIndex: number, long: boolean) =>
      isNamed({ type: 'order', orders: [], grouping: 'na' }, { kind: 'order', context: { pairIndex, trades: [{ tradeIndex, long }] } });
    expect(await asks(BTC, position.long)).toBe(true);
    expect(await asks(BTC, !position.long)).toBe(false);
    expect(await asks(BTC + 1, position.long)).toBe(false);
  });

  it('takes away one level for the cancel of one', async () => {
    const { tradeIndex } = await held();
    const [set] = await store.facade.triggers.at(FACADE_CHAIN, trader(), [`trade:${tradeIndex}`]);
    const cancelOf = (owner: bigint | undefined) => ({ type: 'cancel', cancels: [{ a: BTC, o: Number(owner) }] });
    expect(await isBelieved(cancelOf(set?.owner), { kind: 'protect', tradeIndex, tp: null, sl: 0n })).toBe(true);
    expect(await isBelieved(cancelOf(set?.owner), { kind: 'protect', tradeIndex, tp: 0n, sl: 0n })).toBe(false);
    // The trade has no such take profit.
    expect(await isBelieved(cancelOf(1n), { kind: 'protect', tradeIndex, tp: 0n, sl: null })).toBe(false);
  });
});

describe('levels of an opening', () => {
  const level = (changes: object) => order({ a: BTC, b: false, p: '10000', s: '0.01', r: true, t: STOP, ...changes });
  const STOP = { trigger: { isMarket: true, triggerPx: '10000', tpsl: 'sl' } };
  const parent = () => order({ a: BTC, b: true, p: '60000', s: '0.01', r: false, t: { limit: { tif: 'Gtc' } } });
  /** How many calls an action with this level may mean, where the opening is to have it. */
  function meanings(child: object, grouping: string, item = 0): number {
    const signed = { trader: owner.address, action: { type: 'order', orders: [parent(), child], grouping } as TradeAction };
    const units = { precision: 10n ** 6n, precisionDelta: 10n ** 12n, priceUsd: 10n ** 8n };
    const prices = { oracle: 7n * 10n ** 14n, mark: 7n * 10n ** 14n, predicted: 7n * 10n ** 14n };
    const terms = { leverage: 10_000n, sizeStep: 10n ** 13n, cushionP: 50n, maxSlippageP: 65_000n, tp: 0n, sl: 10n ** 14n };
    const context = { block: 1n, pairIndex: BTC, collateralIndex: 1, collateral: units, trades: [], ...prices, ...terms };
    const job = { purpose: 'action', context: { kind: 'order', item, leg: 0, context, isLeftToRest: false } } as const;
    return deriveCalls(signed, job, () => 1n).length;
  }

  it('are those that were signed behind it, of its market and against its side', () => {
    expect(meanings(level({}), 'normalTpsl')).toBe(1);
    expect(meanings(level({}), 'na')).toBe(0);
    expect(meanings(level({ a: BTC + 1 }), 'normalTpsl')).toBe(0);
    expect(meanings(level({ b: true }), 'normalTpsl')).toBe(0);
    expect(meanings(level({}), 'normalTpsl', 1)).toBe(0);
  });

  it('are refused by their own sentence where they are of another market, or of the same side', async () => {
    const action = { type: 'order', orders: [parent(), level({}), level({ a: BTC + 1 }), level({ b: true })], grouping: 'normalTpsl' };
    const { response } = (await send(action)) as { response: { data: { statuses: unknown[] } } };
    expect(response.data.statuses.slice(2)).toEqual([
      { error: expect.stringContaining('Order has invalid asset.') },
      { error: expect.stringContaining('Reduce only order would increase position.') },
    ]);
  });
});

describe('a schedule', () => {
  it('that was taken by a process which died is taken again, and once it is done never more', async () => {
    const trader = owner.address.toLowerCase() as `0x${string}`;
    const action = await storeAction(store, {
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
    const self = { mode: 'relayed', name: '', permissions: 'trade', created_at: 0 };
    await (store as KnexStore).db('agents').insert({ chain: 'base', agent: trader, trader, ...self });
    expect(await store.exchange.schedule({ ...cancel, dueAt: 1_000 })).toBe(true);
    expect(await store.exchange.takeDue('base', 999, 5_000)).toEqual([]);
    expect(await store.exchange.takeDue('base', 1_500, 5_000)).toEqual([{ ...cancel, dueAt: 1_000 }]);
    expect(await store.exchange.takeDue('base', 2_000, 6_000)).toEqual([]);
    expect(await store.exchange.takeDue('base', 5_000, 9_000)).toEqual([{ ...cancel, dueAt: 1_000 }]);
    await store.exchange.fired(cancel);
    expect(await store.exchange.takeDue('base', 99_000, 100_000)).toEqual([]);
  });
});

describe('who can write to the database and has no key', () => {
  const resend = async (changes: Partial<SignedAction>): Promise<RelayJob | undefined> => {
    const [job] = await store.relay.jobsOfOrder(FACADE_CHAIN, BigInt(resting[0]?.oid ?? 0));
    const action = await store.relay.action(FACADE_CHAIN, job?.parent ?? 0n);
    if (!job || !action) throw new Error('nothing was sent');
    const { id: parent } = await storeAction(store, { ...action, ...changes });
    const { trader, purpose, data, gas, context } = job;
    const request = { trader, purpose, parent, data, gas, context, orderId: null, notAfter: null };
    return (await sandbox.gateway.venues.get(FACADE_CHAIN)?.relayer?.send(request))?.handedOver;
  };

  it('has nothing signed for an action that the agent did not sign, nor for an agent that the trader did not approve', async () => {
    const forged = { state: 'refused', nonce: null, note: 'its signature is not that of its signer' };
    expect(await resend({ signer: owner.address.toLowerCase() as `0x${string}` })).toMatchObject(forged);
    expect(await resend({ network: 'b' })).toMatchObject(forged);
    const books = (store as KnexStore).db('agent_approvals').where({ agent: new Wallet(owner.agentKey).address.toLowerCase() });
    const [kept] = await books.clone().select<{ envelope: string }[]>('envelope');
    await books.clone().update({ envelope: (kept?.envelope ?? '').replace('"agentName":""', '"agentName":"x"') });
    expect(await resend({})).toMatchObject({ state: 'refused', note: 'the approval of its agent is not signed by its trader' });
  });
});
