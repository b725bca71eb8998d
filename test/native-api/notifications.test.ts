import { systemClock } from '../../core/adapters/system/clock.js';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Wallet, type TypedDataDomain } from 'ethers';
import { generatePrivateKey } from 'viem/accounts';
import { createBackendNotices } from '../../core/adapters/backend/notices.js';
import type { KnexStore } from '../../core/adapters/postgres/create-store.js';
import { DELEGATE_MAX_AGE_MS, freshDelegate } from '../../core/access/delegation.js';
import { venueOf, type Venue } from '../../core/gateway.js';
import { noticeOwn, notificationId, type Notification } from '../../core/notifications/list-notifications.js';
import type { Address } from '../../core/types.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { newTrader, type ChainTrader } from '../harness/traders/chain-trader.js';
import { price } from '../harness/diamond/diamond-calls.js';
import { eventually } from '../harness/time/eventually.js';
import { agentsOf, authorization, domainOf, EVERYTHING, signWith } from '../harness/traders/master-wallet.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { storedOrders } from '../harness/traders/stored-orders.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';
import { signRequest } from '../harness/traders/signed-request.js';

let sandbox: TestVenue;
let chain: ChainControls;
let domain: TypedDataDomain;

beforeAll(async () => {
  sandbox = await startOwnVenue(); // its time is moved
  chain = firstChain(sandbox);
  domain = await domainOf(sandbox);
});
afterAll(() => sandbox.stop());
beforeEach(async () => {
  await sandbox.post('/sandbox/price', { market: 'BTC/USD', price: '60000' });
  await sandbox.post('/sandbox/oracle', { mode: 'auto', delayMs: 20 });
});

const listed = async (address: string): Promise<Notification[]> => {
  const { status, body } = await sandbox.get(`/api/notifications/${address}`);
  expect(status).toBe(200);
  return (body as { notifications: Notification[] }).notifications;
};
const untilListed = (address: string, kind: string): Promise<Notification[]> =>
  eventually(
    () => listed(address),
    (all) => all.some((notification) => notification.kind === kind),
  );
const keyOf = (trader: ChainTrader): Wallet => {
  const known = wallets.get(trader);
  if (!known) throw new Error('not a trader of this suite');
  return known;
};
const lower = (text: string): Address => text.toLowerCase() as Address;
const wallets = new Map<ChainTrader, Wallet>();
/** A trader that is its own agent, so that it may dismiss its notifications. */
async function selfTrader(expiresAt: number | null = null): Promise<ChainTrader> {
  const trader = await newTrader(chain);
  const wallet = new Wallet(trader.privateKey);
  wallets.set(trader, wallet);
  const body = await authorization(domain, signWith(wallet, domain), {
    trader: wallet.address,
    agent: wallet.address,
    scope: { ...EVERYTHING, expiresAt },
  });
  expect((await agentsOf(sandbox).create(body)).status).toBe(201);
  return trader;
}
async function dismiss(trader: ChainTrader, id: number | string): Promise<number> {
  const path = `/v1/arbitrum-sepolia/account/${trader.account.address}/notifications/${id}/dismiss`;
  const headers = await signRequest(keyOf(trader), chain.definition, { operationId: 'dismissNotification', method: 'POST', path });
  return (await sandbox.call(path, { method: 'POST', headers })).status;
}

describe('notifications', () => {
  it('report a filled order, and are gone for good once dismissed', async () => {
    const trader = await selfTrader();
    await trader.open();
    const [notification] = await untilListed(trader.account.address, 'order_filled');
    expect(notification).toMatchObject({ title: 'Order filled', market: 'BTC/USD', orderId: expect.stringMatching(/^[1-9]\d*$/) });
    expect(await dismiss(trader, notification?.id ?? 0)).toBe(200);
    expect(await dismiss(trader, notification?.id ?? 0)).toBe(200);
    expect(await listed(trader.account.address.toLowerCase())).toEqual([]);
  });

  it('report a filled order however many newer ones there are', async () => {
    await sandbox.post('/sandbox/oracle', { mode: 'hold' });
    const trader = await newTrader(chain);
    const own = storedOrders(sandbox, chain, venueOf(sandbox.gateway, chain.definition.slug));
    await trader.open();
    const [oldest] = await eventually(
      () => own.all(trader),
      ({ length }) => length === 1,
    );
    await Promise.all(Array.from({ length: 110 }, () => own.place(trader, { maxUnsent: 1_000, forMs: 600_000 })));
    await sandbox.post('/sandbox/oracle', { mode: 'auto', delayMs: 20 });
    await own.reaches(trader, oldest?.id ?? 0n, 'filled');
    expect(await listed(trader.account.address)).toMatchObject([{ kind: 'order_filled', orderId: oldest?.id.toString() }]);
  });

  it('report a rejected order with the reason, and a request that timed out', async () => {
    await sandbox.post('/sandbox/oracle', { mode: 'reject', reason: 'EXPOSURE_LIMITS' });
    const trader = await newTrader(chain);
    await trader.open();
    const [notification] = await untilListed(trader.account.address, 'order_rejected');
    expect(notification?.body).toContain('EXPOSURE_LIMITS');
    await sandbox.post('/sandbox/oracle', { mode: 'hold' });
    await trader.open();
    await sandbox.post('/sandbox/chain', { action: 'mine', blocks: 400 });
    await untilListed(trader.account.address, 'order_timed_out');
  });

  it('report a take profit, a stop loss and a liquidation', async () => {
    const trader = await newTrader(chain);
    await trader.open({ tp: price(66_000) });
    await trader.open({ sl: price(58_000) });
    await trader.open();
    await eventually(
      () => trader.trades(),
      (trades) => trades.length === 3,
    );
    for (const [kind, level] of [
      ['take_profit_hit', '66100'],
      ['stop_loss_hit', '57900'],
      ['position_liquidated', '54000'],
    ] as const) {
      await sandbox.post('/sandbox/price', { market: 'BTC/USD', price: level });
      await untilListed(trader.account.address, kind);
    }
  });

  it('report an agent that expires within a day, once', async () => {
    const trader = await selfTrader(Date.now() + 3_600_000);
    await untilListed(trader.account.address, 'agent_expiring');
    expect((await listed(trader.account.address)).map(({ kind }) => kind)).toEqual(['agent_expiring']);
  });

  it('cost a few questions to the database even for a wallet with thousands of agents', async () => {
    const { db } = sandbox.gateway.store as KnexStore;
    const trader = new Wallet(generatePrivateKey()).address.toLowerCase();
    await db.raw(
      `insert into agents (chain, agent, trader, name, mode, expires_at, permissions, created_at)
       select 'arbitrum-sepolia', '0x' || lpad(to_hex(place), 40, '0'), ?, '', 'self', ?, 'trade', place from generate_series(1, 3000) place`,
      [trader, Date.now() + 3_600_000],
    );
    let asked = 0;
    const count = ({ sql }: { sql: string }): void => void (asked += Number(/agents|notices|delegates_seen/.test(sql)));
    db.on('query', count);
    const all = await listed(trader);
    db.off('query', count);
    expect([new Set(all.map(({ kind }) => kind)), all.length]).toEqual([new Set(['agent_expiring']), 100]);
    expect(asked).toBeLessThan(10);
    const { rows } = await db.raw<{ rows: { kept: bigint }[] }>('select count(*) as kept from notices where trader = ?', [trader]);
    expect(rows).toEqual([{ kept: 1_000n }]);
  });

  it('report a changed delegate, not the first one', async () => {
    const trader = await selfTrader();
    expect(await listed(trader.account.address)).toEqual([]);
    const delegate = new Wallet(generatePrivateKey()).address;
    await trader.send(chain.definition.diamond, `0x604755cf${delegate.slice(2).toLowerCase().padStart(64, '0')}`);
    sandbox.clock.move(DELEGATE_MAX_AGE_MS);
    const [notification] = await eventually(
      () => listed(trader.account.address),
      (all) => all.length > 0,
    );
    expect(notification).toMatchObject({ kind: 'delegation_changed', body: expect.stringContaining(delegate.toLowerCase()) });
  });

  it('report a changed delegate once, also from a replica that has the old one cached', async () => {
    const trader = await selfTrader();
    const { gateway } = sandbox;
    const [one, other] = [0, 1].map(() => ({ ...venueOf(gateway, 'arbitrum-sepolia') })) as [Venue, Venue];
    const slot = lower(trader.account.address);
    for (const venue of [one, other]) await noticeOwn(gateway, venue, slot);
    const delegate = new Wallet(generatePrivateKey()).address;
    await trader.send(chain.definition.diamond, `0x604755cf${delegate.slice(2).toLowerCase().padStart(64, '0')}`);
    await eventually(
      () => freshDelegate(one, slot),
      (held) => held === lower(delegate),
    );
    for (const venue of [one, other, one]) await noticeOwn(gateway, venue, slot);
    expect((await gateway.store.notifications.notices('arbitrum-sepolia', slot, 10)).map(({ about }) => about)).toEqual([lower(delegate)]);
  });

  it.each(['0x12', 'nobody', encodeURIComponent('0x../..'), '0xZZ45678901234567890123456789012345678901'])(
    'are none for %s',
    async (address) => {
      expect(await listed(address)).toEqual([]);
    },
  );

  it('that do not exist leave nothing behind when they are dismissed', async () => {
    const trader = await selfTrader();
    expect(await dismiss(trader, 4242)).toBe(200);
    const stored = await sandbox.gateway.store.notifications.dismissed(trader.account.address.toLowerCase() as `0x${string}`, [4242]);
    expect(stored.size).toBe(0);
  });

  it('may not be dismissed by another trader, nor with an invalid id', async () => {
    const [one, other] = [await selfTrader(), await selfTrader()];
    const path = `/v1/arbitrum-sepolia/account/${other.account.address}/notifications/8/dismiss`;
    const headers = await signRequest(keyOf(one), chain.definition, { operationId: 'dismissNotification', method: 'POST', path });
    const reply = await sandbox.call(path, { method: 'POST', headers });
    expect([reply.status, reply.body]).toEqual([403, expect.objectContaining({ code: 'TRADER_MISMATCH' })]);
    expect(await dismiss(one, '0x8')).toBe(400);
  });
});

describe("the backend's notifications", () => {
  const servers: Server[] = [];
  afterAll(() => servers.forEach((server) => server.close()));

  async function answering(status: number, body: string): Promise<string> {
    const server = createServer((_request, response) => response.writeHead(status, { 'content-type': 'application/json' }).end(body));
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
  const address = '0x00000000000000000000000000000000000000aa' as const;

  it('are read whatever they call their fields, as long as they can be put away', async () => {
    const url = await answering(
      200,
      JSON.stringify({
        notifications: [{ id: 7, title: 'Hello', message: 'there', createdAt: '2026-01-02T03:04:05Z' }, { id: 'x' }, null, { id: 8 }],
      }),
    );
    expect(await createBackendNotices(url, systemClock).list(address)).toEqual([
      { id: 7, title: 'Hello', body: 'there', createdAt: Date.UTC(2026, 0, 2, 3, 4, 5) },
      { id: 8, title: '', body: '', createdAt: 0 },
    ]);
  });

  it.each([
    [500, '{}'],
    [200, 'not json'],
    [200, '{"notifications":7}'],
  ])('that are %i %s count as no answer', async (status, body) => {
    await expect(createBackendNotices(await answering(status, body), systemClock).list(address)).rejects.toMatchObject({
      code: 'UPSTREAM_UNAVAILABLE',
    });
  });

  it('have ids that do not depend on how many kinds there are', () => {
    expect([notificationId(1n, 'order_filled'), notificationId(3n, 'backend')]).toEqual([16, 56]);
    expect(Number.isSafeInteger(notificationId(2n ** 48n, 'backend'))).toBe(true);
  });

  it('never share an id with our own', () => {
    const ids = [1n, 2n, 3n].flatMap((source) =>
      (['order_filled', 'agent_expiring', 'backend'] as const).map((kind) => notificationId(source, kind)),
    );
    expect(new Set(ids).size).toBe(9);
  });
});
