import type { KnexStore } from '../../../../core/adapters/postgres/create-store.js';
import type { ChainEvent } from '../../../../core/domain/chain-event.js';
import type { LinkedEvent } from '../../../../core/ports/stores/tracking.js';
import type { Settled } from '../../../../core/ports/stores/relay.js';
import type { Trigger } from '../../../../core/ports/stores/triggers.js';
import type { Address, Hex } from '../../../../core/types.js';
import { openReplicas, type Replicas } from '../../../harness/database/two-stores.js';
import { storeAction } from '../../../harness/hyperliquid/store-action.js';

/** The rows of take profits and stop losses: written by placing and with each block, taken back with it. */
const CHAIN = 'base';
const WALLET: Address = '0xaa';

let replicas: Replicas;
let store: KnexStore;
let traders = 0;
let clock = 0;
let trader: Address;
beforeAll(async () => {
  replicas = await openReplicas();
  [store] = replicas.stores;
});
afterAll(() => replicas.close());
beforeEach(() => {
  traders += 1;
  trader = `0xb${traders}`;
});

const place = (block: number, txHash: Hex = `0x${traders}a${block}`) => ({
  blockNumber: BigInt(block),
  // Logs of different traders are in different blocks.
  blockHash: `0x${traders}b${block}` as Hex,
  txHash,
  logIndex: 0,
  at: block * 1000,
});
const event = (block: number, what: object, txHash?: Hex): LinkedEvent => ({
  event: { trader, orderKey: null, tradeIndex: 1, place: place(block, txHash), ...what } as unknown as ChainEvent,
  orderId: null,
});
const figures = (sl = 0n) => ({
  ...{ pairIndex: 0, collateralIndex: 0, long: true, leverage: 1n, collateralAmount: 1n, openPrice: 100n, tp: 0n, sl, sizeToken: 1n },
  isCounterTrade: false,
});
const opening = (block: number) =>
  event(block, { kind: 'found', trade: figures(), isOpen: true, slippageP: 0n, openedBlock: BigInt(block) });
const edit = (block: number, value: bigint, txHash?: Hex) => event(block, { kind: 'edited', field: 'sl', value }, txHash);

const index = (block: number, ...events: readonly LinkedEvent[]) =>
  store.tracking.change(CHAIN, async (unit) => {
    await unit.append(events);
    await unit.refoldTriggers([trader]);
    unit.setCursor({ startBlock: 0n, number: BigInt(block), hash: '0x' });
  });
const revertTo = (block: number) =>
  store.tracking.change(CHAIN, async (unit) => {
    const { traders: affected } = await unit.orphanAbove(BigInt(block));
    await unit.refoldTriggers(affected);
    unit.setCursor({ startBlock: 0n, number: BigInt(block), hash: '0x' });
  });

interface Asked {
  readonly oid: bigint;
  readonly job: bigint;
  readonly hash: Hex;
}

/** A stop loss at 55 for trade 1, whose transaction is signed. */
async function ask(): Promise<Asked> {
  const createdAt = (clock += 1);
  const action = await storeAction(store, {
    ...{ chain: CHAIN, signer: trader, trader, envelope: '{}', actionHash: '0x', form: 'canonical', network: 'a' },
    ...{ nonce: BigInt(createdAt), receivedAt: createdAt },
  });
  const request = { trader, wallet: WALLET, purpose: 'action', parent: action.id, data: '0x', gas: 1n, notAfter: null } as const;
  const placed = await store.relay.placeAndQueue({
    legs: [{ draft: null, request: { ...request, context: { kind: 'order', item: 0, leg: 0 } } }],
    record: {
      ...{ chain: CHAIN, trader, agent: WALLET, action: action.id, item: 0, cloid: null, pairIndex: 0, manner: 'protection' },
      order: { isBuy: false, limit: 55n, size: 1n, reduceOnly: true, style: { kind: 'trigger', trigger: 55n, tpsl: 'sl' } },
      wire: { limitPx: '55', sz: '1', tif: null, triggerPx: '55', isMarket: true, tpsl: 'sl' },
      ...{ createdAt, isContinued: false, children: [], triggers: [{ tradeIndex: 1, kind: 'sl', price: 55n }] },
      legs: [{ role: 'protect', tradeIndex: 1, sizeBase: 1n }],
    },
  });
  if (placed.kind !== 'placed') throw new Error('not placed');
  const job = placed.jobs[0]?.id ?? 0n;
  const [numbered] = await store.relay.assignNonces(CHAIN, WALLET, [job], clock);
  const hash: Hex = `0xf${job}`;
  const fees = { maxFeePerGas: 1n, maxPriorityFeePerGas: 1n, signedAt: clock };
  await store.relay.addAttempt(CHAIN, [{ id: numbered?.id ?? 0n, attempt: { isNoOp: false, hash, raw: '0x', ...fees } }]);
  return { oid: placed.oid, job, hash };
}

const mine = ({ job, hash }: Asked, block: number, state: Settled['state'] = 'mined') =>
  store.relay.settle(CHAIN, [{ id: job, state, mined: { hash, blockNumber: BigInt(block), blockHash: '0x02', gasUsed: 1n, costWei: 1n } }]);
const phases = async (): Promise<[Trigger['owner'], Trigger['phase']][]> =>
  (await store.facade.triggers.live(CHAIN, trader)).map(({ owner, phase }) => [owner, phase]);
const phaseOf = async ({ oid }: Asked) => (await store.facade.triggers.ofOwners(CHAIN, trader, [oid]))[0]?.phase;

it('is under way until its transaction is indexed, which may be after it is mined', async () => {
  await index(1, opening(1));
  const asked = await ask();
  expect(await phases()).toEqual([[asked.oid, 'underWay']]);
  await mine(asked, 2);
  expect(await phases()).toEqual([[asked.oid, 'underWay']]);
  await index(2, edit(2, 55n, asked.hash));
  expect(await phases()).toEqual([[asked.oid, 'standing']]);
});

it('has failed where its transaction was refused, or was mined and set nothing', async () => {
  await index(1, opening(1));
  const [refused, mined] = [await ask(), await ask()];
  await store.relay.setState(CHAIN, refused.job, 'refused', clock, 'it was refused', 'policy');
  await mine(mined, 2);
  await index(2);
  expect(await phases()).toEqual([]);
  expect(await Promise.all([refused, mined].map(phaseOf))).toEqual(['failed', 'failed']);
});

it('replaces another one as soon as it is mined', async () => {
  await index(1, opening(1));
  const first = await ask();
  await mine(first, 2);
  await index(2, edit(2, 55n, first.hash));
  const second = await ask();
  expect(await phases()).toEqual([
    [first.oid, 'standing'],
    [second.oid, 'underWay'],
  ]);
  await mine(second, 3);
  expect(await phases()).toEqual([[second.oid, 'underWay']]);
});

it.each(['reverted', 'replaced'] as const)(
  'leaves another one where its transaction was %s, also before that block is indexed',
  async (state) => {
    await index(1, opening(1));
    const first = await ask();
    await mine(first, 2);
    await index(2, edit(2, 55n, first.hash));
    const second = await ask();
    await mine(second, 3, state);
    expect(await phases()).toEqual([[first.oid, 'standing']]);
    expect(await phaseOf(second)).toBe('failed');
  },
);

it('stands where its transaction was mined after all, whatever the relayer took for its outcome', async () => {
  await index(1, opening(1));
  const asked = await ask();
  await store.relay.setState(CHAIN, asked.job, 'refused', clock, 'its nonce was used', 'nonce-used-elsewhere');
  await index(2, edit(2, 55n, asked.hash));
  expect(await phases()).toEqual([[asked.oid, 'standing']]);
});

it('is taken back with its block, and so is its end', async () => {
  await index(1, opening(1));
  const asked = await ask();
  await index(2, edit(2, 55n, asked.hash));
  await index(3, edit(3, 0n));
  expect(await phaseOf(asked)).toBe('over');
  await revertTo(2);
  expect(await phaseOf(asked)).toBe('standing');
  await revertTo(1);
  expect(await phaseOf(asked)).toBe('underWay');
  await index(2, edit(2, 54n, '0xelse'));
  expect(await phaseOf(asked)).toBe('underWay');
  await index(3, edit(3, 55n, asked.hash));
  expect(await phaseOf(asked)).toBe('standing');
});

it('that another client set has a number of its own, which it keeps when it is set again', async () => {
  const owners = async () => (await store.facade.triggers.live(CHAIN, trader)).map(({ owner, price }) => [owner, price]);
  await index(1, opening(1));
  await index(2, edit(2, 55n));
  const [[first] = []] = await owners();
  await index(3, edit(3, 56n));
  expect((await owners())[0]?.[0]).not.toBe(first);
  await index(4, edit(4, 55n));
  expect(await owners()).toEqual([[first, 55n]]);
});

it('reads few events however many there were, and no more after a reorganisation', async () => {
  const MOVES = 130;
  await index(1, opening(1));
  const asked = await ask();
  await index(2, edit(2, 55n, asked.hash));
  for (let block = 3; block < MOVES; block += 1)
    await index(block, event(block, { kind: 'executed', action: 'increase', after: figures(BigInt(block)) }));
  const unfolded = async () => {
    const { rows } = await store.db.raw<{ rows: { count: string }[] }>(
      `select count(*) from chain_events where trader = :trader and not orphaned
         and block_number > (select max(block_number) from trigger_bases where trader = :trader)`,
      { trader },
    );
    return Number(rows[0]?.count);
  };
  expect(await unfolded()).toBeLessThan(100);
  expect(await store.facade.triggers.live(CHAIN, trader)).toMatchObject([{ owner: asked.oid, price: BigInt(MOVES - 1) }]);
  await revertTo(70);
  expect(await store.facade.triggers.live(CHAIN, trader)).toMatchObject([{ owner: asked.oid, price: 70n }]);
  expect(await unfolded()).toBeLessThan(100);
});

it('of a trader whose events an earlier release stored is folded with the first read', async () => {
  const asked = await ask();
  await store.tracking.change(CHAIN, async (unit) => {
    await unit.append([opening(1), edit(2, 55n, asked.hash)]);
  });
  expect(await Promise.all([phases(), phases()])).toEqual([[[asked.oid, 'standing']], [[asked.oid, 'standing']]]);
});
