import { Wallet } from 'ethers';
import { createPublicClient, http } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { followerName, laneName, lockName } from '../../../core/adapters/postgres/lease-keeper.js';
import type { Gateway } from '../../../core/gateway.js';
import type { Address } from '../../../core/types.js';
import { openBooks } from '../../scenarios/gateway-process.js';
import { newTrader, type ChainTrader } from '../traders/chain-trader.js';
import { openDatabaseLine, type DatabaseProxy, type LineOptions } from './database-proxy.js';
import { createReplica, type Replica } from './replica.js';
import { createTestDatabase } from '../database/test-database.js';
import { eventually } from '../time/eventually.js';
import { firstChain } from '../venue/first-chain.js';
import { approveAgent, postExchange, signL1 } from '../hyperliquid/exchange.js';
import { openPurse, type Purse } from '../checks/relay-invariants.js';
import type { TestVenue } from '../venue/own-venue.js';

/** A replica with its own proxy to the database. */
export interface Member extends Replica {
  readonly line: DatabaseProxy;
}

export interface ClusterBot {
  readonly trader: ChainTrader;
  readonly agent: Wallet;
  /** Signs the action and posts it to that replica. */
  send(through: Replica, action: Record<string, unknown>): Promise<unknown>;
}

/** Gateways as real processes on one database and one chain, with one relayer wallet. */
export interface Cluster {
  readonly members: readonly [Member, Member];
  /** Reads the database the members share. */
  readonly books: Gateway;
  readonly relayer: Address;
  readonly purse: Purse;
  newBot(): Promise<ClusterBot>;
  /** The replica that follows the chain, or sends for the wallet; null while none does. */
  ownerOf(what: 'follower' | 'lane'): Promise<Member | null>;
  stop(): Promise<void>;
}

export interface ClusterOptions {
  readonly settings?: Record<string, string>;
  /** Of the second member's proxy. */
  readonly secondLine?: LineOptions;
  /** Another server than that of the run. */
  readonly databaseUrl?: string;
}

export const CLUSTER_CHAIN = 'arbitrum-sepolia';

export async function startCluster(sandbox: TestVenue, options: ClusterOptions = {}): Promise<Cluster> {
  const { settings = {}, secondLine = {}, databaseUrl } = options;
  const chain = firstChain(sandbox);
  const key = generatePrivateKey();
  const relayer = privateKeyToAccount(key).address.toLowerCase() as Address;
  await chain.faucet.fund(relayer, { eth: '10' });
  const database = databaseUrl === undefined ? await createTestDatabase() : { url: databaseUrl, drop: () => Promise.resolve() };
  const join = async (line: LineOptions): Promise<Member> => {
    const own = await openDatabaseLine(database.url, line);
    const variables = { RELAYER_KEY_ARBITRUM_SEPOLIA: key, FACADE_HOLD_MS: '6500', ...settings, DATABASE_URL: own.url };
    return { ...createReplica(sandbox, { settings: variables }), line: own };
  };
  const members = [await join({}), await join(secondLine)] as const;
  await Promise.all(members.map((member) => member.start()));
  const books = await openBooks(sandbox, database.url);
  const client = createPublicClient({ transport: http(chain.rpcUrl, { timeout: 60_000, batch: true }), cacheTime: 0 });
  return {
    members,
    books: books.gateway,
    relayer,
    purse: await openPurse(client, relayer),
    async newBot() {
      const trader = await newTrader(chain, { delegate: relayer, usdc: '100000' });
      const agent = new Wallet(generatePrivateKey());
      const approval = await approveAgent(new Wallet(trader.privateKey), agent.address, null, { network: 'Testnet' });
      const approved = await postExchange(members[0].url(), CLUSTER_CHAIN, approval);
      if (approved.status !== 200) throw new Error(`the agent was not approved: ${JSON.stringify(approved.body)}`);
      const send: ClusterBot['send'] = async (through, action) =>
        (await postExchange(through.url(), CLUSTER_CHAIN, await signL1(agent, action))).body;
      return { trader, agent, send };
    },
    async ownerOf(what) {
      const name = what === 'lane' ? laneName(CLUSTER_CHAIN, relayer) : followerName(CLUSTER_CHAIN);
      const { rows } = await books.store.db.raw<{ rows: { port: number }[] }>(HOLDER, { name: lockName(name) });
      return members.find(({ line }) => line.ports().includes(rows[0]?.port ?? -1)) ?? null;
    },
    async stop() {
      await Promise.all(members.map((member) => member.kill()));
      await books.close();
      await Promise.all(members.map(({ line }) => line.close()));
      await database.drop();
    },
  };
}

const HOLDER = `
  select client_port as port from pg_locks lock join pg_stat_activity activity on activity.pid = lock.pid
  where locktype = 'advisory' and granted and objsubid = 1 and lock.database = (select oid from pg_database where datname = current_database())
  and ((classid::bigint << 32) | objid::bigint) = hashtextextended(:name, 0)`;

export const otherThan = ({ members: [first, second] }: Cluster, member: Member): Member => (member === first ? second : first);

/** The owner, once there is one; how long it took, in ms. */
export async function untilOwned(
  cluster: Cluster,
  what: 'follower' | 'lane',
  by?: Member,
): Promise<{ readonly owner: Member; readonly ms: number }> {
  const since = Date.now();
  const owner = await eventually(
    () => cluster.ownerOf(what),
    (member) => member !== null && (by === undefined || member === by),
  );
  if (owner === null) throw new Error('no replica owns it');
  return { owner, ms: Date.now() - since };
}
