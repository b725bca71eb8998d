import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { Wallet } from 'ethers';
import { parseEventLogs } from 'viem';
import { diamondAbi } from '../../core/adapters/diamond-abi.js';
import { venueOf } from '../../core/gateway.js';
import { createUniverses } from '../../facade/universe.js';
import { eventually } from '../harness/eventually.js';
import { newFacadeTrader, FACADE_CHAIN, type FacadeTrader } from '../harness/facade-trader.js';
import { firstChain } from '../harness/first-chain.js';
import { order, postExchange, signL1 } from '../harness/hl-exchange.js';
import { domainOf, keyIssue, signWith } from '../harness/master-wallet.js';
import { startTestSandbox, type TestSandbox } from '../harness/sandbox.js';
import { makeThrowAwayFolder } from '../harness/throw-away-folder.js';

let sandbox: TestSandbox;
let who: FacadeTrader;
let folder: string;

beforeAll(async () => {
  sandbox = await startTestSandbox();
  who = await newFacadeTrader(sandbox);
  folder = await makeThrowAwayFolder('diamond-gateway-proof');
});
afterAll(() => sandbox.stop());

const [BTC, ETH] = [0, 1];
const [GTC, IOC] = [{ limit: { tif: 'Gtc' } }, { limit: { tif: 'Ioc' } }];
const HOLDS = { code: 0, said: 'The proof holds.\n' };

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

async function apiKeyOf({ trader, address }: FacadeTrader): Promise<string> {
  const wallet = new Wallet(trader.privateKey);
  const sign = signWith(wallet, await domainOf(sandbox));
  const { body } = await sandbox.post(`/v1/${FACADE_CHAIN}/api-keys`, await keyIssue(sign, address, 'proofs'));
  return (body as { apiKey: string }).apiKey;
}

const verify = async (proof: unknown): Promise<{ code: number; said: string }> => {
  const file = path.join(folder, 'proof.json');
  await writeFile(file, JSON.stringify(proof));
  const script = path.resolve(import.meta.dirname, '../../scripts/verify-proof.mjs');
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [script, file]);
    return { code: 0, said: stdout };
  } catch (error) {
    const { code, stderr } = error as { code: number; stderr: string };
    return { code, said: stderr };
  }
};

describe('a relayed transaction', () => {
  it('has a proof that its owner can read and anybody can check offline', async () => {
    const proof = await proofOf(order({ a: BTC, b: true, p: '40000', s: '0.1', r: false, t: GTC }));
    expect(await verify(proof)).toEqual(HOLDS);
    expect(await verify({ ...proof, trader: '0x00000000000000000000000000000000000000ff' })).toMatchObject({
      code: 1,
      said: expect.stringContaining('the call is for another trader'),
    });
  });

  it.each([
    ['a buyer', true, '40000', '39000', 'the price may be worse than was signed'],
    ['a seller', false, '90000', '91000', 'the price may be worse than was signed'],
    ['a size', true, '40100', '40100', 'it is larger than was signed'],
  ] as const)('that was bent against %s does not hold', async (what, b, p, bentPrice, said) => {
    const proof = await proofOf(order({ a: BTC, b, p, s: '0.1', r: false, t: GTC }));
    expect(await verify(proof)).toEqual(HOLDS);
    const bentSize = what === 'a size' ? '"0.05"' : '"0.1"';
    const bent = { ...proof, envelope: proof['envelope']?.replace(`"${p}"`, `"${bentPrice}"`).replace('"0.1"', bentSize) };
    const verdict = await verify(bent);
    expect(verdict.code).toBe(1);
    expect(verdict.said).toContain('the action hash is not that of the envelope');
    expect(verdict.said).toContain(said);
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

  it('of levels says that they are where they were signed, and how far they may be followed', async () => {
    const guarded = await newFacadeTrader(sandbox);
    const stop = (p: string) =>
      order({ a: ETH, b: false, p, s: '1', r: true, t: { trigger: { isMarket: true, triggerPx: '1000', tpsl: 'sl' } } });
    const send = async (orders: object[], grouping: string) =>
      postExchange(sandbox.url, FACADE_CHAIN, await signL1(new Wallet(guarded.agentKey), { type: 'order', orders, grouping }));
    await send([order({ a: ETH, b: true, p: '9000', s: '1', r: false, t: IOC }), stop('800')], 'normalTpsl');
    const room = await proofOfLast(guarded, 'TradeMaxClosingSlippagePUpdated');
    expect(await verify(room)).toEqual(HOLDS);
    const bent = { ...room, envelope: room['envelope']?.replace('"800"', '"900"') };
    expect((await verify(bent)).said).toContain('levels may be followed further than was signed');
    await send([stop('700')], 'na');
    const level = await proofOfLast(guarded, 'TradeSlUpdated');
    expect(await verify(level)).toEqual(HOLDS);
    expect((await verify({ ...level, envelope: level['envelope']?.replace('"1000"', '"1100"') })).said).toContain('which was not signed');
    expect((await verify({ ...level, envelope: level['envelope']?.replace('"700"', '"750"') })).said).toContain(
      'its level may be followed',
    );
  });

  it('has none for anybody else', async () => {
    const hash = await relayed(order({ a: BTC, b: true, p: '41000', s: '0.1', r: false, t: GTC }));
    const stranger = await newFacadeTrader(sandbox);
    const headers = { 'X-Service-Api-Key': await apiKeyOf(stranger) };
    const { status, body } = await sandbox.get(`/v1/${FACADE_CHAIN}/account/${stranger.address}/proofs/${hash}`, headers);
    expect([status, body]).toMatchObject([404, { code: 'ORDER_NOT_FOUND' }]);
  });
});
