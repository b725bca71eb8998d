import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { Wallet } from 'ethers';
import fc from 'fast-check';
import { decodeFunctionData, encodeFunctionData, keccak256, parseEventLogs } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { diamondAbi } from '../../core/adapters/evm/diamond-abi.js';
import { venueOf } from '../../core/gateway.js';
import { encodeIntent, wrapFor } from '../../core/trading/encode-intent.js';
import type { Intent } from '../../core/domain/intent.js';
import type { Hex } from '../../core/types.js';
import type { RelayJob } from '../../core/ports/stores/relay.js';
import { createUniverses } from '../../facade/universe.js';
import { eventually } from '../harness/time/eventually.js';
import { newFacadeTrader, FACADE_CHAIN, type FacadeTrader } from '../harness/traders/facade-trader.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { order, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import { domainOf, keyIssue, signWith } from '../harness/traders/master-wallet.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';
import { makeTemporaryFolder } from '../harness/database/temporary-folder.js';

let sandbox: TestVenue;
let who: FacadeTrader;
let folder: string;

beforeAll(async () => {
  sandbox = await startOwnVenue({ FACADE_SCHEDULE_CANCEL: 'flatten' });
  who = await newFacadeTrader(sandbox);
  folder = await makeTemporaryFolder('diamond-gateway-proof');
});
afterAll(() => sandbox.stop());

const [BTC, ETH] = [0, 1];
const [GTC, IOC] = [{ limit: { tif: 'Gtc' } }, { limit: { tif: 'Ioc' } }];
const HOLDS = { code: 0, said: 'The proof holds.' };

interface Answered {
  readonly resting?: { readonly oid: number };
  readonly filled?: { readonly oid: number };
}

async function relayed(wire: ReturnType<typeof order>): Promise<string> {
  const action = { type: 'order', orders: [wire], grouping: 'na' };
  const { body } = await postExchange(sandbox.url, FACADE_CHAIN, await signL1(new Wallet(who.agentKey), action));
  const [status] = (body as { response: { data: { statuses: Answered[] } } }).response.data.statuses;
  const oid = status?.resting?.oid ?? status?.filled?.oid;
  if (oid === undefined) throw new Error(`not placed: ${JSON.stringify(body)}`);
  const stored = await sandbox.gateway.store.orders.find(FACADE_CHAIN, who.address.toLowerCase() as `0x${string}`, BigInt(oid));
  return stored?.hashes.at(-1) ?? '';
}

async function proofOf(wire: ReturnType<typeof order>): Promise<Record<string, string>> {
  const hash = await relayed(wire);
  const headers = { 'X-Service-Api-Key': await apiKeyOf(who) };
  const { status, body } = await sandbox.get(`/v1/${FACADE_CHAIN}/account/${who.address}/proofs/${hash}`, headers);
  expect(status).toBe(200);
  return body as Record<string, string>;
}

/** Of the transaction that last made the contract say this about the trader. */
async function proofOfLast(
  whose: FacadeTrader,
  eventName: 'TradeMaxClosingSlippagePUpdated' | 'TradeSlUpdated',
): Promise<Record<string, string>> {
  const { client, account } = whose.trader;
  const { diamond: address } = firstChain(sandbox).definition;
  const logs = await eventually(
    async () => parseEventLogs({ abi: diamondAbi, eventName, logs: await client.getLogs({ address, fromBlock: 0n }) }),
    (found) => found.some(({ args }) => args.user === account.address),
  );
  const hash = logs.filter(({ args }) => args.user === account.address).at(-1)?.transactionHash ?? '';
  const headers = { 'X-Service-Api-Key': await apiKeyOf(whose) };
  const { status, body } = await sandbox.get(`/v1/${FACADE_CHAIN}/account/${whose.address}/proofs/${hash}`, headers);
  expect(status).toBe(200);
  return body as Record<string, string>;
}

/** Of all that was mined for a trader, by kind. */
async function minedProofs(whose: FacadeTrader, purpose: RelayJob['purpose'], count: number): Promise<Record<string, string>[]> {
  const { store } = sandbox.gateway;
  const mine = async (): Promise<RelayJob[]> =>
    (
      await store.relay.jobs(
        FACADE_CHAIN,
        Array.from({ length: 400 }, (_, at) => BigInt(at + 1)),
      )
    ).filter((job) => job.trader === whose.address.toLowerCase() && job.purpose === purpose && job.mined !== null);
  const jobs = await eventually(mine, ({ length }) => length === count);
  const headers = { 'X-Service-Api-Key': await apiKeyOf(whose) };
  const kindOf = ({ context }: RelayJob): string => (context as { kind: string }).kind;
  const sorted = jobs.sort((a, b) => kindOf(a).localeCompare(kindOf(b)) || Number(a.id - b.id));
  const proofs = await Promise.all(
    sorted.map(({ mined }) => sandbox.get(`/v1/${FACADE_CHAIN}/account/${whose.address}/proofs/${mined?.hash}`, headers)),
  );
  return proofs.map(({ body }) => body as Record<string, string>);
}

interface NettedTrade {
  readonly tradeIndex: number;
}

const tradesOf = ({ context = '{}' }: Record<string, string>): NettedTrade[] =>
  (JSON.parse(context) as { context: { trades: NettedTrade[] } }).context.trades;

const callIn = (data: Hex) => decodeFunctionData({ abi: diamondAbi, data });

function priceOfClose({ data }: Record<string, string>): bigint {
  const [, inner] = callIn(data as Hex).args as [Hex, Hex];
  const [calls] = callIn(inner).args as [Hex[]];
  return callIn(calls.at(-1) ?? '0x').args.at(-1) as bigint;
}

/** The same call on trade 77. */
function moved({ data = '' }: Record<string, string>): string {
  const selector = data.search(/85886333|36ce736b/) + 8;
  if (selector < 8) throw new Error('neither a cancel nor a close');
  return `${data.slice(0, selector)}${(77).toString(16).padStart(64, '0')}${data.slice(selector + 64)}`;
}

/** What a delegate of the trader would send. */
function dataFor(trader: FacadeTrader['address'], ...intents: Intent[]): Hex {
  const calls = intents.map((intent) => encodeIntent(intent, trader));
  const inner = calls[1] ? encodeFunctionData({ abi: diamondAbi, functionName: 'multicall', args: [calls] }) : (calls[0] ?? '0x');
  return wrapFor('0x00000000000000000000000000000000000000ff', trader, inner);
}

/** The same, signed by a wallet of its own. */
async function sentBy(proof: Record<string, string>): Promise<Record<string, string>> {
  const key = privateKeyToAccount(generatePrivateKey());
  const { to, data } = proof as { to: Hex; data: Hex };
  const { chainId } = firstChain(sandbox).definition;
  const rawTransaction = await key.signTransaction({ type: 'eip1559', chainId, nonce: 0, gas: 100_000n, maxFeePerGas: 1n, to, data });
  return { ...proof, rawTransaction, txHash: keccak256(rawTransaction), relayer: key.address, delegate: key.address };
}

/** One byte of hex, or one character, made another. */
function flipped(value: string, at: number): string {
  const place = 2 + (at % (value.length - 2));
  return `${value.slice(0, place)}${value[place] === '0' ? '1' : '0'}${value.slice(place + 1)}`;
}

async function apiKeyOf({ trader, address }: FacadeTrader): Promise<string> {
  const wallet = new Wallet(trader.privateKey);
  const sign = signWith(wallet, await domainOf(sandbox));
  const { body } = await sandbox.post(`/v1/${FACADE_CHAIN}/api-keys`, await keyIssue(sign, address, 'proofs'));
  return (body as { apiKey: string }).apiKey;
}

const SCRIPT = path.resolve(import.meta.dirname, '../../scripts/verify-proof.mjs');

interface Verdict {
  readonly code: number;
  readonly said: string;
}

/** As people run it. */
async function runScript(proof: unknown): Promise<Verdict> {
  const file = path.join(folder, 'proof.json');
  await writeFile(file, JSON.stringify(proof));
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [SCRIPT, file]);
    return { code: 0, said: stdout };
  } catch (error) {
    const { code, stderr } = error as { code: number; stderr: string };
    return { code, said: stderr };
  }
}

/** The same without a process of its own. */
async function verify(proof: unknown, expected = {}): Promise<Verdict> {
  const { problemsOf } = (await import(pathToFileURL(SCRIPT).href)) as { problemsOf: (...asked: unknown[]) => Promise<string[]> };
  const problems = await problemsOf(proof, expected);
  return problems.length === 0 ? HOLDS : { code: 1, said: problems.join('\n') };
}

async function unproven(proof: unknown): Promise<string> {
  const url = pathToFileURL(path.join(SCRIPT, '../proof/unproven.mjs')).href;
  const { unprovenOf } = (await import(url)) as { unprovenOf: (...asked: unknown[]) => string[] };
  return unprovenOf(proof, {}).join('\n');
}

/** Two calls where one was signed. */
async function expectNoSecondCall(proof: Record<string, string>): Promise<void> {
  const { args } = decodeFunctionData({ abi: diamondAbi, data: proof['data'] as `0x${string}` });
  const [trader, inner] = args as [`0x${string}`, `0x${string}`];
  const twice = encodeFunctionData({ abi: diamondAbi, functionName: 'multicall', args: [[inner, inner]] });
  const data = encodeFunctionData({ abi: diamondAbi, functionName: 'delegatedTradingAction', args: [trader, twice] });
  expect((await verify({ ...proof, data })).said).toContain('it does more than');
  expect((await verify({ ...proof, data: `${data.slice(0, 2)}12345678${data.slice(10)}` })).said).toContain('not a delegated one');
}

/** Whatever byte of it is changed, it does not hold. */
async function expectBound(proof: Record<string, string>): Promise<void> {
  const fields = ['txHash', 'relayer', 'to', 'data', 'rawTransaction', 'trader', 'signer', 'actionHash', 'nonce'];
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...fields), fc.nat(5_000), async (field, at) => {
      const bent = { ...proof, [field]: flipped(proof[field] ?? '', at) };
      expect(await verify(bent)).toMatchObject({ code: 1 });
    }),
    { numRuns: process.env['SLOW_TESTS'] === '1' ? 200 : 30 },
  );
  const { rawTransaction, ...unbound } = proof;
  expect(rawTransaction).toMatch(/^0x02/);
  expect((await verify(unbound)).said).toContain('there is no signed transaction');
}

describe('a relayed transaction', () => {
  it('has a proof that its owner can read and any client can check offline; one of a changed order does not hold', async () => {
    const proof = await proofOf(order({ a: BTC, b: true, p: '40000', s: '0.1', r: false, t: GTC }));
    expect(await runScript(proof)).toEqual({
      code: 0,
      said: expect.stringMatching(/^The proof holds\.\nNot proven offline:\n- that it is in block \d+ and succeeded/),
    });
    const worse = 'the price may be worse than was signed';
    expect(await bentSaid(proof, '"40000"', '"39000"')).toContain(worse);
    expect(await bentSaid(proof, '"0.1"', '"0.05"')).toContain('it is larger than was signed');
    const sold = await proofOf(order({ a: BTC, b: false, p: '90000', s: '0.1', r: false, t: GTC }));
    expect(await verify(sold)).toEqual(HOLDS);
    expect(await bentSaid(sold, '"90000"', '"91000"')).toContain(worse);
    expect(await verify({ ...proof, trader: '0x00000000000000000000000000000000000000ff' })).toMatchObject({
      code: 1,
      said: expect.stringContaining('the call is for another trader'),
    });
    await expectNoSecondCall(proof);
    await expectBound(proof);
  });

  async function bentSaid(proof: Record<string, string>, signed: string, bent: string): Promise<string> {
    const { code, said } = await verify({ ...proof, envelope: proof['envelope']?.replace(signed, bent) });
    expect(code).toBe(1);
    expect(said).toContain('the action hash is not that of the envelope');
    return said;
  }

  it('needs a whole proof to be judged: anything else is one line and a code of its own', async () => {
    expect(await runScript({})).toMatchObject({ code: 2, said: expect.stringMatching(/^it is no whole proof: .*\n$/) });
  });

  it('of a coin that is counted in thousands is compared in thousands', async () => {
    const universe = await createUniverses(sandbox.gateway).of(venueOf(sandbox.gateway, FACADE_CHAIN));
    const asset = universe.byCoin.get('kPEPE');
    if (!asset) throw new Error('there is no kPEPE');
    const mark = Number(sandbox.gateway.venues.get(FACADE_CHAIN)?.feed.lastPrice(asset.id)?.oracle ?? 0n) / 1e7;
    const p = Number((mark * 0.8).toPrecision(3)).toString();
    const proof = await proofOf(order({ a: asset.id, b: true, p, s: String(Math.round(2_000 / mark)), r: false, t: GTC }));
    expect(await verify(proof)).toEqual(HOLDS);
    expect(await verify({ ...proof, multiplier: 1 })).toMatchObject({ code: 1 });
  });

  it('of a close names the trade it is against', async () => {
    await relayed(order({ a: ETH, b: true, p: '9000', s: '1', r: false, t: IOC }));
    const proof = await proofOf(order({ a: ETH, b: false, p: '1000', s: '1', r: true, t: IOC }));
    expect(await verify(proof)).toEqual(HOLDS);
    const bent = { ...proof, envelope: proof['envelope']?.replace('"b":false', '"b":true') };
    expect((await verify(bent)).said).toContain('which the order is not against');
  });

  it('of a close says that no more is closed than was signed, whichever of its trades', async () => {
    const heavy = await newFacadeTrader(sandbox);
    const trade = async (b: boolean, s: string, r: boolean) => {
      const wire = order({ a: ETH, b, p: b ? '9000' : '1000', s, r, t: IOC });
      await postExchange(
        sandbox.url,
        FACADE_CHAIN,
        await signL1(new Wallet(heavy.agentKey), { type: 'order', orders: [wire], grouping: 'na' }),
      );
    };
    await trade(true, '0.3', false);
    await trade(true, '0.2', false);
    await trade(false, '0.4', true);
    const [, , whole = {}, part = {}] = await minedProofs(heavy, 'action', 4);
    for (const proof of [whole, part]) expect(await verify(proof)).toEqual(HOLDS);
    const [first, second] = tradesOf(part);
    if (!first || !second) throw new Error('two trades were there');
    const expectedPrice = priceOfClose(part);
    const bent = async (intent: Intent) => (await verify({ ...part, data: dataFor(heavy.address, intent) })).said;
    const close = { kind: 'close', expectedPrice, slippageP: 1000n } as const;
    const larger = 'it closes more than was signed';
    expect(await bent({ ...close, tradeIndex: second.tradeIndex })).toContain(larger);
    expect(await bent({ ...close, kind: 'decrease', tradeIndex: second.tradeIndex, collateralDelta: 119_000_000n })).toContain(larger);
    expect((await verify({ ...whole, envelope: whole['envelope']?.replace('"0.4"', '"0.29"') })).said).toContain(larger);
    expect((await verify({ ...part, envelope: part['envelope']?.replace('"0.4"', '"0.3"') })).said).toContain(larger);
    for (const proof of [whole, part]) expect(await verify({ ...proof, multiplier: 1000 })).toMatchObject({ code: 1 });
  });

  it('of a close of the whole trade holds where what would stay is dust, and where the other side is opened with the rest', async () => {
    const seller = await newFacadeTrader(sandbox);
    const send = async (b: boolean, s: string, r: boolean) => {
      const wire = order({ a: ETH, b, p: b ? '9000' : '1000', s, r, t: IOC });
      await postExchange(
        sandbox.url,
        FACADE_CHAIN,
        await signL1(new Wallet(seller.agentKey), { type: 'order', orders: [wire], grouping: 'na' }),
      );
    };
    await send(true, '0.5', false);
    await send(false, '0.4991', true);
    await send(true, '0.5', false);
    await send(false, '0.7', false);
    const [, dusty = {}, , flipping = {}, opened = {}] = await minedProofs(seller, 'action', 5);
    for (const proof of [dusty, flipping, opened]) expect(await verify(proof)).toEqual(HOLDS);
    for (const [proof, s] of [
      [dusty, '0.4991'],
      [flipping, '0.7'],
    ] as const) {
      const less = await verify({ ...proof, envelope: proof['envelope']?.replace(`"${s}"`, '"0.45"') });
      expect(less.said).toContain('it closes more than was signed');
    }
    const smaller = { ...opened, envelope: opened['envelope']?.replace('"0.7"', '"0.65"') };
    expect((await verify(smaller)).said).toContain('it is larger than was signed');
    expect(await verify({ ...opened, multiplier: 1000 })).toMatchObject({ code: 1 });
  });

  it('of an opening names the half lot it is sized up by, and of a close what was opened beyond its order', async () => {
    const chain = firstChain(sandbox);
    const bot = await newFacadeTrader(sandbox);
    const send = async (wire: ReturnType<typeof order>) =>
      postExchange(sandbox.url, FACADE_CHAIN, await signL1(new Wallet(bot.agentKey), { type: 'order', orders: [wire], grouping: 'na' }));
    sandbox.controls.prices.jump(ETH, '3000');
    chain.setOraclePolicy(ETH, { mode: 'hold' });
    const bought = send(order({ a: ETH, b: true, p: '9000', s: '3', r: false, t: IOC }));
    await eventually(
      () => bot.trader.pending(),
      (pending) => pending === 1,
    );
    sandbox.controls.prices.jump(ETH, '2970');
    chain.setOraclePolicy(ETH, { mode: 'auto' });
    await chain.mine(1);
    await bought;
    await send(order({ a: ETH, b: false, p: '1000', s: '3', r: true, t: IOC }));
    const [opened = {}, closed = {}] = await minedProofs(bot, 'action', 2);
    for (const proof of [opened, closed]) expect(await verify(proof)).toEqual(HOLDS);
    const bent = async (proof: Record<string, string>, pattern: RegExp, by: string) => {
      const context = proof['context']?.replace(pattern, by);
      expect(context).not.toBe(proof['context']);
      return (await verify({ ...proof, context })).said;
    };
    for (const figure of ['0', '1', '10000000000000000'])
      expect(await bent(opened, /"halfLot":{"\$n":"\d+"}/, `"halfLot":{"$n":"${figure}"}`)).toContain('it is larger than was signed');
    expect(await bent(opened, /"halfLot":{"\$n":"\d+"},/, '')).toContain('it is larger than was signed');
    expect(await bent(closed, /"excess":{"\$n":"\d+"}/, '"excess":{"$n":"0"}')).toContain('it closes more than was signed');
  });

  it('of levels says that they are where they were signed, and how far they may be followed', async () => {
    const guarded = await newFacadeTrader(sandbox);
    const stop = (p: string) =>
      order({ a: ETH, b: false, p, s: '1', r: true, t: { trigger: { isMarket: true, triggerPx: '1000', tpsl: 'sl' } } });
    const send = async (orders: object[], grouping: string) =>
      postExchange(sandbox.url, FACADE_CHAIN, await signL1(new Wallet(guarded.agentKey), { type: 'order', orders, grouping }));
    await send([order({ a: ETH, b: true, p: '9000', s: '1', r: false, t: IOC }), stop('800')], 'normalTpsl');
    const slippage = await proofOfLast(guarded, 'TradeMaxClosingSlippagePUpdated');
    expect(await verify(slippage)).toEqual(HOLDS);
    const bent = { ...slippage, envelope: slippage['envelope']?.replace('"800"', '"900"') };
    expect((await verify(bent)).said).toContain('levels may be followed further than was signed');
    await send([stop('700')], 'na');
    const level = await proofOfLast(guarded, 'TradeSlUpdated');
    expect(await verify(level)).toEqual(HOLDS);
    expect((await verify({ ...level, envelope: level['envelope']?.replace('"1000"', '"1100"') })).said).toContain('which was not signed');
    expect((await verify({ ...level, envelope: level['envelope']?.replace('"700"', '"750"') })).said).toContain(
      'its level may be followed',
    );
    expect((await verify({ ...level, envelope: level['envelope']?.replace('"1"', '"0.9"') })).said).toContain('its level closes more');
  });

  it('of a scheduled cancel takes back or closes what it names, and nothing else', async () => {
    const away = await newFacadeTrader(sandbox);
    const send = async (action: Record<string, unknown>) =>
      postExchange(sandbox.url, FACADE_CHAIN, await signL1(new Wallet(away.agentKey), action));
    const held = order({ a: ETH, b: true, p: '9000', s: '1', r: false, t: IOC });
    await send({ type: 'order', orders: [held], grouping: 'na' });
    await send({ type: 'order', orders: [{ ...held, p: '1000', t: GTC }], grouping: 'na' });
    await send({ type: 'scheduleCancel', time: sandbox.clock.now() + 8_000 });
    sandbox.clock.move(8_000);
    const [canceled = {}, closed = {}] = await minedProofs(away, 'scheduled-cancel', 2);
    for (const proof of [canceled, closed]) {
      expect(await verify(proof)).toEqual(HOLDS);
      expect((await verify({ ...proof, purpose: 'action' })).said).toContain('no signature covers it');
      expect((await verify({ ...proof, data: moved(proof) })).said).toMatch(/it (?:takes back|closes trade) 77, meant was \d/);
      expect(await unproven(proof)).toContain(`the schedule which was signed with the nonce ${proof['nonce']} is the last one`);
    }
    expect(await unproven(canceled)).toMatch(/that order \d+ of the contract is one of 0x\w+ and was open when the schedule came due/);
    expect(await unproven(closed)).toMatch(/that trade \d+ was open, that the price was \d+ .* has schedules close positions/);
    const trader = away.address;
    const dataOf = (...intents: Intent[]) => dataFor(trader, ...intents);
    const [lost, another] = [5, 6].map((requestIndex) => ({ kind: 'reclaim', requestIndex }) as const);
    if (!lost || !another) throw new Error('there are two');
    const reclaim = { ...canceled, purpose: 'reclaim', context: JSON.stringify({ kind: 'cancel', item: 0, intent: lost }) };
    expect(await verify(await sentBy({ ...reclaim, data: dataOf(lost) }))).toEqual(HOLDS);
    expect(await unproven(reclaim)).toMatch(/that request 5 is one of 0x\w+ whose time was over: nothing is signed about it/);
    expect((await verify({ ...reclaim, data: dataOf(another) })).said).toContain('it takes back 6, meant was 5');
    expect((await verify({ ...reclaim, data: dataOf(lost, another) })).said).toContain('it does more than');
    const close = { kind: 'close', tradeIndex: 0, expectedPrice: 1n, slippageP: null } as const;
    expect((await verify({ ...reclaim, data: dataOf(close) })).said).toContain('it does more than');
  });

  it('of a cancel, a change and margin names what they are about', async () => {
    const busy = await newFacadeTrader(sandbox);
    const send = async (action: Record<string, unknown>) =>
      (await postExchange(sandbox.url, FACADE_CHAIN, await signL1(new Wallet(busy.agentKey), action))).body;
    await send({ type: 'order', orders: [order({ a: ETH, b: true, p: '9000', s: '1', r: false, t: IOC })], grouping: 'na' });
    await send({ type: 'updateIsolatedMargin', asset: ETH, isBuy: true, ntli: 50_000_000 });
    const resting = order({ a: BTC, b: true, p: '40000', s: '0.1', r: false, t: GTC });
    const placed = await send({ type: 'order', orders: [resting], grouping: 'na' });
    const [status] = (placed as { response: { data: { statuses: Answered[] } } }).response.data.statuses;
    const cloid = `0x${'1c'.repeat(16)}`;
    await send({ type: 'modify', oid: status?.resting?.oid, order: { ...resting, p: '39000', c: cloid } });
    await send({ type: 'cancelByCloid', cancels: [{ asset: BTC, cloid }] });
    const proofs = await minedProofs(busy, 'action', 5);
    expect(proofs.map(({ context = '{}' }) => (JSON.parse(context) as { kind: string }).kind)).toEqual([
      'cancel',
      'margin',
      'order',
      'order',
      'replace',
    ]);
    for (const proof of proofs) expect(await verify(proof)).toEqual(HOLDS);
    const [canceled, margin, , , replaced] = proofs;
    expect((await verify({ ...canceled, context: canceled?.['context']?.replace('"tradeIndex":', '"tradeIndex":7') })).said).toContain(
      'meant was 7',
    );
    expect((await verify({ ...margin, envelope: margin?.['envelope']?.replace('50000000', '40000000') })).said).toContain(
      'it sets the leverage',
    );
    expect((await verify({ ...replaced, context: replaced?.['context']?.replace('"tradeIndex":', '"tradeIndex":7') })).said).toContain(
      'meant was 7',
    );
  });

  it('of a level of an order that rests changes nothing else of that order', async () => {
    const busy = await newFacadeTrader(sandbox);
    const send = async (action: Record<string, unknown>) =>
      (await postExchange(sandbox.url, FACADE_CHAIN, await signL1(new Wallet(busy.agentKey), action))).body;
    const cloid = `0x${'2c'.repeat(16)}`;
    const stop = (triggerPx: string) =>
      order({ a: BTC, b: false, p: triggerPx, s: '0.1', r: true, t: { trigger: { isMarket: true, triggerPx, tpsl: 'sl' } }, c: cloid });
    const parent = order({ a: BTC, b: true, p: '40000', s: '0.1', r: false, t: GTC });
    await send({ type: 'order', orders: [parent, stop('39000')], grouping: 'normalTpsl' });
    await send({ type: 'modify', oid: cloid, order: stop('38000') });
    await send({ type: 'cancelByCloid', cancels: [{ asset: BTC, cloid }] });
    const proofs = await minedProofs(busy, 'action', 3);
    expect(proofs.map(({ context = '{}' }) => (JSON.parse(context) as { kind: string }).kind)).toEqual(['cancel', 'child', 'order']);
    for (const proof of proofs) expect(await verify(proof)).toEqual(HOLDS);
    const [canceled, changed] = proofs;
    const priced = (text: string | undefined) => text?.replace(/(?<="intent":.*"price":\{"\$n":")\d/, '9');
    for (const proof of [canceled, changed])
      expect((await verify({ ...proof, context: priced(proof?.['context']) })).said).toContain('it changes more of the order');
    expect((await verify({ ...changed, envelope: changed?.['envelope']?.replaceAll('38000', '37000') })).said).toContain(
      'it sets a level at',
    );
  });

  it('that gave its nonce away is shown as what was sent, not as the order it stands in for', async () => {
    const { store } = sandbox.gateway;
    const wire = order({ a: BTC, b: true, p: '43000', s: '0.1', r: false, t: GTC });
    const placed = await store.relay.jobByHash(FACADE_CHAIN, (await relayed(wire)) as Hex);
    if (!placed) throw new Error('nothing was placed');
    // A wallet that no lane sends for.
    const key = privateKeyToAccount(generatePrivateKey());
    const wallet = key.address.toLowerCase() as Hex;
    const { id } = await store.relay.queue({ ...placed, wallet, orderId: null }, Date.now());
    await store.relay.assignNonces(FACADE_CHAIN, wallet, [id], 0);
    const fees = { maxFeePerGas: 2n, maxPriorityFeePerGas: 1n };
    const attempt = async (isNoOp: boolean) => {
      const call = isNoOp ? { to: key.address } : { to: firstChain(sandbox).definition.diamond, data: placed.data };
      const { chainId } = firstChain(sandbox).definition;
      const raw = await key.signTransaction({ type: 'eip1559', chainId, nonce: 0, gas: 100_000n, value: 0n, ...fees, ...call });
      const made = { isNoOp, raw, hash: keccak256(raw), ...fees, signedAt: Date.now() };
      await store.relay.addAttempt(FACADE_CHAIN, [{ id, attempt: made }]);
      return made.hash;
    };
    const headers = { 'X-Service-Api-Key': await apiKeyOf(who) };
    const shown = async (hash: Hex) => (await sandbox.get(`/v1/${FACADE_CHAIN}/account/${who.address}/proofs/${hash}`, headers)).body;
    const [sent, nothing] = [await shown(await attempt(false)), await shown(await attempt(true))];
    expect(sent).toMatchObject({ purpose: 'action', data: placed.data, blockNumber: null });
    expect(nothing).toMatchObject({ purpose: 'no-op', to: key.address, data: '0x', relayer: key.address });
    for (const proof of [sent, nothing]) expect(await verify(proof, { relayer: key.address })).toEqual(HOLDS);
    expect((await verify({ ...(nothing as object), data: placed.data })).said).toContain('it should do nothing');
  });

  it('has none for another trader', async () => {
    const hash = await relayed(order({ a: BTC, b: true, p: '41000', s: '0.1', r: false, t: GTC }));
    const stranger = await newFacadeTrader(sandbox);
    const headers = { 'X-Service-Api-Key': await apiKeyOf(stranger) };
    const { status, body } = await sandbox.get(`/v1/${FACADE_CHAIN}/account/${stranger.address}/proofs/${hash}`, headers);
    expect([status, body]).toMatchObject([404, { code: 'ORDER_NOT_FOUND' }]);
  });
});
