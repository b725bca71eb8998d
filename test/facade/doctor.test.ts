import { encode } from '@msgpack/msgpack';
import { concat, keccak256, SigningKey, toBeHex, toUtf8Bytes, Wallet } from 'ethers';
import { generatePrivateKey } from 'viem/accounts';
import { createRequestAccess } from '../../core/access/request-access.js';
import { LAUNCH_LIMITS } from '../../core/access/limits.js';
import { createExchangeHandler } from '../../facade/exchange.js';
import type { GatewayError } from '../../core/errors.js';
import { venueOf } from '../../core/gateway.js';
import { createManualClock } from '../harness/time/manual-clock.js';
import { newTrader } from '../harness/traders/chain-trader.js';
import {
  approveAgent,
  nextNonce,
  order,
  orderAction,
  postExchange,
  signL1,
  type ExchangeBody,
  type L1Options,
} from '../harness/hyperliquid/exchange.js';
import { authorization, domainOf, signWith, agentsOf } from '../harness/traders/master-wallet.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';

const CHAIN = 'arbitrum-sepolia';
const OTHER = 'base';
const CLOID = '0xabcdef0123456789abcdef0123456789';

let sandbox: TestVenue;
let master: Wallet;
let agent: Wallet;

beforeAll(async () => {
  sandbox = await startOwnVenue({ SANDBOX_CHAINS: `${CHAIN},${OTHER}` });
  const [chain] = sandbox.controls.chains;
  if (!chain) throw new Error('no chain');
  master = new Wallet((await newTrader(chain)).privateKey);
  agent = newKey();
  await postExchange(sandbox.url, CHAIN, await approveAgent(master, agent.address, null, { network: 'Testnet' }));
});
afterAll(() => sandbox.stop());

const newKey = (): Wallet => new Wallet(generatePrivateKey());

async function said(body: ExchangeBody, chain = CHAIN): Promise<string> {
  const answer = await postExchange(sandbox.url, chain, body);
  expect(answer).toMatchObject({
    status: 200,
    body: { status: 'err', response: expect.stringMatching(/^User or API Wallet 0x[0-9a-f]{40} does not exist\. /) },
  });
  return (answer.body as { response: string }).response;
}

const full = (): Record<string, unknown> => ({
  ...orderAction(order({ p: '100', s: '0.5', c: CLOID })),
  builder: { b: '0x1234567890123456789012345678901234567890', f: 10 },
});
/** The same action with something else in its place. */
const but = (change: Record<string, unknown>, changeOrder: Record<string, unknown> = {}): Record<string, unknown> => {
  const action = { ...orderAction(order({ p: '100', s: '0.5', c: CLOID, ...changeOrder })), builder: full()['builder'], ...change };
  return JSON.parse(JSON.stringify(action)) as Record<string, unknown>;
};
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  );
};

describe('the doctor of signatures', () => {
  it.each<[string, string, L1Options]>([
    ['sorted keys', 'keys of the action were sorted', { hashed: sorted(full()) }],
    ['trailing zeros', 'trailing ".0"', { hashed: but({}, { p: '100.0', s: '0.50' }) }],
    ['numbers for texts', 'hashed as numbers', { hashed: but({}, { p: 100, s: 0.5 }) }],
    ['a cloid in capitals', 'capital letters', { hashed: but({}, { c: `0x${CLOID.slice(2).toUpperCase()}` }) }],
    ['a bare cloid', 'without its 0x', { hashed: but({}, { c: CLOID.slice(2) }) }],
    ['no cloid', 'cloid was sent but not hashed', { hashed: but({}, { c: undefined }) }],
    ['no builder', 'builder was sent but not hashed', { hashed: but({ builder: undefined }) }],
    ['no grouping', 'grouping was not hashed', { hashed: but({ grouping: undefined }) }],
    ['no type', 'type of the action was not hashed', { hashed: but({ type: undefined }) }],
    ['a vault of zeros', 'vault address of zeros', { bytes: (packed, nonce) => concat([packed, nonce, '0x01', `0x${'0'.repeat(40)}`]) }],
    ['no nonce', 'the nonce was not hashed', { bytes: (packed) => concat([packed, '0x00']) }],
    [
      'a nonce in reverse',
      'big-endian',
      { bytes: (packed, nonce) => concat([packed, `0x${Buffer.from(nonce.slice(2), 'hex').reverse().toString('hex')}`, '0x00']) },
    ],
    ['no byte for the vault', 'whether there is a vault', { bytes: (packed, nonce) => concat([packed, nonce]) }],
    ['nothing but the action', 'only the action was hashed', { bytes: (packed) => concat([packed]) }],
    ['JSON', 'hashed as JSON', { bytes: (_packed, nonce) => concat([toUtf8Bytes(JSON.stringify(full())), nonce, '0x00']) }],
    ['another source', 'neither "a" nor "b"', { source: 'Mainnet' }],
    ['the domain of the chain', 'domain of this chain', { chainId: 421614 }],
    ['the domain of another chain', 'domain of another chain', { chainId: 42161 }],
  ])('finds %s', async (_name, words, options) => {
    for (const source of options.source === undefined ? ['a', 'b'] : [options.source]) {
      const response = await said(await signL1(agent, full(), { source, ...options }));
      expect(response).toContain(`Signed by agent ${agent.address.toLowerCase()}, but `);
      expect(response).toContain(words);
    }
  });

  it('finds an expiry that was not hashed, and one behind the wrong byte', async () => {
    const expiresAfter = Date.now() + 60_000;
    expect(await said({ ...(await signL1(agent, full())), expiresAfter })).toContain('expiresAfter was sent but not hashed');
    const flagged = await signL1(agent, full(), {
      expiresAfter,
      bytes: (packed, nonce) => concat([packed, nonce, '0x00', '0x01', toBeHex(expiresAfter, 8)]),
    });
    expect(await said(flagged)).toContain('hashed as 01');
  });

  it('finds a vault that was not hashed', async () => {
    const body = await signL1(agent, full());
    expect(await said({ ...body, vaultAddress: master.address })).toContain('vault address was sent but not hashed');
  });

  it('finds a hash that was signed bare, or as a personal message', async () => {
    const nonce = nextNonce();
    const hash = keccak256(concat([encode(full()), toBeHex(nonce, 8), '0x00']));
    const bare = new SigningKey(agent.privateKey).sign(hash);
    for (const { r, s, v } of [bare, splitText(await agent.signMessage(Buffer.from(hash.slice(2), 'hex')))])
      expect(await said({ action: full(), nonce, signature: { r, s, v } })).toContain('personal message');
  });

  it('knows agents of other chains, agents of the native API, and masters', async () => {
    expect(await said(await signL1(agent, full()), OTHER)).toContain(`is an agent on ${CHAIN}, not on ${OTHER}`);
    expect(await said(await signL1(master, full()))).toContain('is a master wallet');
    const native = newKey();
    const domain = await domainOf(sandbox);
    const created = await agentsOf(sandbox).create(
      await authorization(domain, signWith(master, domain), { trader: master.address, agent: native.address }),
    );
    expect(created.status).toBe(201);
    expect(await said(await signL1(native, full()))).toContain('is an agent of the native API');
  });

  it('knows who was removed', async () => {
    const removed = newKey();
    await postExchange(sandbox.url, CHAIN, await approveAgent(master, removed.address, 'gone', { network: 'Testnet' }));
    await postExchange(sandbox.url, CHAIN, await approveAgent(master, `0x${'0'.repeat(40)}`, 'gone', { network: 'Testnet' }));
    expect(await said(await signL1(removed, full()))).toContain('was removed');
  });

  it('says what to look for when it finds nothing', async () => {
    expect(await said(await signL1(newKey(), full()))).toContain('another one each time');
  });

  it('changes nothing: what was signed wrongly does nothing and spends nothing', async () => {
    const nonce = nextNonce();
    await said(await signL1(agent, full(), { nonce, source: 'Mainnet' }));
    const answer = await postExchange(sandbox.url, CHAIN, await signL1(agent, { type: 'noop' }, { nonce }));
    expect(answer.body).toEqual({ status: 'ok', response: { type: 'default' } });
  });
});

function splitText(text: string): { r: string; s: string; v: number } {
  return { r: text.slice(0, 66), s: `0x${text.slice(66, 130)}`, v: Number.parseInt(text.slice(130), 16) };
}

describe('at the launch limits', () => {
  /** The exchange of the same gateway with limits of its own, on a clock that stands still. */
  function strict() {
    const { gateway } = sandbox;
    const { serviceName, store, log, access: open } = gateway;
    const clock = createManualClock();
    const settings = {
      limits: LAUNCH_LIMITS,
      infoWeight: 1_200,
      sockets: open.sockets.limits,
      headerPrefixes: ['X-Service-'],
      trustedProxies: [],
    };
    const access = createRequestAccess({ ...settings, serviceName, crypto: open.crypto, store, clock, log });
    const handler = createExchangeHandler({ ...gateway, access }, null);
    const post = async (body: unknown, address: string) => {
      const bytes = Buffer.from(JSON.stringify(body));
      const asked = { venue: venueOf(gateway, CHAIN), bytes, client: { address, requestId: 'a', ray: 'a' } };
      const { status, body: text } = await Promise.resolve(handler.answer(asked)).catch((error: unknown) =>
        handler.refuse(error as GatewayError),
      );
      return { status, text: String(text) };
    };
    return { clock, post, stop: () => access.stop() };
  }

  it('explains five wrong signatures of an address in a minute, then only says whose they are', async () => {
    const { clock, post, stop } = strict();
    const texts = async (times: number, address: string): Promise<boolean[]> => {
      const explained: boolean[] = [];
      for (let n = 0; n < times; n += 1) {
        const { text } = await post(await signL1(newKey(), full()), address);
        expect(text).toMatch(/User or API Wallet 0x[0-9a-f]{40} does not exist\./);
        explained.push(!text.includes('does not exist."'));
      }
      return explained;
    };
    expect(await texts(7, '192.0.2.1')).toEqual([true, true, true, true, true, false, false]);
    expect(await texts(1, '192.0.2.2')).toEqual([true]);
    clock.advance(60_000);
    expect(await texts(1, '192.0.2.1')).toEqual([true]);
    stop();
  });

  it('weighs an action by its length: few long ones are read, many short ones', async () => {
    const { post, stop } = strict();
    const long = { action: { type: 'noop', text: 'x'.repeat(250_000) } };
    const statuses: number[] = [];
    for (let n = 0; n < 40; n += 1) statuses.push((await post(long, '192.0.2.1')).status);
    expect(statuses.filter((status) => status === 429)).toHaveLength(40 - 38);
    expect((await post({}, '192.0.2.2')).status).toBe(422);
    stop();
  });
});
