import { Wallet, type TypedDataDomain } from 'ethers';
import { generatePrivateKey } from 'viem/accounts';
import { notDelegated, requireActive } from '../../../core/access/agent-status.js';
import { createAgent, getAgent, listAgents, revokeAgent } from '../../../core/access/agents.js';
import { findCallerByKey, issueApiKey } from '../../../core/access/api-keys.js';
import { createStore, type KnexStore } from '../../../core/adapters/postgres/create-store.js';
import { venueOf, type Gateway, type Venue } from '../../../core/gateway.js';
import type { Address, Hex } from '../../../core/types.js';
import { createTestDatabase, type TestDatabase } from '../../harness/database/test-database.js';
import { authorization, domainOf, keyIssue, revocation, signWith, type AuthorizationOptions } from '../../harness/traders/master-wallet.js';
import { startOwnVenue, type TestVenue } from '../../harness/venue/own-venue.js';

/** One deployment, two replicas: each with its own connections and its own memory, one database and one chain. */
interface Replica {
  readonly gateway: Gateway;
  readonly venue: Venue;
}

let database: TestDatabase;
let sandbox: TestVenue;
let domain: TypedDataDomain;
let store: KnexStore;
let replicas: readonly [Replica, Replica];

beforeAll(async () => {
  database = await createTestDatabase();
  sandbox = await startOwnVenue({ DATABASE_URL: database.url });
  domain = await domainOf(sandbox);
  store = createStore({ url: database.url, log: sandbox.log });
  const { gateway } = sandbox;
  const venue = venueOf(gateway, 'arbitrum-sepolia');
  replicas = [
    { gateway, venue },
    { gateway: { ...gateway, store }, venue: { ...venue } },
  ];
});
afterAll(async () => {
  await store.close();
  await sandbox.stop();
  await database.drop();
});

const newWallet = (): Wallet => new Wallet(generatePrivateKey());
const lower = (text: string): Address => text.toLowerCase() as Address;

async function authorise({ gateway, venue }: Replica, trader: Wallet, options: Omit<AuthorizationOptions, 'trader'>) {
  const body = await authorization(domain, signWith(trader, domain), { trader: trader.address, ...options });
  const { scope } = body;
  return () =>
    createAgent(gateway, venue, {
      trader: lower(body.trader),
      agent: lower(body.agent),
      name: body.name ?? '',
      scope: { maxLeverage: null, dailySpendCapUsd: null, expiresAt: null, ...scope, permissions: 'trade' },
      timestamp: body.timestamp,
      signature: body.signature as Hex,
      agentSignature: (body.agentSignature ?? null) as Hex | null,
    });
}

async function revoke({ gateway, venue }: Replica, trader: Wallet, agent: string, timestamp?: number) {
  const body = await revocation(signWith(trader, domain), trader.address, agent, timestamp);
  return revokeAgent(gateway, venue, { ...body, trader: lower(trader.address), agent: lower(agent), signature: body.signature as Hex });
}

const found = ({ gateway, venue }: Replica, agent: string) => gateway.store.access.findAgent(venue.definition.slug, lower(agent));

describe('two gateways on one database', () => {
  it('accept a message once between them', async () => {
    const [trader, agent] = [newWallet(), newWallet()];
    const timestamp = Date.now();
    const sends = await Promise.all(
      Array.from({ length: 10 }, (_, n) => authorise(replicas[n % 2 === 0 ? 0 : 1], trader, { agent: agent.address, timestamp })),
    );
    const outcomes = await Promise.allSettled(sends.map((send) => send()));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const outcome of outcomes) if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'NONCE_REUSED' });
  });

  it('see each other’s revocations and changes in the next question, by a rising version', async () => {
    const [one, two] = replicas;
    const [trader, agent] = [newWallet(), newWallet()];
    const now = Date.now();
    await (
      await authorise(one, trader, { agent: agent.address, name: 'first', timestamp: now })
    )();
    const versions = [(await found(two, agent.address))?.version];
    await (
      await authorise(two, trader, { agent: agent.address, name: 'second', timestamp: now + 1 })
    )();
    versions.push((await found(one, agent.address))?.version);
    await revoke(two, trader, agent.address, now + 2);
    versions.push((await found(one, agent.address))?.version);
    expect((await getAgent(one.gateway, one.venue, lower(agent.address))).agent).toMatchObject({ name: 'second', status: 'revoked' });
    await expect(await authorise(one, trader, { agent: agent.address, timestamp: now + 1 })).rejects.toMatchObject({
      code: 'NONCE_REUSED',
    });
    const [first = 0n] = versions;
    expect(versions).toEqual([first, first + 1n, first + 2n]);
  });

  it('give an idle agent that ten traders want to one of them at a time', async () => {
    const agent = newWallet();
    const sends = await Promise.all(
      Array.from({ length: 10 }, (_, n) => authorise(replicas[n % 2 === 0 ? 0 : 1], newWallet(), { agent: agent.address })),
    );
    const outcomes = await Promise.allSettled(sends.map((send) => send()));
    const winners = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value.agent.trader] : []));
    const last = await found(replicas[0], agent.address);
    expect(winners).toContain(last?.trader);
    // A new row starts at a multiple of this, and each change adds one.
    expect((last?.version ?? 0n) % 1_048_576n).toBe(BigInt(winners.length - 1));
    for (const outcome of outcomes) if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'NOT_READY' });
  });

  it('know each other’s API keys', async () => {
    const [one, two] = replicas;
    const trader = newWallet();
    const body = await keyIssue(signWith(trader, domain), trader.address, 'shared');
    const request = { ...body, trader: lower(trader.address), signature: body.signature as Hex };
    const { apiKey } = await issueApiKey(one.gateway, one.venue, request);
    expect(await findCallerByKey(two.gateway, two.venue, apiKey)).toEqual({
      via: 'apiKey',
      trader: lower(trader.address),
      label: 'shared',
    });
    await expect(issueApiKey(two.gateway, two.venue, request)).rejects.toMatchObject({ code: 'NONCE_REUSED' });
  });
});

describe('what is kept of master messages', () => {
  it('goes when their window is over, with the messages that follow', async () => {
    const { db } = store;
    const old = Array.from({ length: 150 }, (_, n) => ({
      chain: 'base',
      signer: lower(newWallet().address),
      primary_type: 'AgentRevocation',
      digest: `0x${n}`,
      expires_at: Date.now() - 1_000,
    }));
    await db('master_messages').insert(old);
    const gone = async (): Promise<number> =>
      Number((await db('master_messages').where('expires_at', '<', Date.now()).count())[0]?.['count']);
    expect(await gone()).toBe(150);
    for (const trader of [newWallet(), newWallet()]) await (await authorise(replicas[0], trader, { agent: trader.address }))();
    expect(await gone()).toBe(0);
  });

  it('is nothing at all when the message fails in the end', async () => {
    const { db } = store;
    const [otherTrader, agent, owner] = [newWallet(), newWallet(), newWallet()];
    await (
      await authorise(replicas[0], owner, { agent: owner.address })
    )();
    await expect((await authorise(replicas[0], otherTrader, { agent: owner.address }))()).rejects.toMatchObject({
      code: 'TRADER_MISMATCH',
    });
    await expect(revoke(replicas[0], otherTrader, owner.address)).rejects.toMatchObject({ code: 'TRADER_MISMATCH' });
    await expect(revoke(replicas[0], otherTrader, agent.address)).rejects.toMatchObject({ code: 'AGENT_NOT_FOUND' });
    for (const [table, column] of [
      ['master_messages', 'signer'],
      ['master_timestamps', 'trader'],
      ['agents', 'trader'],
    ] as const)
      expect(await db(table).where(column, lower(otherTrader.address))).toEqual([]);
  });
});

describe('the agents of a trader', () => {
  it('are listed newest first with their status, revoked ones included', async () => {
    const [{ gateway, venue }] = replicas;
    const [trader, helper] = [newWallet(), newWallet()];
    await (
      await authorise(replicas[0], trader, { agent: trader.address, name: 'own' })
    )();
    await (
      await authorise(replicas[0], trader, { agent: helper.address, name: 'helper' })
    )();
    await revoke(replicas[0], trader, helper.address, Date.now() + 5);
    const listed = await listAgents(gateway, venue, lower(trader.address));
    expect(listed.map(({ createdAt }) => createdAt)).toEqual(listed.map(({ createdAt }) => createdAt).sort((a, b) => b - a));
    expect(listed.map(({ name, status }) => [name, status]).sort()).toEqual([
      ['helper', 'revoked'],
      ['own', 'active'],
    ]);
  });
});

describe('an agent that may not act', () => {
  it('receives the reason: who is delegate and what to send, that it expired, or that it was revoked', async () => {
    const { venue } = replicas[0];
    const [chain] = sandbox.controls.chains;
    const [agent, holder] = [newWallet(), newWallet()];
    const made = await chain?.faucet.createTrader({ eth: '1', approve: false, delegate: holder.address as Address });
    const trader = new Wallet(made?.privateKey ?? '');
    await (
      await authorise(replicas[0], trader, { agent: agent.address })
    )();
    const pending = await found(replicas[0], agent.address);
    if (!pending) throw new Error('the agent is gone');
    await expect(requireActive(venue, pending)).rejects.toMatchObject({
      code: 'AGENT_NOT_DELEGATED',
      details: {
        trader: lower(trader.address),
        agent: lower(agent.address),
        delegate: lower(holder.address),
        delegationTx: { to: venue.definition.diamond, chainId: venue.definition.chainId },
      },
    });
    const expired = { ...pending, scope: { ...pending.scope, expiresAt: 1 } };
    await expect(requireActive(venue, expired)).rejects.toMatchObject({ code: 'AGENT_EXPIRED', details: { expiresAt: 1 } });
    await expect(requireActive(venue, { ...expired, revokedAt: 1 })).rejects.toMatchObject({ code: 'AGENT_REVOKED' });
    expect(notDelegated(venue, { ...pending, mode: 'relayed' }, null).code).toBe('CHAIN_READ_ONLY');
    await expect(requireActive(venue, { ...pending, agent: lower(holder.address) })).resolves.toBeUndefined();
  });
});
