import { SigningKey, Wallet, toBeHex } from 'ethers';
import { generatePrivateKey } from 'viem/accounts';
import type { ApiKeyRecord, MasterClaim } from '../../../core/ports/stores/access.js';
import { authenticate, TIMESTAMP_WINDOW_MS, type Authenticated, type IncomingRequest } from '../../../core/access/authenticate.js';
import { apiKeyHash } from '../../../core/access/api-keys.js';
import { createRequestAccess, type AccessSettings } from '../../../core/access/request-access.js';
import { LAUNCH_LIMITS, type Window } from '../../../core/access/limits.js';
import type { Scope } from '../../../core/domain/agent.js';
import { GatewayError } from '../../../core/errors.js';
import { venueOf, type Gateway, type Venue } from '../../../core/gateway.js';
import type { Address } from '../../../core/types.js';
import type { ChainControls } from '../../../sandbox/controls.js';
import { newTrader } from '../../harness/traders/chain-trader.js';
import { startOwnVenue, type TestVenue } from '../../harness/venue/own-venue.js';
import { headerReader, signRequest } from '../../harness/traders/signed-request.js';

const CHAIN = 'arbitrum-sepolia';
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const SCOPE: Scope = { markets: 'all', maxLeverage: null, dailySpendCapUsd: null, expiresAt: null, permissions: 'trade' };
const READ = { operationId: 'listPositions', method: 'GET', path: `/v1/${CHAIN}/account/0x1/positions?x=1` };
const WRITE = { operationId: 'createOrder', method: 'POST', path: `/v1/${CHAIN}/orders`, body: new TextEncoder().encode('{"a": 1}') };
type Ask = typeof READ & { body?: Uint8Array };

const lower = (address: string): Address => address.toLowerCase() as Address;

describe('authentication', () => {
  let sandbox: TestVenue;
  let gateway: Gateway;
  let venue: Venue;
  let chain: ChainControls;
  beforeAll(async () => {
    sandbox = await startOwnVenue();
    gateway = sandbox.gateway;
    venue = venueOf(gateway, CHAIN);
    const found = sandbox.controls.chains.find(({ definition }) => definition.slug === CHAIN);
    if (!found) throw new Error('the sandbox has no such chain');
    chain = found;
  });
  afterAll(() => sandbox.stop());

  /** Another process on the same database, with empty caches. */
  const replica = (settings: Partial<AccessSettings> = {}): Gateway => {
    const { serviceName, store, clock, log, access } = gateway;
    const sockets = access.sockets.limits;
    const defaults = { limits: LAUNCH_LIMITS, infoWeight: 1_200, sockets, headerPrefixes: ['X-Service-'], trustedProxies: [] };
    const made = createRequestAccess({ ...defaults, ...settings, serviceName, crypto: access.crypto, store, clock, log });
    replicas.push(made);
    return { ...gateway, access: made };
  };
  const replicas: Gateway['access'][] = [];
  afterEach(() => replicas.splice(0).forEach((access) => access.stop()));

  let messages = 0;
  const claim = (trader: Address, subject: string): MasterClaim => ({
    chain: CHAIN,
    trader,
    primaryType: 'AgentAuthorization',
    digest: toBeHex((messages += 1), 32) as Address,
    timestamp: Date.now() + messages,
    subject,
    cosigner: null,
    expiresAt: Date.now() + 60_000,
  });

  /** A trader who signs for itself by default. */
  const register = async (scope: Partial<Scope> = {}, trader?: Address, wallet = randomWallet(), mode: 'self' | 'relayed' = 'self') => {
    const agent = lower(wallet.address);
    const registration = { agent, trader: trader ?? agent, name: '', mode, scope: { ...SCOPE, ...scope }, createdAt: Date.now() };
    await gateway.store.access.authoriseAgent(claim(registration.trader, agent), registration, 'any');
    return wallet;
  };
  const randomWallet = (): Wallet => new Wallet(generatePrivateKey());

  const ask = (headers: Readonly<Record<string, string>>, request: Partial<IncomingRequest> = {}, at = gateway): Promise<Authenticated> =>
    authenticate(at, venue, { ...READ, body: new Uint8Array(), isWrite: false, auth: 'reader', header: headerReader(headers), ...request });
  const signed = (wallet: Wallet, request: Ask = READ, more: Partial<Parameters<typeof signRequest>[2]> = {}) =>
    signRequest(wallet, venue.definition, { ...request, ...more });
  const asWrite: Partial<IncomingRequest> = { ...WRITE, isWrite: true, auth: 'agent' };

  /** The refusal of a request, as a client would see it. */
  const refusal = async (asked: Promise<unknown>): Promise<{ code: string; details: unknown }> => {
    const error: unknown = await asked.then(
      () => new Error('it was accepted'),
      (reason: unknown) => reason,
    );
    if (!(error instanceof GatewayError)) throw error;
    return { code: error.code, details: error.details };
  };
  const code = async (asked: Promise<unknown>): Promise<string> => (await refusal(asked)).code;

  it('names the caller of a request that ethers signed', async () => {
    const wallet = await register();
    const agent = lower(wallet.address);
    const { caller, windows } = await ask(await signed(wallet));
    expect(caller).toEqual({ via: 'agent', trader: agent, agent, sender: agent, mode: 'self', scope: SCOPE });
    expect(windows).toEqual([expect.objectContaining({ scope: 'agent', limit: 300, remaining: 299 })]);
  });

  it('counts a write in both buckets', async () => {
    const { windows } = await ask(await signed(await register(), WRITE), asWrite);
    expect(windows.map(({ scope, remaining }) => [scope, remaining])).toEqual([
      ['agent', 299],
      ['agent-writes', 59],
    ]);
  });

  it('keeps a nonce for longer than any replica accepts its timestamp', async () => {
    const { access } = gateway;
    const kept: number[] = [];
    const admit: typeof access.admission.admit = (entry) => {
      kept.push(entry.keepUntil);
      return access.admission.admit(entry);
    };
    const headers = await signed(await register());
    await ask(headers, {}, { ...gateway, access: { ...access, admission: { ...access.admission, admit } } });
    // Twice the window, because the clocks of replicas differ.
    expect(kept).toEqual([Number(headers['X-Service-Timestamp']) + 2 * TIMESTAMP_WINDOW_MS]);
  });

  it('needs no credentials for requests without a caller', async () => {
    expect(await ask({}, { auth: 'none' })).toEqual({ caller: null, windows: [] });
    expect(await ask({ 'X-Service-Agent': 'nonsense' }, { auth: 'master' })).toEqual({ caller: null, windows: [] });
  });

  it('accepts the largest nonce and zero, a path in any script, capitals in hex and v of 0 or 1', async () => {
    const wallet = await register();
    for (const nonce of [2n ** 256n - 1n, 0n, 9007199254740993n]) await ask(await signed(wallet, READ, { nonce }));
    const path = `/v1/${CHAIN}/account/0x1/positions?q=ü₿/%2F`;
    await ask(await signed(wallet, { ...READ, path }), { path: Buffer.from(path).toString('latin1') });
    const { 'X-Service-Signature': signature = '', 'X-Service-Agent': agent = '', ...rest } = await signed(wallet);
    const bare = `${signature.slice(0, -2)}${signature.endsWith('1b') ? '00' : '01'}`;
    const capitals = `0x${bare.slice(2).toUpperCase()}`;
    await ask({ ...rest, 'X-Service-Agent': `0x${agent.slice(2).toUpperCase()}`, 'X-Service-Signature': capitals });
  });

  describe('without credentials', () => {
    it('is UNAUTHENTICATED', async () => expect(await code(ask({}))).toBe('UNAUTHENTICATED'));

    it.each(['Agent', 'Timestamp', 'Nonce', 'Signature'])('names a missing header %s', async (name) => {
      const headers = Object.entries(await signed(randomWallet())).filter(([given]) => given !== `X-Service-${name}`);
      const missing = { code: 'UNAUTHENTICATED', details: { missing: [`X-Service-${name}`] } };
      expect(await refusal(ask(Object.fromEntries(headers)))).toEqual(missing);
    });

    it('is UNAUTHENTICATED with an API key where only an agent may ask', async () => {
      expect(await code(ask({ 'X-Service-Api-Key': 'dg_x' }, asWrite))).toBe('UNAUTHENTICATED');
    });
  });

  it.each([
    ['Agent', '0x12'],
    ['Agent', `0x${'g'.repeat(40)}`],
    ['Timestamp', ''],
    ['Timestamp', '1e12'],
    ['Timestamp', '-1'],
    ['Timestamp', '01'],
    ['Timestamp', '1.5'],
    ['Nonce', ''],
    ['Nonce', '01'],
    ['Nonce', '-1'],
    ['Nonce', '0x1'],
    ['Nonce', '1, 1'],
    ['Nonce', '١'],
    ['Nonce', (2n ** 256n).toString()],
    ['Nonce', '9'.repeat(79)],
  ])('refuses a header %s of %j by its name', async (name, value) => {
    const headers = { ...(await signed(await register())), [`X-Service-${name}`]: value };
    const { code: refused, details } = await refusal(ask(headers));
    expect(refused).toBe('VALIDATION_ERROR');
    expect(details).toEqual({ issues: [{ path: `X-Service-${name}`, message: expect.any(String) }] });
  });

  it.each(['', '0x', 'nonsense', `0x${'00'.repeat(65)}`, `0x${'ff'.repeat(65)}`, `0x${'11'.repeat(64)}1d`, `0x${'11'.repeat(66)}`])(
    'answers INVALID_SIGNATURE to the signature %j',
    async (signature) => {
      expect(await code(ask({ ...(await signed(await register())), 'X-Service-Signature': signature }))).toBe('INVALID_SIGNATURE');
    },
  );

  it('refuses the second form of a good signature, with s in the upper half', async () => {
    const headers = await signed(await register());
    const { 'X-Service-Signature': good = '' } = headers;
    const s = toBeHex(ORDER - BigInt(`0x${good.slice(66, 130)}`), 32).slice(2);
    const mirrored = `${good.slice(0, 66)}${s}${good.endsWith('1b') ? '1c' : '1b'}`;
    expect(await code(ask({ ...headers, 'X-Service-Signature': mirrored }))).toBe('INVALID_SIGNATURE');
    await ask(headers);
  });

  it.each<[string, Partial<IncomingRequest>]>([
    ['path', { path: `${READ.path}&y=2` }],
    ['query order', { path: READ.path.replace('?x=1', '?X=1') }],
    ['method', { method: 'DELETE' }],
    ['operation', { operationId: 'listFills' }],
    ['body', { body: new TextEncoder().encode(' ') }],
  ])('refuses a signature over another %s, and leaves the nonce unused', async (_what, changes) => {
    const headers = await signed(await register());
    expect(await code(ask(headers, changes))).toBe('INVALID_SIGNATURE');
    await ask(headers);
  });

  it.each(['Timestamp', 'Nonce'])('refuses a changed %s', async (name) => {
    const headers = await signed(await register());
    const changed = String(BigInt(headers[`X-Service-${name}`] ?? '0') + 1n);
    expect(await code(ask({ ...headers, [`X-Service-${name}`]: changed }))).toBe('INVALID_SIGNATURE');
  });

  it('refuses a signature made for another chain, another deployment or by another agent', async () => {
    const [wallet, other] = [await register(), await register()];
    const elsewhere = await signRequest(wallet, { ...venue.definition, chainId: 1 }, READ);
    const branded = await signRequest(wallet, venue.definition, READ, { serviceName: 'Other' });
    const borrowed = { ...(await signed(wallet)), 'X-Service-Agent': other.address };
    expect(await Promise.all([elsewhere, branded, borrowed].map((headers) => code(ask(headers))))).toEqual(
      Array.from({ length: 3 }, () => 'INVALID_SIGNATURE'),
    );
  });

  it.each([-31_000, 31_000])('refuses a timestamp %d ms away', async (offset) => {
    const headers = await signed(await register(), READ, { timestamp: Date.now() + offset });
    const { code: refused, details } = await refusal(ask(headers));
    expect(refused).toBe('TIMESTAMP_OUT_OF_WINDOW');
    expect(details).toMatchObject({ windowMs: 30_000, serverTime: expect.any(Number) });
  });

  it('refuses seconds, microseconds and numbers beyond all time as out of the window', async () => {
    const wallet = await register();
    for (const timestamp of ['0', String(Math.floor(Date.now() / 1000)), `${Date.now()}000`, '9'.repeat(77)])
      expect(await code(ask(await signed(wallet, READ, { timestamp })))).toBe('TIMESTAMP_OUT_OF_WINDOW');
  });

  it.each([-29_000, 29_000])('accepts a timestamp %d ms away', async (offset) => {
    await ask(await signed(await register(), READ, { timestamp: Date.now() + offset }));
  });

  it('does not know an agent that was never registered, nor one of another chain', async () => {
    const wallet = randomWallet();
    const { code: refused, details } = await refusal(ask(await signed(wallet)));
    expect([refused, details]).toEqual(['AGENT_UNKNOWN', { agent: wallet.address }]);
  });

  it('takes a nonce once: not again here, not on another replica, not at the same time', async () => {
    const wallet = await register();
    const headers = await signed(wallet);
    await ask(headers);
    expect(await code(ask(headers))).toBe('NONCE_REUSED');
    expect(await code(ask(headers, {}, replica()))).toBe('NONCE_REUSED');

    const race = await signed(wallet);
    const [one, two] = [replica(), replica()];
    const results = await Promise.allSettled(Array.from({ length: 20 }, (_, index) => ask(race, {}, index % 2 ? one : two)));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  describe('of an agent that is not active', () => {
    it('reports a missing delegation, with the transaction that makes it and the current delegate', async () => {
      const holder = lower(randomWallet().address);
      const trader = await newTrader(chain, { delegate: holder });
      const wallet = await register({}, lower(trader.account.address));
      const { code: refused, details } = await refusal(ask(await signed(wallet)));
      expect(refused).toBe('AGENT_NOT_DELEGATED');
      expect(details).toMatchObject({ delegate: holder, delegationTx: { to: venue.definition.diamond, chainId: 421614 } });
    });

    it('lets it in once the trader has delegated to it', async () => {
      const wallet = randomWallet();
      const trader = await newTrader(chain, { delegate: lower(wallet.address) });
      await register({}, lower(trader.account.address), wallet);
      const { caller } = await ask(await signed(wallet));
      expect(caller).toMatchObject({ trader: lower(trader.account.address), agent: lower(wallet.address) });
    });

    it('refuses it once expired, reads included, and the nonce is spent', async () => {
      const wallet = await register({ expiresAt: Date.now() - 1 });
      const headers = await signed(wallet);
      expect(await code(ask(headers))).toBe('AGENT_EXPIRED');
      expect(await code(ask(headers))).toBe('NONCE_REUSED');
    });

    it('refuses it from the moment it is revoked, on a replica that has cached it as active', async () => {
      const wallet = await register();
      const other = replica();
      await ask(await signed(wallet), {}, other);
      await ask(await signed(wallet), {}, other);
      const agent = lower(wallet.address);
      await gateway.store.access.revokeAgent({ ...claim(agent, agent), primaryType: 'AgentRevocation' }, agent, Date.now());
      expect(await code(ask(await signed(wallet), {}, other))).toBe('AGENT_REVOKED');
      expect(await code(ask(await signed(wallet)))).toBe('AGENT_REVOKED');
    });

    it('applies a changed scope at once on a replica that has cached the old one', async () => {
      const wallet = await register();
      const other = replica();
      await ask(await signed(wallet, WRITE), asWrite, other);
      await register({ permissions: 'read' }, undefined, wallet);
      expect(await code(ask(await signed(wallet, WRITE), asWrite, other))).toBe('SCOPE_READ_ONLY');
      await ask(await signed(wallet), {}, other);
      await register({}, undefined, wallet);
      await ask(await signed(wallet, WRITE), asWrite, other);
    });
  });

  it('lets a read agent read and not write', async () => {
    const wallet = await register({ permissions: 'read' });
    await ask(await signed(wallet));
    expect(await refusal(ask(await signed(wallet, WRITE), asWrite))).toEqual({
      code: 'SCOPE_READ_ONLY',
      details: { agent: lower(wallet.address) },
    });
  });

  it('sends the writes of a relayed agent to the facade, unless it is expired', async () => {
    const wallet = await register({}, lower(randomWallet().address), randomWallet(), 'relayed');
    const { code: refused, details } = await refusal(ask(await signed(wallet, WRITE), asWrite));
    expect([refused, details]).toEqual(['UNSUPPORTED', { reason: expect.stringContaining(`/hl/${CHAIN}`) }]);
    const expired = await register({ expiresAt: 1 }, lower(randomWallet().address), randomWallet(), 'relayed');
    expect(await code(ask(await signed(expired, WRITE), asWrite))).toBe('AGENT_EXPIRED');
  });

  describe('by API key', () => {
    const issue = async (label: string, trader = lower(randomWallet().address)): Promise<ApiKeyRecord & { key: string }> => {
      const key = `dg_${Buffer.from(SigningKey.computePublicKey(randomWallet().privateKey).slice(-64), 'hex').toString('base64url')}`;
      const hash = apiKeyHash(key) ?? '';
      await gateway.store.access.saveApiKey(
        { ...claim(trader, `api-key:${label}`), primaryType: 'ApiKeyIssue' },
        { hash, label, expiresAt: null },
        Date.now(),
      );
      return { chain: CHAIN, hash, trader, label, expiresAt: null, key };
    };

    it('names the trader, and counts as an agent', async () => {
      const { key, trader } = await issue('desk');
      const { caller, windows } = await ask({ 'X-Service-Api-Key': key });
      expect(caller).toEqual({ via: 'apiKey', trader, label: 'desk' });
      expect(windows).toEqual([expect.objectContaining({ scope: 'agent', remaining: 299 })]);
      expect((await ask({ 'X-Service-Api-Key': key })).windows[0]?.remaining).toBe(298);
    });

    it('does not know keys that were never issued, whatever they look like', async () => {
      for (const key of ['', 'x', `dg_${'A'.repeat(43)}`, 'dg_'.repeat(10_000), `dg_${'é'.repeat(43)}`])
        expect(await code(ask({ 'X-Service-Api-Key': key }))).toBe('API_KEY_UNKNOWN');
    });

    it('refuses the old key at once when the same label is issued again, on every replica', async () => {
      const old = await issue('desk');
      const other = replica();
      await ask({ 'X-Service-Api-Key': old.key }, {}, other);
      const fresh = await issue('desk', old.trader);
      expect(await code(ask({ 'X-Service-Api-Key': old.key }, {}, other))).toBe('API_KEY_UNKNOWN');
      await ask({ 'X-Service-Api-Key': fresh.key }, {}, other);
    });
  });

  it('accepts further header prefixes side by side', async () => {
    const wallet = await register();
    const both = replica({ headerPrefixes: ['X-Service-', 'X-Other-'] });
    const branded = await signRequest(wallet, venue.definition, READ, { prefix: 'X-Other-' });
    await ask(branded, {}, both);
    await ask(await signed(wallet), {}, both);
    expect(await code(ask(branded))).toBe('UNAUTHENTICATED');
  });

  describe('beyond the limits', () => {
    it('is refused by the bucket that is full, and still returns the windows', async () => {
      const wallet = await register();
      const strict = replica({ limits: { ip: 600, agent: 3, 'agent-writes': 1 } });
      const seen: (readonly Window[])[] = [];
      const onCounted = (windows: readonly Window[]): void => void seen.push(windows);
      await ask(await signed(wallet, WRITE), { ...asWrite, onCounted }, strict);
      const write = await refusal(ask(await signed(wallet, WRITE), { ...asWrite, onCounted }, strict));
      expect(write).toMatchObject({ code: 'RATE_LIMITED', details: { scope: 'agent-writes' } });
      await ask(await signed(wallet), {}, strict);
      await ask(await signed(wallet), {}, strict);
      expect(await refusal(ask(await signed(wallet), {}, strict))).toMatchObject({ code: 'RATE_LIMITED', details: { scope: 'agent' } });
      expect(seen.map((windows) => windows.map(({ isExceeded }) => isExceeded))).toEqual([
        [false, false],
        [false, true],
      ]);
    });

    it('cannot be caused by forged requests, which do not count', async () => {
      const wallet = await register();
      const strict = replica({ limits: { ip: 600, agent: 1, 'agent-writes': 1 } });
      const forged = { ...(await signed(randomWallet())), 'X-Service-Agent': wallet.address };
      for (let turn = 0; turn < 3; turn += 1) expect(await code(ask(forged, {}, strict))).toBe('INVALID_SIGNATURE');
      await ask(await signed(wallet), {}, strict);
    });
  });
});
