import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { inspect } from 'node:util';
import { Wallet as EthersWallet } from 'ethers';
import { generatePrivateKey, privateKeyToAccount, sign } from 'viem/accounts';
import { keccak256, recoverTransactionAddress } from 'viem';
import { numberToHex, parseTransaction } from 'viem/utils';
import type { Address, Hex } from '../../core/types.js';
import type { Alert } from '../../core/ports/stores/alerts.js';
import { LANE_DEFAULTS } from '../../core/config/relayer.js';
import { createExternalWallets } from '../../relayer/external-signer.js';
import type { Unsigned, Wallet } from '../../relayer/wallet.js';
import { newTrader } from '../harness/traders/chain-trader.js';
import { eventually } from '../harness/time/eventually.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { startSecondGateway, type SecondGateway } from '../harness/venue/second-gateway.js';
import { approveAgent, order, orderAction, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import { createRecordedLog, type RecordedLog } from '../harness/checks/recorded-log.js';
import { createManualClock } from '../harness/time/manual-clock.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';

const KEY = generatePrivateKey();
const STRANGER = generatePrivateKey();
const ADDRESS = privateKeyToAccount(KEY).address.toLowerCase() as Address;
const TOKEN = 'a-token-of-the-signer';
const DIAMOND = `0x${'d1'.repeat(20)}` as const;
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

const QUICK = { ...LANE_DEFAULTS, waits: { ...LANE_DEFAULTS.waits, patienceMs: 300 } };

const TRANSACTION: Unsigned = {
  chainId: 42_161,
  nonce: 7,
  to: DIAMOND,
  data: '0x604755cf',
  gas: 500_000n,
  maxFeePerGas: 2_000_000_000n,
  maxPriorityFeePerGas: 1_000_000n,
};

interface Asked {
  readonly address: string;
  readonly digest: Hex;
  readonly unsigned: Hex;
  readonly transaction: Record<string, string | number>;
}

type Say = (asked: Asked, request: IncomingMessage) => Promise<{ status?: number; body: unknown }> | { status?: number; body: unknown };

/** What the signer answers; null: nothing, ever. */
let say: Say | null = null;
const requests: { readonly path: string; readonly authorization: string | undefined }[] = [];
const server = createServer((request, response) => {
  requests.push({ path: request.url ?? '', authorization: request.headers.authorization });
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const asked = request.method === 'POST' ? (JSON.parse(Buffer.concat(chunks).toString()) as Asked) : null;
    void Promise.resolve(asked === null ? { body: { addresses: [] } } : say?.(asked, request)).then((answer) => {
      if (answer === undefined) return;
      response.writeHead(answer.status ?? 200, { 'Content-Type': 'application/json', Location: 'http://127.0.0.1:1/' });
      response.end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body));
    });
  });
});

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const urlOf = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

function walletOf(): { wallet: Wallet; log: RecordedLog; pass: (ms: number) => void } {
  const log = createRecordedLog();
  const clock = createManualClock();
  const [wallet] = createExternalWallets({ url: urlOf, token: () => TOKEN, wallets: [ADDRESS] }, { clock, log });
  if (!wallet) throw new Error('no wallet');
  return { wallet, log, pass: (ms) => clock.advance(ms) };
}

async function signature(hash: Hex, privateKey: Hex = KEY): Promise<{ r: Hex; s: Hex; yParity: number | undefined }> {
  const { r, s, yParity } = await sign({ hash, privateKey });
  return { r, s, yParity };
}

const raw = (changes: Partial<Unsigned> = {}, key: Hex = KEY) =>
  privateKeyToAccount(key).signTransaction({ ...TRANSACTION, ...changes, type: 'eip1559', value: 0n });

describe('a wallet whose key is with an external signer', () => {
  it('is asked with everything that the signer needs to judge, and its token', async () => {
    let seen: Asked | null = null;
    say = async (asked) => {
      seen = asked;
      return { body: { signature: await signature(asked.digest) } };
    };
    const { wallet } = walletOf();
    const signed = await wallet.sign(TRANSACTION);
    expect(seen).toMatchObject({
      address: ADDRESS,
      chainId: 42_161,
      digest: keccak256((seen as Asked | null)?.unsigned ?? '0x'),
      transaction: {
        type: 'eip1559',
        chainId: 42_161,
        nonce: 7,
        to: DIAMOND,
        value: '0',
        data: '0x604755cf',
        gas: '500000',
        maxFeePerGas: '2000000000',
        maxPriorityFeePerGas: '1000000',
      },
    });
    expect(requests.filter((each) => each.path === '/sign').every(({ authorization }) => authorization === `Bearer ${TOKEN}`)).toBe(true);
    expect(signed).toEqual({ raw: await raw(), hash: keccak256(await raw()) });
  });

  it.each<[string, Say]>([
    [
      'a signature without its parity',
      async ({ digest }) => {
        const { r, s } = await signature(digest);
        return { body: { signature: { r, s } } };
      },
    ],
    [
      'the higher of two equal signatures',
      async ({ digest }) => {
        const { r, s, yParity } = await signature(digest);
        return { body: { signature: { r, s: numberToHex(ORDER - BigInt(s), { size: 32 }), yParity: yParity === 0 ? 1 : 0 } } };
      },
    ],
    ['the whole transaction', async () => ({ body: { raw: await raw() } })],
  ])('takes %s', async (_, said) => {
    say = said;
    const { wallet } = walletOf();
    const signed = await wallet.sign(TRANSACTION);
    expect((await recoverTransactionAddress({ serializedTransaction: signed.raw as `0x02${string}` })).toLowerCase()).toBe(ADDRESS);
    expect(parseTransaction(signed.raw)).toMatchObject({ nonce: 7, to: DIAMOND, gas: 500_000n });
    expect(signed.raw).toBe(await raw());
  });

  it.each<[string, Say, string]>([
    ["another wallet's signature", async ({ digest }) => ({ body: { signature: await signature(digest, STRANGER) } }), 'not this wallet'],
    ['a signature of something else', async () => ({ body: { signature: await signature(keccak256('0x01')) } }), 'not this wallet'],
    ['a transaction to somewhere else', async () => ({ body: { raw: await raw({ to: ADDRESS }) } }), 'not this wallet'],
    ['a dearer transaction', async () => ({ body: { raw: await raw({ maxFeePerGas: 9_000_000_000n }) } }), 'not this wallet'],
    ['another nonce', async () => ({ body: { raw: await raw({ nonce: 8 }) } }), 'not this wallet'],
    ['a transaction of another wallet', async () => ({ body: { raw: await raw({}, STRANGER) } }), 'not this wallet'],
    ['bytes that are no transaction', () => ({ body: { raw: '0x1234' } }), 'not this wallet'],
    [
      'a signature outside the curve',
      () => ({ body: { signature: { r: `0x${'ff'.repeat(32)}`, s: `0x${'ff'.repeat(32)}`, yParity: 0 } } }),
      'not this wallet',
    ],
    ['something that is no signature', () => ({ body: { signature: 'yes' } }), 'no signature'],
    ['something that is no JSON', () => ({ body: '<html>' }), 'no JSON'],
    ['far too much', () => ({ body: 'x'.repeat(100_000) }), 'too much'],
    ['a refusal', () => ({ status: 403, body: { error: TOKEN } }), 'refused with 403'],
    ['that it broke', () => ({ status: 500, body: { error: TOKEN } }), 'answered 500'],
    ['a redirect', () => ({ status: 307, body: '' }), 'does not answer'],
  ])('is in trouble when the answer is %s, and says so without a secret', async (_, said, text) => {
    say = said;
    const { wallet } = walletOf();
    const error = await wallet.sign(TRANSACTION).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Error);
    expect((error as Error).message).toContain(text);
    expect(inspect(error, { depth: null, showHidden: true })).not.toContain(TOKEN);
  });

  it('waits five seconds for an answer', async () => {
    const { wallet, pass } = walletOf();
    const asked = new Promise<void>((resolve) => {
      say = () => {
        resolve();
        return new Promise(() => undefined);
      };
    });
    const signing = wallet.sign(TRANSACTION).then(
      () => 'signed',
      (error: unknown) => (error as Error).message,
    );
    await asked;
    pass(4_999);
    expect(await Promise.race([signing, new Promise((resolve) => setImmediate(resolve, 'waiting'))])).toBe('waiting');
    pass(1);
    expect(await signing).toBe('the external signer does not answer');
  });

  it('leaves a signer that broke alone for a moment, then asks again', async () => {
    const asked = () => requests.filter((each) => each.path === '/sign').length;
    say = () => ({ status: 503, body: '' });
    const { wallet, pass } = walletOf();
    const before = asked();
    await expect(wallet.sign(TRANSACTION)).rejects.toThrow('answered 503');
    await expect(wallet.sign(TRANSACTION)).rejects.toThrow('answered 503');
    expect(asked()).toBe(before + 1);
    say = async ({ digest }) => ({ body: { signature: await signature(digest) } });
    pass(2_000);
    expect((await wallet.sign(TRANSACTION)).raw).toBe(await raw());
  });

  it('logs when the signer does not have the wallet it is asked for', async () => {
    const { log } = walletOf();
    const found = await eventually(
      () => log.entries.find(({ event }) => event === 'relay.signer-lacks-wallets'),
      (entry) => entry !== undefined,
    );
    expect(found?.fields).toEqual({ wallets: [ADDRESS] });
  });
});

describe('the reference signer', () => {
  let sandbox: TestVenue;
  let signer: ChildProcess;
  let signerUrl = '';
  let beside: SecondGateway;

  beforeAll(async () => {
    sandbox = await sharedVenue();
    const chain = firstChain(sandbox);
    const { chainId, diamond } = chain.definition;
    await chain.faucet.fund(ADDRESS, { eth: '10' });
    signer = spawn(process.execPath, [path.resolve(import.meta.dirname, '../../examples/external-signer.mjs')], {
      env: { SIGNER_KEY: KEY, SIGNER_TOKEN: TOKEN, SIGNER_CHAIN: String(chainId), SIGNER_TO: diamond, SIGNER_PORT: '0' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [said] = (await once(signer.stdout ?? server, 'data')) as [Buffer];
    signerUrl = /http:\S+/.exec(said.toString())?.[0] ?? '';
    const relayer = {
      keys: () => [],
      signer: { url: () => signerUrl, token: () => TOKEN, wallets: [ADDRESS] },
      maxFeePerGas: 10n ** 13n,
      lane: QUICK,
    };
    const chains = sandbox.config.chains.map((each) => ({ ...each, relayer }));
    beside = await startSecondGateway({ ...sandbox, config: { ...sandbox.config, chains } }, { relays: true });
    await eventually(
      () => beside.get('/ready'),
      ({ status }) => status === 200,
    );
  });
  afterAll(async () => {
    await beside.stop();
    signer.kill('SIGTERM');
    await sandbox.stop();
  });

  it('signs the orders of a bot, and the gateway has no key', async () => {
    const trader = await newTrader(firstChain(sandbox), { delegate: ADDRESS });
    const agent = new EthersWallet(EthersWallet.createRandom().privateKey);
    const post = (body: unknown) => postExchange(beside.url, 'arbitrum-sepolia', body);
    await post(await approveAgent(new EthersWallet(trader.privateKey), agent.address, null, { network: 'Testnet' }));
    const { body } = await post(await signL1(agent, orderAction(order({ p: '30000', s: '0.1', t: { limit: { tif: 'Gtc' } } }))));
    expect(body).toMatchObject({ status: 'ok', response: { data: { statuses: [{ resting: { oid: expect.any(Number) } }] } } });
    const held = await eventually(
      () => trader.trades(),
      (trades) => trades.length === 1,
    );
    expect(held).toHaveLength(1);
  });

  it('that does not answer opens an alert, and one that answers again ends it', async () => {
    const { alerts } = beside.gateway.store;
    // No replica runs the watch meanwhile: the alert comes from the replica that uses the key.
    await alerts.lead('nobody', Date.now() + 3_600_000, Date.now() + 7_200_000);
    const about = { kind: 'key-trouble', chain: 'arbitrum-sepolia', subject: ADDRESS };
    const own = (all: readonly Alert[]) => all.filter(({ kind, subject }) => kind === about.kind && subject === about.subject);
    const well = signerUrl;
    try {
      const trader = await newTrader(firstChain(sandbox), { delegate: ADDRESS });
      const agent = new EthersWallet(EthersWallet.createRandom().privateKey);
      const post = (body: unknown) => postExchange(beside.url, 'arbitrum-sepolia', body);
      await post(await approveAgent(new EthersWallet(trader.privateKey), agent.address, null, { network: 'Testnet' }));
      signerUrl = 'http://127.0.0.1:1';
      // Its answer is held while the order may still be sent.
      const answer = post(await signL1(agent, orderAction(order({ p: '30000', s: '0.1', t: { limit: { tif: 'Gtc' } } }))));
      const [open] = await eventually(
        async () => own(await alerts.open()),
        (found) => found.length > 0,
      );
      expect(open).toMatchObject({ ...about, message: `The wallet ${ADDRESS} cannot sign: its key cannot be used.` });
      signerUrl = well;
      await eventually(
        async () => own(await alerts.open()),
        (found) => found.length === 0,
      );
      expect(own(await alerts.recovered(100))).toMatchObject([{ ...about, id: open?.id }]);
      expect(await answer).toMatchObject({ status: 200 });
    } finally {
      signerUrl = well;
      await alerts.lead('nobody', Date.now(), Date.now());
    }
  });

  it('does not sign without its token, nor what it has no rule for', async () => {
    const parts = { clock: createManualClock(), log: createRecordedLog() };
    const wallets = (token: string) => createExternalWallets({ url: () => signerUrl, token: () => token, wallets: [ADDRESS] }, parts);
    const { chainId, diamond } = firstChain(sandbox).definition;
    const fine = { ...TRANSACTION, chainId, to: diamond, data: '0x737b84cd' as const };
    await expect(wallets('another')[0]?.sign(fine)).rejects.toThrow('refused with 401');
    await expect(wallets(TOKEN)[0]?.sign({ ...fine, to: DIAMOND })).rejects.toThrow('refused with 403');
    await expect(wallets(TOKEN)[0]?.sign({ ...fine, chainId: 1 })).rejects.toThrow('refused with 403');
    await expect(wallets(TOKEN)[0]?.sign({ ...fine, data: '0x604755cf' })).rejects.toThrow('refused with 403');
    await expect(wallets(TOKEN)[0]?.sign({ ...fine, maxFeePerGas: 101n * 10n ** 9n })).rejects.toThrow('refused with 403');
    await expect(wallets(TOKEN)[0]?.sign(fine)).resolves.toMatchObject({ raw: expect.stringMatching(/^0x02/) });
  });
});
