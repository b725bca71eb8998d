import type { Gateway, GatewayEvents, Venue } from '../../core/gateway.js';
import { NOTHING_DUE } from '../harness/database/nothing-due.js';
import { createTestDatabase, type TestDatabase } from '../harness/database/test-database.js';
import { openDatabaseLine, type DatabaseProxy } from '../harness/process/database-proxy.js';
import { eventually } from '../harness/time/eventually.js';
import { FACADE_CHAIN } from '../harness/traders/facade-trader.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';
import { startSecondGateway, whenReady, type SecondGateway } from '../harness/venue/second-gateway.js';

/** A replica beside one that follows the chain and sends for the wallet, while no client asks anything: counted on its wire to the database. */

let database: TestDatabase;
let proxy: DatabaseProxy;
let sandbox: TestVenue;
let idle: SecondGateway;

beforeAll(async () => {
  database = await createTestDatabase();
  proxy = await openDatabaseLine(database.url);
  // Blocks come as often as on Arbitrum.
  sandbox = await startOwnVenue({ DATABASE_URL: database.url, SANDBOX_BLOCK_MS: '250', SANDBOX_IDLE_BLOCK_MS: '250' });
  await whenReady(sandbox);
  const { config } = sandbox;
  const beside = { ...sandbox, config: { ...config, database: { kind: 'server', url: proxy.url } as const } };
  idle = await startSecondGateway(beside, { relays: true });
  await whenReady(idle);
});
afterAll(async () => {
  await idle.stop();
  await sandbox.stop();
  await proxy.close();
  await database.drop();
});

const venueOf = ({ venues }: Gateway): Venue => {
  const venue = venues.get(FACADE_CHAIN);
  if (!venue) throw new Error('the chain is not served');
  return venue;
};

describe('an idle replica', () => {
  const isLook = (text: string): boolean => text.includes('from relay_switches') && text.includes('from scheduled_cancels');
  const isBeat = (text: string): boolean => text.includes('pg_backend_pid()');
  const LOOKS = 5;
  /** Two, and what is looked after every few seconds: alerts, the journal. */
  const MOST_PER_LOOK = 3;

  it('asks the database once a second what is due, and once for all of its leases, however often blocks come', async () => {
    proxy.roundTrips();
    const asked: string[] = [];
    await eventually(
      () => asked.push(...proxy.roundTrips()),
      () => asked.filter(isLook).length >= LOOKS,
    );
    expect(asked.filter(isBeat).length).toBeGreaterThan(LOOKS / 2);
    expect(asked.length).toBeLessThanOrEqual(LOOKS * MOST_PER_LOOK);
  });

  it('knows from that how far the other one has followed the chain', async () => {
    const { state } = venueOf(idle.gateway);
    const before = state.followed.block ?? 0n;
    await eventually(
      () => state.followed.block ?? 0n,
      (block) => block > before,
    );
  });

  it('lets no older answer replace a newer one, and the replica at work lets none replace its own', () => {
    const due = (indexedBlock: bigint): GatewayEvents['due']['due'] => ({ ...NOTHING_DUE, indexedBlock });
    const [now, block] = [idle.gateway.clock.monotonic(), 1n];
    for (const { gateway } of [idle, sandbox]) gateway.bus.emit('due', { venue: venueOf(gateway), askedAt: now, due: due(block) });
    expect(venueOf(idle.gateway).state.followed.block).toBe(block);
    expect(venueOf(sandbox.gateway).state.followed.block).toBeGreaterThan(block);
    idle.gateway.bus.emit('due', { venue: venueOf(idle.gateway), askedAt: now - 1, due: due(2n) });
    expect(venueOf(idle.gateway).state.followed.block).toBe(block);
  });
});
