import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { Wallet } from 'ethers';
import { newFacadeTrader, FACADE_CHAIN, type FacadeTrader } from '../harness/facade-trader.js';
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

const limitOrder = { limit: { tif: 'Gtc' } };

async function relayed(action: Record<string, unknown>): Promise<string> {
  const { body } = await postExchange(sandbox.url, FACADE_CHAIN, await signL1(new Wallet(who.agentKey), action));
  const [status] = (body as { response: { data: { statuses: { resting?: { oid: number } }[] } } }).response.data.statuses;
  const address = who.address.toLowerCase() as `0x${string}`;
  const stored = await sandbox.gateway.store.orders.find(FACADE_CHAIN, address, BigInt(status?.resting?.oid ?? 0));
  return stored?.hashes.at(-1) ?? '';
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
    const wire = order({ a: 0, b: true, p: '40000', s: '0.1', r: false, t: limitOrder });
    const hash = await relayed({ type: 'order', orders: [wire], grouping: 'na' });
    const headers = { 'X-Service-Api-Key': await apiKeyOf(who) };
    const { status, body } = await sandbox.get(`/v1/${FACADE_CHAIN}/account/${who.address}/proofs/${hash}`, headers);
    expect(status).toBe(200);
    expect(await verify(body)).toEqual({ code: 0, said: 'The proof holds.\n' });
    const proof = body as Record<string, string>;
    const forged = { ...proof, envelope: proof['envelope']?.replace('"40000"', '"39000"') };
    expect(await verify(forged)).toMatchObject({ code: 1, said: expect.stringContaining('the action hash is not that of the envelope') });
    const foreign = { ...proof, trader: '0x00000000000000000000000000000000000000ff' };
    expect(await verify(foreign)).toMatchObject({ code: 1, said: expect.stringContaining('the call is for another trader') });
  });

  it('has none for anybody else', async () => {
    const hash = await relayed({
      type: 'order',
      orders: [order({ a: 0, b: true, p: '41000', s: '0.1', r: false, t: limitOrder })],
      grouping: 'na',
    });
    const stranger = await newFacadeTrader(sandbox);
    const headers = { 'X-Service-Api-Key': await apiKeyOf(stranger) };
    const { status, body } = await sandbox.get(`/v1/${FACADE_CHAIN}/account/${stranger.address}/proofs/${hash}`, headers);
    expect([status, body]).toMatchObject([404, { code: 'ORDER_NOT_FOUND' }]);
  });
});
