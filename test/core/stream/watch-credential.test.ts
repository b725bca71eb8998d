import { Wallet } from 'ethers';
import { generatePrivateKey } from 'viem/accounts';
import { apiKeyHash } from '../../../core/access/api-keys.js';
import { delegationTx } from '../../../core/access/delegation.js';
import { venueOf, type Gateway, type Venue } from '../../../core/gateway.js';
import { DELEGATE_POLL_MS, watchCredential, type Credential } from '../../../core/stream/venue-stream.js';
import type { ChainControls } from '../../../sandbox/controls.js';
import { lowerOf } from '../../harness/diamond/chain-checker.js';
import { newAgentTrader, type AgentTrader } from '../../harness/traders/agent-trader.js';
import { agentsOf, authorization, domainOf, EVERYTHING, keyIssue, signWith, type Sign } from '../../harness/traders/master-wallet.js';
import { eventually, until } from '../../harness/time/eventually.js';
import { createManualClock, type ManualClock } from '../../harness/time/manual-clock.js';
import { firstChain } from '../../harness/venue/first-chain.js';
import type { TestVenue } from '../../harness/venue/own-venue.js';
import { sharedVenue } from '../../harness/venue/shared-venue.js';

/** How long a credential is good, by a clock that the tests move. That lost channels end: test/native-api/ws/credential.test.ts. */

let sandbox: TestVenue;
let chain: ChainControls;
let agent: AgentTrader;
let sign: Sign;
let clock: ManualClock;
let lost: string[];
let looks: number;
let stop: () => void;

beforeAll(async () => {
  sandbox = await sharedVenue();
  chain = firstChain(sandbox);
  agent = await newAgentTrader(sandbox, chain);
  sign = signWith(new Wallet(agent.trader.privateKey), await domainOf(sandbox));
});
afterAll(() => sandbox.stop());
afterEach(() => stop());

function watch(credential: Credential): void {
  clock = createManualClock(Date.now());
  lost = [];
  looks = 0;
  const real = venueOf(sandbox.gateway, chain.definition.slug);
  const venue: Venue = { ...real, clock };
  const { access, bus } = sandbox.gateway;
  const counted =
    <Key, Found>(refresh: (key: Key) => Promise<Found>) =>
    async (key: Key): Promise<Found> => {
      const found = await refresh(key);
      looks += 1;
      return found;
    };
  const gateway: Gateway = {
    ...sandbox.gateway,
    access: {
      ...access,
      agents: { ...access.agents, refresh: counted((key) => access.agents.refresh(key)) },
      apiKeys: { ...access.apiKeys, refresh: counted((key) => access.apiKeys.refresh(key)) },
    },
    bus: {
      ...bus,
      on: (kind, listener) => bus.on(kind, (event) => listener('venue' in event && event.venue === real ? { ...event, venue } : event)),
    },
  };
  const source = watchCredential(gateway, venue, credential);
  source.listen(({ code }) => lost.push(code));
  stop = source.stop;
}

const ofAgent = (): Credential => ({
  kind: 'agent',
  agent: agent.wallet.address.toLowerCase() as `0x${string}`,
  trader: lowerOf(agent.trader),
});

async function renew(expiresAt: number | null): Promise<void> {
  const body = await authorization(await domainOf(sandbox), sign, {
    trader: agent.trader.account.address,
    agent: agent.wallet.address,
    scope: { ...EVERYTHING, expiresAt },
  });
  expect((await agentsOf(sandbox).create(body)).status).toBe(201);
}

const WHILE_MS = 300_000;

it('ends with the newest scope of its agent: a longer one keeps it, a shorter one ends it', async () => {
  await renew(Date.now() + WHILE_MS);
  watch(ofAgent());
  await until(() => looks === 1);
  await renew(Date.now() + 3 * WHILE_MS);
  // The timer of the shorter scope would fire otherwise.
  await eventually(
    () => clock.lastDueAt - clock.now(),
    (ms) => ms > 2 * WHILE_MS,
  );
  const before = looks;
  clock.advance(2 * WHILE_MS);
  await until(() => looks > before);
  expect(lost).toEqual([]);
  await renew(Date.now() + WHILE_MS);
  await until(() => lost.length > 0);
  expect(lost).toContain('AGENT_EXPIRED');
});

it('ends when the time of its agent is over, and not before', async () => {
  const expiresAt = Date.now() + WHILE_MS;
  await renew(expiresAt);
  watch(ofAgent());
  await until(() => looks === 1);
  clock.advance(expiresAt - clock.now() - 1);
  await until(() => looks > 1);
  expect(lost).toEqual([]);
  clock.advance(1);
  await until(() => lost.length > 0);
  expect(lost).toContain('AGENT_EXPIRED');
  await renew(null);
});

it('ends when the API key is replaced', async () => {
  const issue = async (): Promise<string> => {
    const body = await keyIssue(sign, agent.trader.account.address, 'stream');
    return ((await sandbox.post(`/v1/${chain.definition.slug}/api-keys`, body)).body as { apiKey: string }).apiKey;
  };
  watch({ kind: 'apiKey', hash: apiKeyHash(await issue()) ?? '' });
  await until(() => looks === 1);
  await issue();
  clock.advance(DELEGATE_POLL_MS);
  await until(() => lost.length > 0);
  expect(lost).toEqual(['API_KEY_UNKNOWN']);
});

it('ends when the trader names another delegate, though the contract emits nothing', async () => {
  watch(ofAgent());
  await until(() => looks === 1);
  const { to, data } = delegationTx(chain.definition, new Wallet(generatePrivateKey()).address as `0x${string}`);
  await agent.trader.send(to as `0x${string}`, data as `0x${string}`);
  clock.advance(DELEGATE_POLL_MS);
  await until(() => lost.length > 0);
  expect(lost).toEqual(['AGENT_NOT_DELEGATED']);
});
