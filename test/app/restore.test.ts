import pg from 'pg';
import { generatePrivateKey } from 'viem/accounts';
import { runRestore } from '../../app/restore/run-restore.js';
import { systemClock } from '../../core/adapters/system/clock.js';
import type { Config } from '../../core/config/config.js';
import { FACADE_FLOOR_MS } from '../../core/ports/stores/continuity.js';
import { listEvents } from '../../core/account/list-events.js';
import { formatDecimal } from '../../core/domain/decimal.js';
import { getOrderTimeline } from '../../core/trading/order-timeline.js';
import type { Address, Hex } from '../../core/types.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { createWallet } from '../../relayer/wallet.js';
import { createRecordedLog } from '../harness/checks/recorded-log.js';
import { expectRelayInvariants, openPurse, type Purse } from '../harness/checks/relay-invariants.js';
import {
  copyTestDatabase,
  createEmptyTestDatabase,
  createTestDatabase,
  goBackTo,
  type TestDatabase,
} from '../harness/database/test-database.js';
import { order, orderAction } from '../harness/hyperliquid/exchange.js';
import { eventually, eventuallyOn } from '../harness/time/eventually.js';
import { startRelayerGateway, type RelayedBot, type RelayerGateway } from '../harness/venue/relayer-gateway.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';

/** A backup put back while a wallet went on: what `restore` says of it, what it marks, and what the next start makes of that. */

const SLUG = 'arbitrum-sepolia';
const rest = (p: string) => order({ a: 0, b: true, p, s: '0.01', t: { limit: { tif: 'Alo' } } });

let sandbox: TestVenue;
let chain: ChainControls;
let before: RelayerGateway;
let bot: RelayedBot;
let purse: Purse;
let database: TestDatabase;
let key: Hex;
let copy: TestDatabase;
/** Of the orders that waited when the copy was made. */
let waiting: readonly bigint[];

beforeAll(async () => {
  sandbox = await startOwnVenue();
  const [first] = sandbox.controls.chains;
  if (!first) throw new Error('the sandbox has no chain');
  chain = first;
  sandbox.controls.prices.jump(0, '60000');
  database = await createTestDatabase();
  key = generatePrivateKey();
  await chain.faucet.fund(createWallet(key).address, { eth: '10' });
  before = await startRelayerGateway(sandbox, { isHeld: true, holdMs: 300, clock: sandbox.clock, goesOn: { database, key } });
  bot = await before.newBot();
  purse = await openPurse(before.client, before.wallet);
  await before.gateway.store.relay.beginLane(SLUG, before.wallet, 0);
  const answer = (await bot.send(orderAction(rest('50000'), rest('49000')))) as {
    response: { data: { statuses: { resting: { oid: number } }[] } };
  };
  waiting = answer.response.data.statuses.map(({ resting }) => BigInt(resting.oid));
  // It cuts the connection that held the lane: from now on the wallet sends, and the copy does not know of it.
  copy = await copyTestDatabase(database);
  await areOnChain(2);
  await bot.send(orderAction(rest('47000')));
  await areOnChain(3);
  await eventually(
    () => before.gateway.store.relay.open(SLUG, before.wallet),
    (open) => open.length === 0,
  );
});
afterAll(async () => {
  await database.drop();
  await sandbox.stop();
});

const soon = eventuallyOn(() => sandbox.clock);
const areOnChain = (count: number) =>
  soon(
    () => bot.trader.trades(),
    (trades) => trades.length === count,
  );

function settings(changes: Partial<Config> = {}): Config {
  const chains = sandbox.config.chains.map((each) => ({
    ...each,
    relayer: { keys: () => [key], maxFeePerGas: 50_000_000_000n },
  }));
  return { ...sandbox.config, database: { kind: 'server', url: database.url }, chains, ...changes };
}

async function restore(words: string, config: () => Config = settings) {
  let [printed, complained] = ['', ''];
  const code = await runRestore(words.split(' '), {
    readConfig: config,
    clock: systemClock,
    log: createRecordedLog(),
    write: (text) => void (printed += text),
    complain: (text) => void (complained += text),
  });
  return { code, printed, complained };
}

/** What a look must not change. */
async function contents(): Promise<unknown> {
  const client = new pg.Client(database.url);
  await client.connect();
  try {
    const { rows: tables } = await client.query<{ name: string; kind: string }>(`select relname as name, relkind as kind from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'S') order by 1`);
    const sums: Record<string, unknown> = {};
    for (const { name, kind } of tables) {
      const sum = kind === 'S' ? 'last_value' : `md5(string_agg(t::text, '' order by t::text))`;
      sums[name] = (await client.query(`select ${sum} as sum from "${name}" t`)).rows[0];
    }
    return sums;
  } finally {
    await client.end();
  }
}

async function costsOnChain(): Promise<{ readonly hashes: readonly string[]; readonly gas: bigint }> {
  const { client, wallet } = before;
  const head = await client.getBlockNumber({ cacheTime: 0 });
  const hashes: string[] = [];
  for (let block = purse.block + 1n; block <= head; block += 1n)
    for (const { from, hash } of (await client.getBlock({ blockNumber: block, includeTransactions: true })).transactions)
      if (from.toLowerCase() === wallet) hashes.push(hash);
  return { hashes, gas: purse.balance - (await client.getBalance({ address: wallet })) };
}

describe('restore', () => {
  it('refuses while a gateway runs', async () => {
    for (const words of ['--check', '--run'])
      expect(await restore(words)).toMatchObject({
        code: 7,
        printed: '',
        complained: expect.stringContaining('Stop every gateway first.'),
      });
  });

  it('says what is wrong with its surroundings, each with a code of its own', async () => {
    expect(await restore('--check --run')).toMatchObject({ code: 2 });
    expect(await restore('--look')).toMatchObject({ code: 2, complained: expect.stringContaining('--look') });
    const without = () => settings({ chains: sandbox.config.chains.map((each) => ({ ...each, relayer: null })) });
    expect(await restore('--run', without)).toMatchObject({ code: 4, complained: expect.stringContaining('--no-relayer') });
    const away = () => settings({ database: { kind: 'server', url: 'postgres://nobody@127.0.0.1:1/none' } });
    expect(await restore('--check', away)).toMatchObject({ code: 5, complained: expect.stringContaining('cannot be used') });
    const empty = await createEmptyTestDatabase();
    const bare = () => settings({ database: { kind: 'server', url: empty.url } });
    expect(await restore('--check', bare)).toMatchObject({ code: 6, complained: expect.stringContaining('Put the backup back first') });
    await empty.drop();
  });
});

describe('restore with a copy of the database put back', () => {
  let marked: unknown;

  beforeAll(async () => {
    await before.stop();
    await goBackTo(copy, database);
  });

  it('says that a node is away', async () => {
    const away = () =>
      settings({ chains: settings().chains.map((each) => ({ ...each, rpcUrls: ['http://127.0.0.1:1'], nodePatienceMs: 500 })) });
    expect(await restore('--run', away)).toMatchObject({ code: 8, complained: expect.stringContaining(`No node of ${SLUG} answers`) });
  });

  it('prints what the chain has and the database has not, and changes nothing', async () => {
    const was = await contents();
    const { code, printed, complained } = await restore('--check --json');
    expect({ code, complained }).toEqual({ code: 3, complained: '' });
    const { hashes, gas } = await costsOnChain();
    expect(hashes).toHaveLength(3);
    const { chains } = JSON.parse(printed) as { chains: unknown };
    const trader = bot.trader.account.address.toLowerCase();
    const sent = { calls: ['openTrade'], trader, isReverted: false };
    expect(chains).toEqual([
      {
        chain: SLUG,
        index: { database: expect.any(String), chain: expect.any(String) },
        wallets: [
          {
            wallet: before.wallet,
            nonces: { database: 0, chain: 3, pending: 3 },
            transactions: hashes.map((hash, nonce): unknown =>
              expect.objectContaining({ ...sent, nonce, hash, job: nonce < 2 ? expect.any(String) : null }),
            ),
            unexplained: [],
            notLookedFor: 0,
            orders: waiting.map((id) => ({ order: String(id), job: expect.any(String), trader, fate: 'sent' })),
            gasWei: String(gas),
          },
        ],
      },
    ]);
    const text = (await restore('--check')).printed;
    for (const hash of hashes) expect(text).toContain(hash);
    expect(text).toContain('next nonce: database 0, chain 3, with what waits for a block 3');
    expect(text).toContain('Nothing was changed. Next: diamond-gateway restore --run');
    expect(await contents()).toEqual(was);
  });

  it('marks the loss, once', async () => {
    expect(await restore('--run')).toMatchObject({ code: 0, printed: expect.stringContaining('Marked: The database lost commits from ') });
    marked = await contents();
    expect(await restore('--run')).toMatchObject({ code: 0, printed: expect.stringContaining('It was marked before: ') });
    expect(await contents()).toEqual(marked);
  });

  it('lets the next start find everything, send nothing twice, and go on', async () => {
    const after = await startRelayerGateway(sandbox, { holdMs: 300, clock: sandbox.clock, goesOn: { database, key } });
    try {
      const { store } = after.gateway;
      await soon(
        () => store.recovery.lane(SLUG, after.wallet),
        ({ reconciledLoss }) => reconciledLoss > 0n,
      );
      await expectRelayInvariants(purse, { slug: SLUG, store: store.relay });
      for (const [nonce, id] of waiting.entries())
        expect(await store.relay.jobsOfOrder(SLUG, id)).toMatchObject([{ state: 'mined', nonce }]);
      const { total } = await store.gas.costs({ chain: SLUG, by: 'wallet', from: 0, to: 100_000, limit: 1 });
      expect(total.costWei).toBe((await costsOnChain()).gas);
      const loss = store.continuity.lastLoss();
      expect(loss).toMatchObject({ id: 1n, reason: expect.stringContaining('restore'), walletNonces: { [`${SLUG} ${after.wallet}`]: 2 } });
      const trader = bot.trader.account.address.toLowerCase() as Address;
      const caller = { via: 'apiKey', trader, label: 'reader' } as const;
      const venue = after.gateway.venues.get(SLUG);
      if (!venue) throw new Error('the gateway does not serve the chain');
      // The order whose row is gone: its trader reads of it in the journal and in its timeline.
      const { data } = await listEvents(after.gateway, venue, trader, { after: 0, limit: 500 });
      const back = data.flatMap((event) => (event.kind === 'order' ? [{ id: event.data.id, note: event.note, p: event.data.price }] : []));
      expect(back.filter(({ note }) => note !== null).map(({ p }) => Math.round(Number(p && formatDecimal(p)) / 100))).toEqual([470]);
      const { id } = back.find(({ note }) => note !== null) ?? { id: '' };
      const { steps } = await getOrderTimeline(after.gateway, venue, caller, id);
      expect(steps[0]).toMatchObject({ step: 'mined', note: expect.stringContaining('Read from the chain after the database lost') });
      const kept = await getOrderTimeline(after.gateway, venue, caller, String(waiting[0]));
      expect(kept.steps.every(({ note }) => note === null)).toBe(true);
      await store.continuity.adopt(loss?.id ?? 0n, sandbox.clock.now());
      const answer = await bot.sendTo(after, orderAction(rest('46000')), { nonce: sandbox.clock.now() + 2 * FACADE_FLOOR_MS });
      // Ids of the lost time are not given again.
      expect(answer).toMatchObject({ response: { data: { statuses: [{ resting: { oid: expect.any(Number) } }] } } });
      const [{ resting }] = (answer as { response: { data: { statuses: [{ resting: { oid: number } }] } } }).response.data.statuses;
      expect(resting.oid).toBeGreaterThan(2 ** 32);
      await areOnChain(4);
      await expectRelayInvariants(purse, { slug: SLUG, store: store.relay });
      expect(await after.client.getTransactionCount({ address: after.wallet })).toBe(4);
    } finally {
      await after.stop();
    }
  });

  it('finds no difference afterwards, and a second restore is another loss', async () => {
    expect(await restore('--check')).toMatchObject({ code: 0, printed: expect.stringContaining('Database and chain are the same.') });
    expect(await restore('--run')).toMatchObject({ code: 0, printed: expect.stringContaining('Marked: ') });
  });

  it('marks a deployment without a relayer, too', async () => {
    const without = () => settings({ chains: sandbox.config.chains.map((each) => ({ ...each, relayer: null })) });
    expect(await restore('--run --no-relayer', without)).toMatchObject({ code: 0, printed: expect.stringContaining('marked before') });
  });
});

describe('restore on an embedded database', () => {
  it('refuses a folder that is not there', async () => {
    const embedded = () => settings({ database: { kind: 'embedded', folder: '/nowhere/data' } });
    expect(await restore('--check', embedded)).toMatchObject({ code: 5, complained: expect.stringContaining('/nowhere/data') });
  });
});
