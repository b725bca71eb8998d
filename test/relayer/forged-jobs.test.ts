import { Wallet } from 'ethers';
import { loadCrypto } from '../../core/adapters/crypto/load-crypto.js';
import type { KnexStore } from '../../core/adapters/postgres/create-store.js';
import { systemClock } from '../../core/adapters/system/clock.js';
import type { Intent } from '../../core/domain/intent.js';
import { alertForgedJob } from '../../core/observability/alerts/raise.js';
import { encodeIntent, wrapFor } from '../../core/trading/encode-intent.js';
import type { SigningPolicy } from '../../core/ports/relayer.js';
import { isOver, type RelayJob, type RelayRequest, type RelayState } from '../../core/ports/stores/relay.js';
import type { Address, Hex } from '../../core/types.js';
import { deriveCalls } from '../../facade/trade/derive-calls.js';
import type { OrderJobContext } from '../../facade/trade/send/send-item.js';
import type { TradeAction } from '../../facade/actions/trade.js';
import { createSigningPolicy } from '../../facade/trade/signing-policy.js';
import type { RunningRelayer } from '../../relayer/create-relayer.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { order, orderAction, signL1 } from '../harness/hyperliquid/exchange.js';
import { storeAction } from '../harness/hyperliquid/store-action.js';
import { relayBench, type RelayBench } from '../harness/relayer/relayer-bench.js';
import { eventually } from '../harness/time/eventually.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';

const SLUG = 'arbitrum-sepolia';
const BTC = 0;
const THIEF: Address = `0x${'ee'.repeat(20)}`;
const FORMER: Address = `0x${'fa'.repeat(20)}`;

let sandbox: TestVenue;
let chain: ChainControls;
let bench: RelayBench;
let trader: Address;
let policyOf: (referrer: Address | null, knowsPrices?: boolean) => Required<SigningPolicy>;
let usdc: number;
let price = 20_000;
let running: RunningRelayer | null = null;
/** What was announced of jobs, by id. */
const forged = new Map<bigint, string>();

beforeAll(async () => {
  sandbox = await startOwnVenue();
  const [first] = sandbox.controls.chains;
  if (!first) throw new Error('the sandbox has no chain');
  chain = first;
  bench = await relayBench(chain, sandbox.gateway);
  trader = bench.trader.account.address.toLowerCase() as Address;
  usdc = chain.collaterals.find(({ symbol }) => symbol === 'USDC')?.index ?? 1;
  const { feed } = sandbox.gateway.venues.get(SLUG) ?? {};
  if (feed === undefined) throw new Error('the sandbox has no venue');
  const crypto = await loadCrypto(bench.log);
  const { store } = sandbox.gateway;
  policyOf = (referrer, knowsPrices = true) => {
    const opening = { feed: knowsPrices ? feed : { config: () => feed.config(), lastPrice: () => null }, referrer };
    return createSigningPolicy({ store, chain: chain.definition, crypto, flattens: false, opening, clock: systemClock });
  };
});
afterAll(() => sandbox.stop());

const db = () => (sandbox.gateway.store as KnexStore).db;

function start(stuckMs = 0, referrer: Address | null = null): void {
  running = bench.start({
    ...policyOf(referrer),
    waits: { stuckMs },
    onForged(job, { note }) {
      forged.set(job.id, note);
      return alertForgedJob(sandbox.gateway.alerts, chain.definition, job, { note, at: systemClock.now() });
    },
  });
}

async function stop(): Promise<void> {
  await running?.stop();
  running = null;
}

interface Signed {
  readonly request: RelayRequest;
  readonly action: TradeAction;
}

const SIZE = '0.1';

/** A resting order that its trader signed, as the facade would queue it. */
async function newRequest(changes: Partial<OrderJobContext['context']> = {}, isBuy = true): Promise<Signed> {
  price += 10;
  const action = orderAction(order({ a: BTC, b: isBuy, p: String(price), s: SIZE, r: false, t: { limit: { tif: 'Gtc' } } }));
  const body = await signL1(new Wallet(bench.trader.privateKey), action);
  const { id } = await storeAction(sandbox.gateway.store, {
    ...{ chain: SLUG, signer: trader, trader, envelope: JSON.stringify(body), actionHash: `0x${'00'.repeat(32)}` },
    ...{ form: 'canonical', network: 'a', nonce: BigInt(body.nonce), receivedAt: systemClock.now() },
  });
  const context = contextOf(changes);
  const [inner] = deriveCalls({ action: action as TradeAction, trader }, { context, purpose: 'action' }, () => 1n);
  if (inner === undefined) throw new Error('the order means nothing');
  const request = { chain: SLUG, wallet: bench.wallet, trader, purpose: 'action', parent: id, orderId: null } as const;
  return {
    request: { ...request, data: wrapFor(bench.wallet, trader, inner), gas: 3_000_000n, context, notAfter: null },
    action: action as TradeAction,
  };
}

function contextOf(changes: Partial<OrderJobContext['context']> = {}): OrderJobContext {
  const units = { precision: 10n ** 6n, precisionDelta: 10n ** 12n, priceUsd: 10n ** 8n };
  const prices = { oracle: 6n * 10n ** 14n, mark: 6n * 10n ** 14n, predicted: 6n * 10n ** 14n };
  const terms = { leverage: 10_000n, sizeStep: 10n ** 13n, cushionP: 50n, maxSlippageP: 65_000n, tp: 0n, sl: 0n };
  const context = { block: 1n, pairIndex: BTC, collateralIndex: usdc, collateral: units, trades: [], ...prices, ...terms, ...changes };
  return { kind: 'order', item: 0, leg: 0, isLeftToRest: false, context };
}

const wrapped = (intent: Intent): Hex => wrapFor(bench.wallet, trader, encodeIntent(intent, trader));

const short = (): Intent => ({
  ...{
    kind: 'open',
    type: 'limit',
    pairIndex: BTC,
    collateralIndex: usdc,
    long: false,
    leverage: 100_000n,
    collateralAmount: 500_000_000n,
  },
  ...{ price: 10n ** 15n, tp: 0n, sl: 0n, slippageP: 1_000n, referrer: THIEF },
});

/** The same order, as it would be with other facts in its context: what is stored fits together, and is not what was signed. */
function withContext({ action }: Signed, changes: Partial<OrderJobContext['context']>) {
  const context = contextOf(changes);
  const [inner = '0x'] = deriveCalls({ action, trader }, { context, purpose: 'action' }, () => 1n);
  return job({ data: wrapFor(bench.wallet, trader, inner), context: encoded(context) });
}

/** Bigints as the database keeps them. */
const encoded = (value: unknown): string =>
  JSON.stringify(value, (_key, each: unknown) => (typeof each === 'bigint' ? { $n: each.toString() } : each));

interface Target {
  readonly id: bigint;
  readonly parent: bigint | null;
}

const job =
  (changes: Record<string, unknown>) =>
  async ({ id }: Target): Promise<void> =>
    void (await db()('relay_jobs').where({ id }).update(changes));
const action =
  (changes: Record<string, unknown>) =>
  async ({ parent }: Target): Promise<void> =>
    void (await db()('relay_actions').where({ id: parent }).update(changes));

const TAMPERED: readonly (readonly [string, (signed: Signed) => (target: Target) => Promise<void>])[] = [
  ['data: a short of 100x with a foreign referrer', () => job({ data: wrapped(short()) })],
  ['data: a cancel', () => job({ data: wrapped({ kind: 'withdraw', tradeIndex: 0 }) })],
  ['data: a stop taken off', () => job({ data: wrapped({ kind: 'protect', tradeIndex: 0, tp: null, sl: 0n }) })],
  ['data: no delegated call', () => job({ data: '0x604755cf' })],
  ['data: another encoding of the same call', ({ request }) => job({ data: reencoded(request.data) })],
  ['trader', () => job({ trader: THIEF })],
  ['purpose: a reclaim, which needs no approval', () => job({ purpose: 'reclaim' })],
  ['purpose: a schedule', () => job({ purpose: 'scheduled-cancel' })],
  ['gas', () => job({ gas: '50000000' })],
  [
    'context and data: a foreign referrer, and collateral worth a tenth',
    (signed) =>
      withContext(signed, { referrer: THIEF, collateral: { precision: 10n ** 6n, precisionDelta: 10n ** 12n, priceUsd: 10n ** 7n } }),
  ],
  [
    'context: a foreign referrer, and data: a short of 100x',
    () => job({ context: encoded(contextOf({ referrer: THIEF })), data: wrapped(short()) }),
  ],
  [
    'context and data: collateral worth a tenth',
    (signed) => withContext(signed, { collateral: { precision: 10n ** 6n, precisionDelta: 10n ** 12n, priceUsd: 10n ** 7n } }),
  ],
  ['context: nothing that can be read, and data', () => job({ context: JSON.stringify({ kind: 'order' }), data: wrapped(short()) })],
  ['parent: an action of another trader', () => foreignParent],
  ["action's envelope", ({ request }) => biggerAction(request)],
  ["action's signer", () => action({ signer: THIEF })],
  [
    "action's trader, and the job's",
    () => async (target) => {
      await action({ trader: THIEF })(target);
      await job({ trader: THIEF })(target);
    },
  ],
  ["action's nonce", () => action({ nonce: '5' })],
  ["action's network", () => action({ network: 'b' })],
  ["action's form", () => action({ form: 'as-sent' })],
];

/** The bytes of the inner call stand one word later: a contract that follows offsets reads the same, and others may not. */
function reencoded(data: Hex): Hex {
  const [head, offset, rest] = [data.slice(0, 74), data.slice(74, 138), data.slice(138)];
  return `${head}${(BigInt(`0x${offset}`) + 32n).toString(16).padStart(64, '0')}${'0'.repeat(64)}${rest}` as Hex;
}

/** An action that the thief signed with a key of its own in the name of the trader. */
async function foreignParent({ id }: Target): Promise<void> {
  const own = Wallet.createRandom();
  const body = await signL1(own, orderAction(order({ a: BTC, b: true, p: '19000', s: '1', r: false, t: { limit: { tif: 'Gtc' } } })));
  const stored = await storeAction(sandbox.gateway.store, {
    ...{ chain: SLUG, signer: own.address.toLowerCase() as Address, trader, envelope: JSON.stringify(body), actionHash: '0x00' },
    ...{ form: 'canonical', network: 'a', nonce: BigInt(body.nonce), receivedAt: 0 },
  });
  const [inner = '0x'] = deriveCalls({ action: body.action as TradeAction, trader }, { context: contextOf(), purpose: 'action' }, () => 1n);
  await job({ parent: stored.id, data: wrapFor(bench.wallet, trader, inner), purpose: 'reclaim' })({ id, parent: null });
}

function biggerAction({ parent }: RelayRequest) {
  return async (target: Target): Promise<void> => {
    const stored = await bench.store.action(SLUG, parent ?? 0n);
    const envelope = (stored?.envelope ?? '').replace(`"${SIZE}"`, '"9.1"');
    const { action: bigger } = JSON.parse(envelope) as { action: TradeAction };
    const [inner = '0x'] = deriveCalls({ action: bigger, trader }, { context: contextOf(), purpose: 'action' }, () => 1n);
    await action({ envelope })(target);
    await job({ data: wrapFor(bench.wallet, trader, inner) })(target);
  };
}

/** Brings jobs to a state by what the relayer does, and stops the relayer there. Nothing is mined meanwhile. */
async function bring(requests: readonly RelayRequest[], state: RelayState, referrer: Address | null = null): Promise<readonly RelayJob[]> {
  const queued: RelayJob[] = [];
  for (const request of requests) queued.push(await bench.store.queue(request, systemClock.now()));
  const ids = queued.map(({ id }) => id);
  if (state === 'queued') return queued;
  if (state === 'assigned') return bench.store.assignNonces(SLUG, bench.wallet, ids, await bench.nonce());
  start(60_000, referrer);
  const accepted = await eventually(
    () => bench.store.jobs(SLUG, ids),
    (jobs) => jobs.every((each) => each.state === 'accepted'),
  );
  await stop();
  if (state !== 'accepted') for (const id of ids) await job({ state, accepted_at: null })({ id, parent: null });
  return accepted;
}

const openPrices = async (): Promise<bigint[]> => (await bench.trader.trades()).map(({ openPrice }) => openPrice);
const forgedAlert = async () =>
  (await sandbox.gateway.store.alerts.open()).find(({ kind, subject }) => kind === 'forged-job' && subject === bench.wallet);

/** The relayer has decided what becomes of a job: it refused it, or signed something under its nonce. */
const isJudged = (now: RelayJob | null | undefined, before: RelayJob): boolean =>
  now != null && (now.state === 'refused' || now.attempts.length > before.attempts.length);

const STATES: readonly RelayState[] = ['queued', 'assigned', 'signed', 'unknown', 'accepted'];

describe.each(STATES)('a writer of the database without a key, with a job that is %s', (state) => {
  let pricesBefore: readonly bigint[];
  /** As they were before each was tampered with, by what was done to it. */
  const jobs = new Map<string, RelayJob>();
  const jobOf = (name: string): RelayJob => {
    const found = jobs.get(name);
    if (!found) throw new Error(`nothing was done: ${name}`);
    return found;
  };

  beforeAll(async () => {
    await chain.pauseMining(true);
    pricesBefore = await openPrices();
    const signed: Signed[] = [];
    for (const _row of TAMPERED) signed.push(await newRequest());
    const brought = await bring(
      signed.map(({ request }) => request),
      state,
    );
    for (const [at, [name, tamper]] of TAMPERED.entries()) {
      const own = signed[at];
      const before = brought.find(({ parent }) => parent === own?.request.parent);
      if (!own || !before) throw new Error(`there is no job for: ${name}`);
      jobs.set(name, before);
      await tamper(own)(before);
    }
    start();
  });
  afterAll(async () => {
    await stop();
    await chain.pauseMining(false);
  });

  it.each(TAMPERED)('has nothing signed: %s', async (...[name]) => {
    const before = jobOf(name);
    const shown = await eventually(
      () => bench.store.job(SLUG, before.id),
      (now) => isJudged(now, before),
    );
    // What was signed before is all that ever was, besides the no-op.
    expect(shown?.attempts.filter(({ isNoOp }) => !isNoOp).map(({ hash }) => hash)).toEqual(before.attempts.map(({ hash }) => hash));
    expect(shown?.note).toBe(forged.get(before.id) ?? 'it was announced');
  });

  it('opens an alert, and nothing of it is mined but what uses up nonces', async () => {
    const all = [...jobs.values()];
    const ids = all.map(({ id }) => id);
    const read = () => bench.store.jobs(SLUG, ids);
    await eventually(read, (now) => all.every((before) => isJudged(find(now, before), before)));
    const details = (await forgedAlert())?.details;
    expect(all.map(({ id }) => ({ job: id.toString(), note: forged.get(id) }))).toContainEqual({
      job: details?.['job'],
      note: details?.['note'],
    });
    await sandbox.gateway.alerts.recoverAlert({ kind: 'forged-job', chain: SLUG, subject: bench.wallet }, 'seen');
    await chain.pauseMining(false);
    const last = await eventually(read, (now) => now.every((each) => isOver(each.state)));
    const ends = [...jobs].map(([name, before]) => [name, find(last, before)?.state, find(last, before)?.note]);
    const expected = state === 'queued' ? 'refused' : 'replaced';
    expect(ends).toEqual([...jobs].map(([name, { id }]) => [name, expected, forged.get(id)]));
    expect(await openPrices()).toEqual(pricesBefore);
  });
});

const find = (jobs: readonly RelayJob[], { id }: RelayJob): RelayJob | undefined => jobs.find((each) => each.id === id);

const over = (id: bigint): Promise<RelayJob | null> =>
  eventually(
    () => bench.store.job(SLUG, id),
    (now) => now !== null && isOver(now.state),
  );

describe.each(STATES)('a job that is %s and names another referrer than the settings', (state) => {
  afterEach(async () => {
    await stop();
    await chain.pauseMining(false);
  });

  it.each<[string, (signed: Signed) => (target: Target) => Promise<void>]>([
    ['was accepted before the settings were changed', () => () => Promise.resolve()],
    ['was changed by a writer of the database', (signed) => withContext(signed, { referrer: THIEF })],
  ])('opens no alert; only what the key signed before is sent: it %s', async (_name, change) => {
    await chain.pauseMining(true);
    const before = await openPrices();
    const signed = await newRequest({ referrer: FORMER });
    const [brought] = await bring([signed.request], state, FORMER);
    if (brought === undefined) throw new Error('the job was not brought to its state');
    const { id, parent, attempts } = brought;
    await change(signed)({ id, parent });
    const isKept = attempts.length > 0 && (await bench.store.job(SLUG, id))?.data === signed.request.data;
    start();
    await eventually(
      () => bench.store.job(SLUG, id),
      (now) => now?.state === 'refused' || (now?.attempts.length ?? 0) > attempts.length,
    );
    await chain.pauseMining(false);
    const last = await over(id);
    expect(await forgedAlert()).toBeUndefined();
    expect(last?.state).toBe(isKept ? 'mined' : state === 'queued' ? 'refused' : 'replaced');
    expect(last?.note ?? null).toBe(isKept ? null : 'it names another referrer than the settings do now');
    expect((await openPrices()).length).toBe(before.length + (isKept ? 1 : 0));
  });
});

it('a sell far above its limit is what was signed only where a price shows it, and another call never is', async () => {
  const { request } = await newRequest({}, false);
  const stored = await bench.store.queue(request, 0);
  const action = await bench.store.action(SLUG, request.parent ?? 0n);
  if (action === null) throw new Error('the action is not stored');
  const meant = (knowsPrices: boolean, data = stored.data) => policyOf(null, knowsPrices).reencode(action, { ...stored, data });
  expect(await meant(true)).toHaveLength(1);
  expect(await meant(false)).toBe('no-price');
  expect(await meant(false, wrapped(short()))).toEqual([]);
});
