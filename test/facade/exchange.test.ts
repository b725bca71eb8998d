import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { Wallet } from 'ethers';
import { generatePrivateKey } from 'viem/accounts';
import { ACTIONS } from '../../facade/actions/index.js';
import { newTrader, type ChainTrader } from '../harness/traders/chain-trader.js';
import { startSecondGateway } from '../harness/venue/second-gateway.js';
import { approveAgent, nextNonce, order, orderAction, postExchange, signL1, signUserSigned } from '../harness/hyperliquid/exchange.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';
import { venueDatabase } from '../harness/venue/venue-database.js';

const CHAIN = 'arbitrum-sepolia';
const NETWORK_ERROR = { msg: expect.any(String), data: null, code: expect.any(String), message: expect.any(String) };
const DONE = { status: 'ok', response: { type: 'default' } };

let sandbox: TestVenue;
let trader: ChainTrader;
let agent: Wallet;

beforeAll(async () => {
  sandbox = await sharedVenue();
  const [chain] = sandbox.controls.chains;
  if (!chain) throw new Error('no chain');
  trader = await newTrader(chain);
  agent = new Wallet(generatePrivateKey());
  const approval = await approveAgent(new Wallet(trader.privateKey), agent.address, null, { network: 'Testnet' });
  expect(await postExchange(sandbox.url, CHAIN, approval)).toMatchObject({ status: 200, body: { status: 'ok' } });
});
afterAll(() => sandbox.stop());

const post = (body: unknown, init?: Parameters<typeof postExchange>[3]) => postExchange(sandbox.url, CHAIN, body, init);
const err = (response: unknown) => ({ status: 200, body: { status: 'err', response } });

describe('the exchange handler', () => {
  it('takes a no-op of an agent, on either network, at any spelling of its path', async () => {
    for (const [source, path] of [
      ['a', `/hl/${CHAIN}/exchange`],
      ['b', `/hl/${CHAIN}//exchange`],
      ['a', `/hl/${CHAIN}/exchange/`],
      ['b', `//hl//${CHAIN}//exchange//`],
    ] as const)
      expect(await post(await signL1(agent, { type: 'noop' }, { source }), { path })).toMatchObject({ status: 200, body: DONE });
  });

  it('is open to web pages and takes any content type, none, and gzip', async () => {
    const preflight = await fetch(`${sandbox.url}/hl/${CHAIN}/exchange`, { method: 'OPTIONS' });
    expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, '*']);
    const plain = await post(await signL1(agent, { type: 'noop' }), { headers: { 'Content-Type': 'text/plain' } });
    expect(plain).toMatchObject({ status: 200, body: DONE });
    expect(plain.headers.get('access-control-allow-origin')).toBe('*');
    expect(plain.headers.get('content-type')).toContain('application/json');
    for (const encoding of ['gzip', 'GZIP']) {
      const packed = await fetch(`${sandbox.url}/hl/${CHAIN}/exchange`, {
        method: 'POST',
        body: gzipSync(JSON.stringify(await signL1(agent, { type: 'noop' }))),
        headers: { 'Content-Encoding': encoding },
      });
      expect([packed.status, await packed.json()]).toEqual([200, DONE]);
    }
  });

  it('keeps of a body what was signed, and nothing else that came with it', async () => {
    const [chain] = sandbox.controls.chains;
    if (!chain) throw new Error('no chain');
    const owner = await newTrader(chain, { delegate: sandbox.controls.relayer });
    const bot = new Wallet(generatePrivateKey());
    await post(await approveAgent(new Wallet(owner.privateKey), bot.address, null, { network: 'Testnet' }));
    const body = await signL1(bot, { type: 'cancel', cancels: [{ a: 0, o: 1 }], note: 'hashed too' });
    const padding = 'x'.repeat(100_000);
    const sent = { ...body, padding, signature: { ...body.signature, padding }, isFrontend: true };
    expect((await post(`${' '.repeat(50_000)}${JSON.stringify(sent, null, 4)}`)).body).toMatchObject({ status: 'ok' });
    const database = await venueDatabase(sandbox);
    const { rows } = await database.query<{ envelope: string }>('select envelope from relay_actions where signer = $1', [
      bot.address.toLowerCase(),
    ]);
    await database.end();
    expect(rows.map(({ envelope }) => envelope)).toEqual([JSON.stringify(body)]);
    const large = await post(await signL1(bot, { type: 'cancel', cancels: [{ a: 0, o: 1 }], note: 'x'.repeat(2_000) }));
    expect(large).toMatchObject({ status: 422, body: { code: 'VALIDATION_ERROR' } });
  });

  it('takes numbers of a signature without zeros in front and without 0x, v from zero, and keys it does not know', async () => {
    const body = await signL1(agent, { type: 'setReferrer', code: 'CCXT1' });
    const { r, s, v } = body.signature;
    const bare = { r: r.slice(2).replace(/^0+/, ''), s: s.slice(2).replace(/^0+/, '').toUpperCase(), v: v - 27 };
    expect(await post({ ...body, signature: bare, isFrontend: true, vaultAddress: '' })).toMatchObject({ status: 200, body: DONE });
  });

  it('takes what ccxt sends unasked, from any signer, and stores nothing of unknown ones', async () => {
    const stranger = new Wallet(generatePrivateKey());
    const fee = await signUserSigned(stranger, ['approveBuilderFee', 'ApproveBuilderFee', 'string maxFeeRate', 'address builder'], {
      maxFeeRate: '0.01%',
      builder: '0x6530512A6c89C7cfCEbC3BA7fcD9aDa5f30827a6',
    });
    const referrer = await signL1(stranger, { type: 'setReferrer', code: 'CCXT1' });
    for (const body of [fee, fee, referrer, referrer]) expect(await post(body)).toMatchObject({ status: 200, body: DONE });
  });

  it('names an unknown signer, in the words clients look for', async () => {
    const stranger = new Wallet(generatePrivateKey());
    const answer = await post(await signL1(stranger, orderAction()));
    expect(answer).toMatchObject(err(expect.stringContaining(`User or API Wallet ${stranger.address.toLowerCase()} does not exist.`)));
  });

  it('answers 503 CHAIN_READ_ONLY without a relayer', async () => {
    const readOnly = await startSecondGateway(sandbox);
    const bodies = [await signL1(agent, orderAction()), await signL1(agent, { type: 'noop' })];
    for (const body of bodies)
      expect(await postExchange(readOnly.url, CHAIN, body)).toMatchObject({
        status: 503,
        body: { ...NETWORK_ERROR, code: 'CHAIN_READ_ONLY', details: { chain: CHAIN } },
      });
    expect(await postExchange(readOnly.url, CHAIN, '{')).toMatchObject({ status: 400 });
    await readOnly.stop();
  });

  it('refuses vaults, what has expired and more than two hundred items', async () => {
    const vaultAddress = '0x1719884eb866cb12b2287399b15f7db5e7d775ea';
    expect(await post(await signL1(agent, { type: 'noop' }, { vaultAddress }))).toMatchObject(err(`Vault not registered: ${vaultAddress}`));
    const bare = await signL1(agent, { type: 'noop' }, { vaultAddress });
    expect(await post({ ...bare, vaultAddress: vaultAddress.slice(2) })).toMatchObject(err(`Vault not registered: ${vaultAddress}`));
    expect(await post(await signL1(agent, orderAction(), { expiresAfter: Date.now() - 1 }))).toMatchObject(
      err(expect.stringMatching(/^Action already expired\. Its expiresAfter \d+ is \d+\.\d s behind the server's clock/)),
    );
    expect(await post(await signL1(agent, { type: 'noop' }, { expiresAfter: Date.now() + 60_000 }))).toMatchObject({ body: DONE });
    const many = orderAction(...Array.from({ length: 201 }, () => order()));
    expect(await post(await signL1(agent, many))).toMatchObject(err('Signed action over weight limit of 200.'));
    const cancels = { type: 'cancel', cancels: Array.from({ length: 201 }, () => ({ a: 0, o: 1 })) };
    expect(await post(await signL1(agent, cancels))).toMatchObject(err('Signed action over weight limit of 200.'));
    const most = orderAction(...Array.from({ length: 200 }, () => order()));
    expect(JSON.stringify((await post(await signL1(agent, most))).body)).not.toContain('weight');
  });

  it('says so when the numbers of a signature belong to no key', async () => {
    const body = await signL1(agent, { type: 'noop' });
    const r = `0x${'f'.repeat(64)}`;
    expect(await post({ ...body, signature: { ...body.signature, r } })).toMatchObject(
      err(expect.stringMatching(/^Unable to recover signer\. A contract wallet cannot sign in this form/) as unknown as string),
    );
  });

  it('knows no other chain, and says which there are', async () => {
    for (const path of ['/hl/solana/exchange', '/hl/exchange'])
      expect(await post(await signL1(agent, { type: 'noop' }), { path })).toMatchObject({
        status: 404,
        body: { ...NETWORK_ERROR, code: 'CHAIN_NOT_FOUND', details: { available: [CHAIN] } },
      });
  });

  it('answers other methods and other words without a page of HTML', async () => {
    for (const [method, path, status] of [
      ['GET', `/hl/${CHAIN}/exchange`, 405],
      ['PUT', `/hl/${CHAIN}/exchange`, 405],
      ['POST', `/hl/${CHAIN}/orders`, 404],
      ['GET', '/hl', 404],
    ] as const) {
      const response = await fetch(`${sandbox.url}${path}`, { method });
      expect([path, response.status]).toEqual([path, status]);
      expect(await response.text()).not.toContain('<');
    }
  });
});

describe('a body that fits nothing', () => {
  const signature = { r: '0x1', s: '0x1', v: 27 };
  const noop = { action: { type: 'noop' }, nonce: 1, signature };
  const withOrder = (changes: Record<string, unknown>) => ({ ...noop, action: orderAction(order(changes)) });

  it.each([
    ['nothing', ''],
    ['no JSON', '{"action":'],
    ['JSON with something behind it', '{} {}'],
    ['a comma too many', '{"action":{"type":"noop",},"nonce":1}'],
    ['a key twice', '{"action":{"type":"noop","type":"order"},"nonce":1,"signature":{"r":"0x1","s":"0x1","v":27}}'],
    ['a key twice in another spelling', '{"nonce":1,"n\\u006fnce":2}'],
    ['__proto__', '{"__proto__":{"a":1}}'],
    ['half a surrogate pair', '{"action":{"type":"\\ud800"}}'],
    ['a NUL', '{"action":{"type":"a\\u0000"}}'],
    ['lists without end', '['.repeat(5000)],
    ['nesting without end', `${'['.repeat(100)}${']'.repeat(100)}`],
    ['a megabyte', JSON.stringify({ ...noop, padding: 'x'.repeat(1024 * 1024) })],
  ])('%s is no JSON for us: 400', async (_name, text) => {
    expect(await post(text)).toMatchObject({ status: 400, body: { ...NETWORK_ERROR, code: 'VALIDATION_ERROR' } });
  });

  it.each<[string, unknown]>([
    ['a list', []],
    ['a number', 5],
    ['no action', { nonce: 1, signature }],
    ['an action that is a text', { ...noop, action: 'noop' }],
    ['an action without a type', { ...noop, action: {} }],
    ['no nonce', { action: { type: 'noop' }, signature }],
    ['a nonce in quotes', { ...noop, nonce: '1' }],
    ['a negative nonce', { ...noop, nonce: -1 }],
    ['no signature', { action: { type: 'noop' }, nonce: 1 }],
    ['a signature of letters', { ...noop, signature: { r: 'xyz', s: '0x1', v: 27 } }],
    ['a signature as one text', { ...noop, signature: `0x${'1'.repeat(130)}` }],
    ['v 29', { ...noop, signature: { ...signature, v: 29 } }],
    ['a vault that is no address', { ...noop, vaultAddress: '0x12' }],
    ['an expiry in quotes', { ...noop, expiresAfter: '5' }],
    ['an order without a size', withOrder({ s: undefined })],
    ['a price that is a number', withOrder({ p: 60000 })],
    ['a price with an exponent', withOrder({ p: '6e4' })],
    ['a negative price', withOrder({ p: '-1' })],
    ['an endless price', withOrder({ p: '1'.repeat(100) })],
    ['an asset in quotes', withOrder({ a: '0' })],
    ['a negative asset', withOrder({ a: -1 })],
    ['an asset beyond all numbers', withOrder({ a: 1e20 })],
    ['a side that is a number', withOrder({ b: 1 })],
    ['an unknown time in force', withOrder({ t: { limit: { tif: 'Day' } } })],
    ['neither limit nor trigger', withOrder({ t: {} })],
    ['both of them', withOrder({ t: { limit: { tif: 'Gtc' }, trigger: { isMarket: true, triggerPx: '1', tpsl: 'sl' } } })],
    ['two names for one asset', withOrder({ asset: 1 })],
    ['a cloid that is too short', withOrder({ c: '0x12' })],
    ['orders that are no list', { ...noop, action: { type: 'order', orders: {}, grouping: 'na' } }],
    ['an unknown grouping', { ...noop, action: { ...orderAction(), grouping: 'all' } }],
    ['an order id with a fraction', { ...noop, action: { type: 'cancel', cancels: [{ a: 0, o: 1.5 }] } }],
    [
      'an approval without a chain',
      { ...noop, action: { type: 'approveAgent', hyperliquidChain: 'Testnet', agentAddress: `0x${'1'.repeat(40)}`, nonce: 1 } },
    ],
    [
      'a builder’s fee without a builder',
      { ...noop, action: { type: 'approveBuilderFee', signatureChainId: '0x1', hyperliquidChain: 'Mainnet', maxFeeRate: '1%', nonce: 1 } },
    ],
  ])('%s fits no schema: 422', async (_name, body) => {
    expect(await post(body)).toMatchObject({ status: 422, body: { ...NETWORK_ERROR, code: 'VALIDATION_ERROR' } });
  });

  it.each([
    ['10.0', 'a'],
    ['1e1', 'a'],
    ['-0', 'a'],
    ['1.0', 'v'],
  ])('%s is no integer, although many readers say so', async (number, field) => {
    const text = JSON.stringify(withOrder({ a: 777 })).replace(field === 'a' ? '"a":777' : '"v":27', `"${field}":${number}`);
    expect(await post(text)).toMatchObject({ status: 422, body: { code: 'VALIDATION_ERROR' } });
    const hidden = `{"action":{"type":"claimRewards","usd":${number}},"nonce":1,"signature":{"r":"0x1","s":"0x1","v":27}}`;
    expect(await post(hidden)).toMatchObject({ status: 422, body: { code: 'VALIDATION_ERROR' } });
  });

  it('refuses a key that is an integer, because no client could have signed its place: 422', async () => {
    for (const action of [
      '{"type":"claimRewards","2":1}',
      '{"type":"order","orders":[{"a":0,"b":true,"p":"1","s":"1","r":false,"t":{"limit":{"tif":"Gtc"}},"2":1}],"grouping":"na"}',
    ])
      expect(await post(`{"action":${action},"nonce":1,"signature":{"r":"0x1","s":"0x1","v":27}}`)).toMatchObject({
        status: 422,
        body: {
          ...NETWORK_ERROR,
          code: 'VALIDATION_ERROR',
          message: expect.stringContaining('action: holds a key that is an integer, "2"'),
        },
      });
  });

  it('refuses an action of more levels than can be packed, by the limit for every body: 400', async () => {
    const deep = `${'['.repeat(101)}${']'.repeat(101)}`;
    expect(await post(`{"action":{"type":"claimRewards","a":${deep}},"nonce":1,"signature":{"r":"0x1","s":"0x1","v":27}}`)).toMatchObject({
      status: 400,
      body: { ...NETWORK_ERROR, code: 'VALIDATION_ERROR', message: expect.stringContaining('is nested deeper than 32 levels') },
    });
  });

  it('refuses an unknown action by its name, for any signer', async () => {
    expect(await post(await signL1(agent, { type: 'dummy' }))).toMatchObject({
      status: 422,
      body: { ...NETWORK_ERROR, code: 'UNSUPPORTED', message: expect.stringContaining('"dummy"') },
    });
    expect(await post(await signL1(agent, { type: 'constructor' }))).toMatchObject({ status: 422, body: { code: 'UNSUPPORTED' } });
  });

  it('spends no nonce', async () => {
    const nonce = nextNonce();
    expect(await post({ ...(await signL1(agent, { type: 'noop' }, { nonce })), vaultAddress: 5 })).toMatchObject({ status: 422 });
    expect(await post(await signL1(agent, { type: 'noop' }, { nonce }))).toMatchObject({ status: 200, body: DONE });
  });
});

describe('any body at all', () => {
  const types = [...ACTIONS.keys(), 'dummy'];
  const number = fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.maxSafeInteger());
  const leaf = fc.oneof(
    number,
    fc.string(),
    fc.boolean(),
    fc.constant(null),
    fc.constantFrom('100', '9'.repeat(60), '0x', 'Testnet', 'na', '0x66eee'),
  );
  const key = fc.constantFrom(
    'a',
    'b',
    'p',
    's',
    'r',
    't',
    'c',
    'o',
    'oid',
    'orders',
    'order',
    'cancels',
    'modifies',
    'time',
    'nonce',
    'asset',
    'cloid',
    'limit',
    'tif',
    'payload',
    'hyperliquidChain',
    'signatureChainId',
    'toString',
    '1',
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof({ maxDepth: 3 }, leaf, fc.array(tie('tree'), { maxLength: 3 }), fc.dictionary(key, tie('tree'), { maxKeys: 6 })),
  }));
  const signature = fc.record({
    r: fc.uint8Array({ minLength: 32, maxLength: 32 }),
    s: fc.uint8Array({ minLength: 32, maxLength: 32 }),
    v: fc.constantFrom(27, 28),
  });
  const body = fc.record({ type: fc.constantFrom(...types), fields: fc.dictionary(key, tree, { maxKeys: 8 }), nonce: fc.nat(), signature });

  it('has an answer that is JSON and no failure of ours', async () => {
    await fc.assert(
      fc.asyncProperty(body, async ({ type, fields, nonce, signature: { r, s, v } }) => {
        const hex = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString('hex')}`;
        const { status } = await post({ action: { type, ...fields }, nonce, signature: { r: hex(r), s: hex(s), v } });
        expect([200, 422]).toContain(status);
      }),
      { numRuns: 300 },
    );
    expect(sandbox.log.entries.filter(({ event }) => event === 'facade.internal-error')).toEqual([]);
  });
});
