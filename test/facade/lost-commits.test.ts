import { once } from 'node:events';
import { Wallet } from 'ethers';
import { WebSocket } from 'ws';
import { venueOf, type Venue } from '../../core/gateway.js';
import { runCommand } from '../../relayer/command.js';
import { hasTraded } from '../../relayer/wallet-adoption.js';
import { createTestDatabase } from '../harness/database/test-database.js';
import { takeBack, type TakeBack } from '../harness/database/take-back.js';
import { approveAgent, order, orderAction, postExchange, signL1, type ExchangeBody } from '../harness/hyperliquid/exchange.js';
import { eventually } from '../harness/time/eventually.js';
import { moveTime } from '../harness/time/move-time.js';
import { FACADE_CHAIN, newFacadeTrader, type FacadeTrader } from '../harness/traders/facade-trader.js';
import { agentsOf, authorization, domainOf, EVERYTHING, signWith, type AuthorizationBody } from '../harness/traders/master-wallet.js';
import { signRequest } from '../harness/traders/signed-request.js';
import { startSecondGateway, whenReady } from '../harness/venue/second-gateway.js';
import { connect, isError, isOp, wsAuth, type SocketClient } from '../native-api/ws/socket-client.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';

const RESTING = orderAction(order({ p: '30000', t: { limit: { tif: 'Gtc' } } }));
const BUY = orderAction(order({ p: '66000' }));
const SELL = orderAction(order({ p: '54000', b: false, r: true }));
const ABOVE_FLOOR_MS = 61_000;

let sandbox: TestVenue;
let venue: Venue;
let server: TakeBack;
/** Approved before everything that is lost. */
let known: FacadeTrader;
const native = new Wallet(Wallet.createRandom().privateKey);
/** Subscribed to orders and fills before the loss. */
let client: SocketClient;
let facadeSocket: WebSocket;
let facadeClosed: Promise<number>;

const now = (): number => sandbox.clock.now();
let last = 0;
const nonce = (ahead = 0): number => (last = Math.max(last + 1, now() + ahead));
const post = (body: ExchangeBody) => postExchange(sandbox.url, FACADE_CHAIN, body);
const sign = ({ agentKey }: FacadeTrader, action: Record<string, unknown>, at = nonce()) =>
  signL1(new Wallet(agentKey), action, { nonce: at });
const act = async (trader: FacadeTrader, action: Record<string, unknown>) => (await post(await sign(trader, action))).body;
const detected = (): number => sandbox.gateway.store.continuity.lastLoss()?.detectedAt ?? 0;
const statuses = (...items: readonly unknown[]) => ({ status: 'ok', response: { data: { statuses: items } } });

const read = async (agent: Wallet, timestamp: number, what = 'positions') => {
  const operationId = what.startsWith('events') ? 'listEvents' : 'listPositions';
  const request = { operationId, method: 'GET', path: `/v1/${FACADE_CHAIN}/account/${agent.address}/${what}` };
  return sandbox.get(request.path, await signRequest(agent, venue.definition, { ...request, timestamp }));
};

const token = (): string => sandbox.config.operator.token?.() ?? '';
const metrics = async () => (await fetch(`${sandbox.url}/metrics`, { headers: { Authorization: `Bearer ${token()}` } })).text();

/** `npx diamond-gateway relayer …`; a last word that is a URL names another gateway. */
async function command(...words: string[]): Promise<string> {
  const url = words.at(-1)?.startsWith('http') === true ? words.pop() : sandbox.url;
  let out = '';
  const write = (text: string): void => void (out += text);
  const environment = { GATEWAY_URL: url, OPERATOR_TOKEN: token() };
  await runCommand(words, { environment, readText: () => '', clock: sandbox.clock, write, complain: write });
  return out;
}

async function authorised(wallet: Wallet): Promise<AuthorizationBody> {
  const domain = await domainOf(sandbox, FACADE_CHAIN);
  const timestamp = now();
  return authorization(domain, signWith(wallet, domain), { trader: wallet.address, agent: wallet.address, scope: EVERYTHING, timestamp });
}

beforeAll(async () => {
  sandbox = await startOwnVenue();
  venue = venueOf(sandbox.gateway, FACADE_CHAIN);
  if (sandbox.config.database.kind !== 'server') throw new Error('the sandbox keeps its database to itself');
  server = takeBack(sandbox.config.database.url);
  known = await newFacadeTrader(sandbox);
});
afterAll(() => sandbox.stop());

describe('after a loss of a few seconds', () => {
  let repeated: ExchangeBody;
  let ahead: ExchangeBody;
  let message: AuthorizationBody;

  beforeAll(async () => {
    await agentsOf(sandbox, FACADE_CHAIN).create(await authorised(native));
    await server.copy();
    await eventually(
      () => sandbox.get('/ready'),
      ({ status }) => status === 200,
    );
    repeated = await sign(known, RESTING);
    expect((await post(repeated)).body).toMatchObject(statuses({ resting: { oid: expect.any(Number) } }));
    ahead = await sign(known, { type: 'noop' }, now() + 3_600_000);
    expect((await post(ahead)).body).toMatchObject({ status: 'ok' });
    expect((await post(ahead)).body).toMatchObject({ response: expect.stringContaining('duplicate nonce') });
    message = await authorised(new Wallet(Wallet.createRandom().privateKey));
    expect((await agentsOf(sandbox, FACADE_CHAIN).create(message)).status).toBe(201);
    // The second entry of its journal.
    expect((await agentsOf(sandbox, FACADE_CHAIN).create(await authorised(native))).status).toBe(201);
    client = await connect(sandbox.url);
    await client.ask(await wsAuth(native, venue.definition), isOp('authenticated'));
    await client.ask(
      { op: 'subscribe', channel: 'orders' },
      ({ channel, snapshot, cursor }) => channel === 'orders' && snapshot === true && cursor === 2,
    );
    facadeSocket = new WebSocket(`${sandbox.url.replace('http', 'ws')}/hl/${FACADE_CHAIN}/ws`);
    await once(facadeSocket, 'open');
    facadeSocket.send(JSON.stringify({ method: 'subscribe', subscription: { type: 'userFills', user: known.address } }));
    await once(facadeSocket, 'message');
    facadeClosed = new Promise((resolve) => facadeSocket.on('close', resolve));
    await server.goBack();
    await eventually(
      () => sandbox.gateway.store.continuity.lastLoss(),
      (loss) => loss !== null,
    );
  });

  it('no action with a nonce up to its floor is taken until the time of the floor is over', async () => {
    for (const body of [repeated, await sign(known, RESTING), await sign(known, { type: 'noop' }, detected() + 60_000)]) {
      const { status, headers, body: reply } = await post(body);
      expect({ status, reply }).toMatchObject({ status: 503, reply: { code: 'NOT_READY', msg: expect.stringContaining('lost commits') } });
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(50);
    }
    const approval = await approveAgent(new Wallet(known.trader.privateKey), Wallet.createRandom().address, null, {
      network: 'Testnet',
      nonce: nonce(),
    });
    await expect(post(approval)).resolves.toMatchObject({ status: 503 });
  });

  it('a nonce that lies further ahead works a second time', async () => {
    expect((await post(ahead)).body).toMatchObject({ status: 'ok' });
    expect((await post(ahead)).body).toMatchObject({ response: expect.stringContaining('duplicate nonce') });
  });

  it('no request of the native API and no message of a master wallet is taken for half of that time', async () => {
    const wait = { status: 503, body: { code: 'NOT_READY', details: { retryAfterSeconds: expect.any(Number) } } };
    await expect(read(native, now())).resolves.toMatchObject(wait);
    await expect(agentsOf(sandbox, FACADE_CHAIN).create(message)).resolves.toMatchObject({ status: 503 });
    await moveTime(sandbox, detected() + 30_100 - now());
    const floor = detected() + 30_000;
    await expect(read(native, floor)).resolves.toMatchObject({
      status: 401,
      body: { code: 'NONCE_REUSED', details: { signedAfter: floor } },
    });
    await expect(read(native, now())).resolves.toMatchObject({ status: 200 });
  });

  it('a nonce below the floor stays refused; a new one works without the operator', async () => {
    // What the lane waits for would seem to have lasted for all of that time.
    await eventually(
      () => venue.relayer?.trouble(sandbox.controls.relayer.toLowerCase() as `0x${string}`) ?? null,
      (trouble) => trouble === null,
    );
    await moveTime(sandbox, detected() + ABOVE_FLOOR_MS - now());
    expect((await post(repeated)).body).toMatchObject({ status: 'err', response: expect.stringContaining('nonce too low') });
    expect(await act(known, BUY)).toMatchObject(statuses({ filled: { totalSz: '0.01' } }));
  });
});

describe('a cursor of what was lost', () => {
  it('says on both sides of the API that it is, and where entries that are left go on', async () => {
    await expect(Promise.all([client.closed, facadeClosed])).resolves.toEqual([4001, 4001]);
    await expect(read(native, now(), 'events?after=1')).resolves.toMatchObject({ status: 200, body: { data: [] } });
    const lost = { code: 'VALIDATION_ERROR', details: { cursorLost: true, resumeAfter: 1 } };
    await expect(read(native, now(), 'events?after=2')).resolves.toMatchObject({ status: 400, body: lost });
    const again = await connect(sandbox.url);
    await again.ask(await wsAuth(native, venue.definition, { timestamp: now() }), isOp('authenticated'));
    await expect(again.ask({ op: 'subscribe', channel: 'orders', after: 2 }, isError('VALIDATION_ERROR'))).resolves.toMatchObject(lost);
    await again.close();
  });
});

describe('after a loss of unknown length', () => {
  beforeAll(async () => {
    await sandbox.gateway.store.continuity.prove({ reason: 'a test', at: now() });
    await moveTime(sandbox, ABOVE_FLOOR_MS);
  });

  it('agents that were approved before may close and cancel, and nothing else', async () => {
    expect(await act(known, RESTING)).toMatchObject(
      statuses({ error: expect.stringMatching(/^Trading is halted\. .*a revocation of this agent may be among them.*asset=0$/) }),
    );
    expect(await act(known, { type: 'updateIsolatedMargin', asset: 0, isBuy: true, ntli: 10_000_000 })).toMatchObject({
      status: 'err',
      response: expect.stringContaining('Trading is halted.'),
    });
    expect(await act(known, SELL)).toMatchObject(statuses({ filled: { totalSz: '0.01' } }));
    const [resting] = (await sandbox.post(`/hl/${FACADE_CHAIN}/info`, { type: 'openOrders', user: known.address })).body as {
      oid: number;
    }[];
    expect(await act(known, { type: 'cancel', cancels: [{ a: 0, o: resting?.oid ?? 0 }] })).toMatchObject(statuses('success'));
  });

  it('is named with the command wherever an operator looks', async () => {
    const sentence = expect.stringMatching(/lost commits of an unknown time, .*then run npx diamond-gateway relayer adopt\.$/);
    const { body } = await whenReady(sandbox);
    expect(body).toMatchObject({ ready: true, database: { ready: true, notes: [sentence] } });
    const alerts = await eventually(
      () => sandbox.gateway.store.alerts.open(),
      (open) => open.some(({ message }) => message.includes('of an unknown time')),
    );
    expect(alerts).toContainEqual(expect.objectContaining({ kind: 'commits-lost', chain: 'all', message: sentence }));
    expect(await metrics()).toMatch(
      /^gateway_signing_waits 0$[^]*^gateway_commit_loss_waits 1$[^]*^gateway_last_commit_loss_timestamp_seconds \d+/m,
    );
  });

  it('an agent opens again when its trader approved it anew', async () => {
    const { address } = new Wallet(known.agentKey);
    const approval = await approveAgent(new Wallet(known.trader.privateKey), address, null, { network: 'Testnet', nonce: nonce() });
    expect((await post(approval)).body).toMatchObject({ status: 'ok' });
    expect(await act(known, BUY)).toMatchObject(statuses({ filled: { totalSz: '0.01' } }));
  });

  it('every agent opens again when the operator adopts the loss', async () => {
    await sandbox.gateway.store.continuity.prove({ reason: 'another test', at: now() });
    await moveTime(sandbox, ABOVE_FLOOR_MS);
    expect(await act(known, RESTING)).toMatchObject(statuses({ error: expect.stringContaining('Trading is halted.') }));
    expect(await command('adopt')).toMatch(/lost commits .* It was adopted at /);
    expect(await command('adopt')).toBe('Nothing was adopted.\n');
    expect(await act(known, RESTING)).toMatchObject(statuses({ resting: { oid: expect.any(Number) } }));
    await eventually(
      () => sandbox.gateway.store.alerts.open(),
      (open) => open.every(({ kind }) => kind !== 'commits-lost'),
    );
    expect((await sandbox.get('/ready')).body).toMatchObject({ database: { notes: [] } });
  });
});

describe('an empty database under a wallet that has sent orders', () => {
  it('is not taken for one under a wallet that only approved and delegated', async () => {
    const wallets = [sandbox.controls.relayer, known.address].map((wallet) => wallet.toLowerCase() as `0x${string}`);
    const search = { history: venue.chain.sent, diamond: venue.definition.diamond };
    const traded = async (wallet: `0x${string}`): Promise<boolean | null> =>
      hasTraded(search, wallet, (await venue.chain.relay.account(wallet)).nonce);
    expect(await Promise.all(wallets.map(traded))).toEqual([true, false]);
  });

  it('serves /v1, relays nothing, and says how the wallet is adopted', async () => {
    const empty = await createTestDatabase();
    const started = await startSecondGateway(sandbox, { relays: true, databaseUrl: empty.url, clock: sandbox.clock });
    try {
      const wallet = sandbox.controls.relayer.toLowerCase();
      const adopt = `npx diamond-gateway relayer adopt --chain ${FACADE_CHAIN} --wallet ${wallet}`;
      const { body } = await whenReady(started);
      expect(body).toMatchObject({ chains: { [FACADE_CHAIN]: { ready: true, relayer: null, notes: [expect.stringContaining(adopt)] } } });
      expect(started.log.entries).toContainEqual(
        expect.objectContaining({ event: 'relay.wallet-unknown', fields: expect.objectContaining({ command: adopt }) }),
      );
      const refused = await postExchange(started.url, FACADE_CHAIN, await sign(known, RESTING));
      expect(refused).toMatchObject({ status: 503, body: { code: 'CHAIN_READ_ONLY' } });
      expect((await started.get(`/v1/${FACADE_CHAIN}/markets`)).status).toBe(200);
      expect(await command('adopt', '--chain', FACADE_CHAIN, '--wallet', wallet, started.url)).toContain(`${wallet} is used from now on.`);
      expect((await started.get('/ready')).body).toMatchObject({ chains: { [FACADE_CHAIN]: { relayer: { ready: true } } } });
      const unapproved = await postExchange(started.url, FACADE_CHAIN, await sign(known, RESTING));
      expect(unapproved.body).toMatchObject({ response: expect.stringContaining('does not exist') });
    } finally {
      await started.stop();
      await empty.drop();
    }
  });
});
