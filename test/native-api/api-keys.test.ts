import { Wallet, type TypedDataDomain } from 'ethers';
import { generatePrivateKey } from 'viem/accounts';
import { findCallerByKey } from '../../core/access/api-keys.js';
import { authenticateKey } from '../../core/access/authenticate.js';
import type { KnexStore } from '../../core/adapters/postgres/create-store.js';
import { venueOf } from '../../core/gateway.js';
import { domainOf, keyIssue, signWith } from '../harness/traders/master-wallet.js';
import { startOwnVenue, type Reply, type TestVenue } from '../harness/venue/own-venue.js';

let sandbox: TestVenue;
let domain: TypedDataDomain;

beforeAll(async () => {
  sandbox = await startOwnVenue({ SANDBOX_CHAINS: 'arbitrum-sepolia,base' });
  domain = await domainOf(sandbox);
});
afterAll(() => sandbox.stop());

const newWallet = (): Wallet => new Wallet(generatePrivateKey());
const issue = (body: unknown, chain = 'arbitrum-sepolia'): Promise<Reply> => sandbox.post(`/v1/${chain}/api-keys`, body);
const issued = async (trader: Wallet, label: string, timestamp?: number): Promise<string> => {
  const reply = await issue(await keyIssue(signWith(trader, domain), trader.address, label, timestamp));
  expect(reply.status).toBe(200);
  return (reply.body as { apiKey: string }).apiKey;
};
const callerOf = (key: string, chain = 'arbitrum-sepolia') => findCallerByKey(sandbox.gateway, venueOf(sandbox.gateway, chain), key);
const expectError = (reply: Reply, status: number, code: string): void =>
  expect({ status: reply.status, code: (reply.body as { code?: string }).code }).toEqual({ status, code });

describe('an API key', () => {
  it('is issued to the master wallet, shown once, and names its trader on its chain alone', async () => {
    const trader = newWallet();
    const reply = await issue(await keyIssue(signWith(trader, domain), trader.address, 'büro 1'));
    expect(reply.status).toBe(200);
    const { apiKey, ...rest } = reply.body as { apiKey: string };
    expect(rest).toEqual({ label: 'büro 1', trader: trader.address });
    expect(apiKey).toMatch(/^dg_[A-Za-z0-9_-]{43}$/);
    expect(await callerOf(apiKey)).toEqual({ via: 'apiKey', trader: trader.address.toLowerCase(), label: 'büro 1' });
    expect(await callerOf(apiKey, 'base')).toBeNull();
  });

  it('is replaced by a newer one of the same label; others stay', async () => {
    const trader = newWallet();
    const now = Date.now();
    const [first, other] = [await issued(trader, 'bot', now - 10), await issued(trader, 'desk', now - 10)];
    const second = await issued(trader, 'bot', now);
    expect(await callerOf(first)).toBeNull();
    expect(await callerOf(second)).toMatchObject({ label: 'bot' });
    expect(await callerOf(other)).toMatchObject({ label: 'desk' });
  });

  it('of another trader has the same label without a conflict', async () => {
    const keys = await Promise.all([newWallet(), newWallet()].map((trader) => issued(trader, 'same')));
    const callers = await Promise.all(keys.map((key) => callerOf(key)));
    expect(new Set(callers.map((caller) => caller?.trader)).size).toBe(2);
  });

  it('is kept as a hash: neither the database nor the log knows it', async () => {
    const apiKey = await issued(newWallet(), 'secret');
    const { db } = sandbox.gateway.store as KnexStore;
    const rows = await db('api_keys').select<unknown[]>();
    expect(JSON.stringify(rows, (_name, value: unknown) => (typeof value === 'bigint' ? value.toString() : value))).not.toContain(
      apiKey.slice(3),
    );
    expect(
      JSON.stringify(sandbox.log.entries, (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
    ).not.toContain(apiKey);
  });

  it('that was never issued is unknown, however it looks', async () => {
    const apiKey = await issued(newWallet(), 'mine');
    const last = apiKey.endsWith('A') ? 'B' : 'A';
    for (const wrong of [
      '',
      'dg_',
      `${apiKey.slice(0, -1)}${last}`,
      apiKey.toUpperCase(),
      `${apiKey} `,
      'x'.repeat(100_000),
      "' or 1=1 --",
    ])
      expect(await callerOf(wrong)).toBeNull();
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['an empty label', { label: '' }, 'label'],
    ['a label of 65 characters', { label: 'x'.repeat(65) }, 'label'],
    ['a label with a line break', { label: 'a\nb' }, 'label'],
    ['a label that is no text', { label: 7 }, 'label'],
    ['an unknown field', { scope: 'all' }, 'scope'],
    ['no signature', { signature: undefined }, 'signature'],
  ])('is refused for %s', async (_what, change, path) => {
    const trader = newWallet();
    const reply = await issue({ ...(await keyIssue(signWith(trader, domain), trader.address, 'fine')), ...change });
    expectError(reply, 400, 'VALIDATION_ERROR');
    expect((reply.body as { details: { issues: { path: string }[] } }).details.issues.map((one) => one.path)).toContain(path);
  });

  it('needs a signature of its own trader, label, chain and moment', async () => {
    const trader = newWallet();
    const body = await keyIssue(signWith(trader, domain), trader.address, 'bot');
    for (const forged of [{ label: 'bott' }, { trader: newWallet().address }, { timestamp: body.timestamp - 1 }])
      expectError(await issue({ ...body, ...forged }), 401, 'INVALID_SIGNATURE');
    expectError(await issue(body, 'base'), 401, 'INVALID_SIGNATURE');
    const late = await keyIssue(signWith(trader, domain), trader.address, 'bot', Date.now() - 31_000);
    expectError(await issue(late), 401, 'TIMESTAMP_OUT_OF_WINDOW');
  });

  it('comes once per signature, also when it is asked for twenty times at once', async () => {
    const trader = newWallet();
    const body = await keyIssue(signWith(trader, domain), trader.address, 'bot');
    const replies = await Promise.all(Array.from({ length: 20 }, () => issue(body)));
    expect(replies.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(19).fill(401)]);
    const kept = replies.find(({ status }) => status === 200)?.body as { apiKey: string };
    expect(await callerOf(kept.apiKey)).toMatchObject({ label: 'bot' });
  });

  it('expires when its issue says so, and the date is signed with it', async () => {
    const trader = newWallet();
    const [timestamp, expiresAt] = [Date.now(), Date.now() + 60_000];
    const unsigned = { ...(await keyIssue(signWith(trader, domain), trader.address, 'short', timestamp)), expiresAt };
    expectError(await issue(unsigned), 401, 'INVALID_SIGNATURE');
    const fields = [
      { name: 'label', type: 'string' },
      { name: 'timestamp', type: 'uint256' },
      { name: 'expiresAt', type: 'uint256' },
    ];
    const signed = async (until: number) => ({
      ...{ trader: trader.address, label: 'short', timestamp, expiresAt: until },
      signature: await trader.signTypedData(domain, { ApiKeyIssue: fields }, { label: 'short', timestamp, expiresAt: until }),
    });
    expectError(await issue(await signed(timestamp - 1)), 400, 'VALIDATION_ERROR');
    const reply = await issue(await signed(expiresAt));
    expect([reply.status, (reply.body as { expiresAt: number }).expiresAt]).toEqual([200, expiresAt]);
    const { apiKey } = reply.body as { apiKey: string };
    const venue = venueOf(sandbox.gateway, 'arbitrum-sepolia');
    const later = { ...venue, clock: { ...venue.clock, now: () => expiresAt } };
    expect(await findCallerByKey(sandbox.gateway, venue, apiKey)).toMatchObject({ label: 'short' });
    expect(await findCallerByKey(sandbox.gateway, later, apiKey)).toBeNull();
    await expect(authenticateKey(sandbox.gateway, later, { isWrite: false }, apiKey)).rejects.toMatchObject({ code: 'API_KEY_UNKNOWN' });
  });

  it('is listed by its label without the key, and deleted by the master wallet alone', async () => {
    const trader = newWallet();
    const [kept, lost] = [await issued(trader, 'kept'), await issued(trader, 'lost')];
    const list = (key: string) => sandbox.get(`/v1/arbitrum-sepolia/account/${trader.address}/api-keys`, { 'X-Service-Api-Key': key });
    const remove = async (signer: Wallet, timestamp = Date.now()): Promise<Reply> => {
      const fields = [
        { name: 'label', type: 'string' },
        { name: 'timestamp', type: 'uint256' },
      ];
      const signature = await signer.signTypedData(domain, { ApiKeyRevocation: fields }, { label: 'lost', timestamp });
      return sandbox.call('/v1/arbitrum-sepolia/api-keys', {
        method: 'DELETE',
        body: JSON.stringify({ trader: trader.address, label: 'lost', timestamp, signature }),
        headers: { 'Content-Type': 'application/json' },
      });
    };
    const both = await list(lost);
    const created = { createdAt: expect.any(Number) as number, expiresAt: null };
    expect(both.body).toEqual({
      data: expect.arrayContaining([
        { label: 'kept', ...created },
        { label: 'lost', ...created },
      ]) as unknown,
    });
    expectError(await remove(newWallet()), 401, 'INVALID_SIGNATURE');
    expect(await remove(trader)).toMatchObject({ status: 200, body: { label: 'lost', trader: trader.address, deleted: true } });
    expectError(await list(lost), 401, 'API_KEY_UNKNOWN');
    expect((await list(kept)).body).toEqual({ data: [{ label: 'kept', ...created }] });
    expect((await remove(trader, Date.now() + 1)).body).toMatchObject({ deleted: false });
  });

  it('is one of twenty at most, also when they are asked for at once; a replacement is no new one', async () => {
    const trader = newWallet();
    const ask = async (label: string) => issue(await keyIssue(signWith(trader, domain), trader.address, label));
    const replies = await Promise.all(Array.from({ length: 22 }, (_, at) => ask(`key ${at}`)));
    expect(replies.map(({ status }) => status).sort()).toEqual([...Array<number>(20).fill(200), 422, 422]);
    const refused = replies.find(({ status }) => status === 422)?.body;
    expect(refused).toMatchObject({ code: 'UNSUPPORTED', details: { reason: expect.stringContaining('has 20 API keys') as string } });
    const one = replies.find(({ status }) => status === 200)?.body as { label: string };
    expect((await ask(one.label)).status).toBe(200);
  });
});
