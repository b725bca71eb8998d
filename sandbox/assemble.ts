import { zeroAddress } from 'viem';
import { accessSettings } from '../core/access/access-variables.js';
import type { Config } from '../core/config/config.js';
import { facadeSettings } from '../core/config/facade.js';
import type { Gateway, Venue } from '../core/gateway.js';
import { orderSettings } from '../core/trading/order-variables.js';
import type { Logger } from '../core/ports/log.js';
import type { Clock } from '../core/ports/clock.js';
import { readiness } from '../core/observability/readiness.js';
import { operatorSettings, traceSettings, type OperatorSettings } from '../core/config/operator.js';
import { startGateway, startStore } from '../app/compose/gateway.js';
import type { Lifecycle } from '../app/lifecycle.js';
import { createProgress } from './banner.js';
import type { SandboxControls } from './controls.js';
import type { Ground } from './ground.js';
import { sandboxRouter } from './routes.js';
import type { SandboxSettings } from './settings.js';
import { startVenue } from './venue.js';
import { createAgent, signedScope, type ScopeText } from '../core/access/agents.js';
import { agentNameTag, approveFacadeAgent } from '../core/access/facade-agents.js';
import { masterDigest } from '../core/access/master-signature.js';
import { parseSignature } from '../core/access/signature.js';
import { GatewayError } from '../core/errors.js';
import type { Address } from '../core/types.js';
import type { DemoRole, SandboxAccounts } from './accounts.js';
import { systemRandom } from '../core/adapters/system/clock.js';

export interface AssembleOptions {
  readonly settings: SandboxSettings;
  readonly lifecycle: Lifecycle;
  readonly clock: Clock;
  readonly log: Logger;
  /** Prints progress. */
  readonly write: (line: string) => void;
}

export interface Sandbox {
  readonly url: string;
  readonly gateway: Gateway;
  readonly controls: SandboxControls;
  /** The configuration of its gateway, to start another one beside it. */
  readonly config: Config;
  /** The operator token, if the sandbox generated it. */
  readonly publicToken: string | null;
}

const READY_POLL_MS = 50;

/** Starts the venue and, in front of it, the gateway as in production. Resolves when `/ready` answers 200. */
export async function assembleSandbox(options: AssembleOptions, ground: Ground): Promise<Sandbox> {
  const { settings, lifecycle, clock, log, write } = options;
  const { http, folder, setAside, database, server } = ground;
  const progress = createProgress(() => clock.now(), write);
  if (setAside !== null)
    progress.step(`the data in ${folder.root} was made by a pre-release; starting afresh (it was moved to ${setAside})`);
  const [store, venue] = await bothOrNeither(
    startStore({ lifecycle, clock, log }, database, server),
    startVenue(lifecycle, { settings, folder, clock, log, progress, isWatched: watchClients(http, clock) }),
  );
  const { operator, publicToken } = sandboxOperator(settings);
  const config = sandboxConfig(settings, { database, chains: venue.chainConfigs, operator });
  progress.step('starting the gateway');
  const gateway = await startGateway({
    config,
    store,
    lifecycle,
    clock,
    log,
    http,
    extraRoutes: [sandboxRouter(venue.controls, publicToken)],
  });
  await lifecycle.start(
    'demo agents',
    () => authoriseDemo(gateway, venue.controls.accounts, lifecycle.stopping),
    () => undefined,
  );
  await lifecycle.start(
    'readiness',
    () => untilReady(gateway, lifecycle.stopping),
    () => undefined,
  );
  return { url: http.url, gateway, controls: venue.controls, config, publicToken };
}

/** The configuration of a gateway in front of the sandbox. */
export const sandboxConfig = (settings: SandboxSettings, parts: Pick<Config, 'database' | 'chains' | 'operator'>): Config => ({
  ...parts,
  mode: 'sandbox',
  host: settings.HOST,
  port: settings.PORT,
  logLevel: settings.LOG_LEVEL,
  serviceName: settings.SERVICE_NAME,
  commit: settings.COMMIT,
  shutdownDelayMs: 0,
  notificationsUrl: null,
  access: accessSettings(settings),
  orders: orderSettings(settings),
  facade: facadeSettings(settings, { isSandbox: true }),
  pages: settings.PAGES,
  traces: traceSettings(settings),
});

const CLIENT_MEMORY_MS = 10_000;

/** True while a client is connected, and for a while after the last one. */
function watchClients(http: Ground['http'], clock: Clock): () => boolean {
  let seen = http.connections().accepted;
  let seenAt = clock.now();
  return () => {
    const { open, accepted } = http.connections();
    if (open > 0 || accepted !== seen) [seen, seenAt] = [accepted, clock.now()];
    return clock.now() - seenAt < CLIENT_MEMORY_MS;
  };
}

/** Waits for both even if one fails: what the other starts must be registered before everything is stopped. */
async function bothOrNeither<A, B>(a: Promise<A>, b: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([a, b]);
  return Promise.all([a, b]);
}

async function untilReady(gateway: Gateway, stopping: AbortSignal): Promise<void> {
  while (!stopping.aborted && !(await readiness(gateway)).ready) await gateway.clock.sleep(READY_POLL_MS, stopping);
}

const NAME = 'demo';
const APPROVAL = [
  { name: 'hyperliquidChain', type: 'string' },
  { name: 'agentAddress', type: 'address' },
  { name: 'agentName', type: 'string' },
  { name: 'nonce', type: 'uint64' },
] as const;
const SCOPE: ScopeText = { markets: 'all', maxLeverage: null, dailySpendCapUsd: null, expiresAt: null, permissions: 'trade' };

const PAUSE_MS = 50;
/** By then something is wrong, and not only slow. */
const GIVE_UP_MS = 60_000;
const isPassing = (error: unknown): boolean =>
  error instanceof GatewayError && ['UPSTREAM_UNAVAILABLE', 'NOT_READY'].includes(String(error.code));

type DemoAccounts = Pick<SandboxAccounts, DemoRole>;

/** The demo traders authorise their agents on every chain, each through its API; valid authorisations of an earlier run are kept. */
async function authoriseDemo(gateway: Gateway, accounts: DemoAccounts, stopping: AbortSignal): Promise<void> {
  const { clock } = gateway;
  const end = clock.now() + GIVE_UP_MS;
  for (;;)
    try {
      return await authoriseAll(gateway, accounts);
    } catch (error) {
      // While everything starts, the parameters of the markets may not be loaded yet, and a request may time out on a busy machine.
      if (stopping.aborted || clock.now() > end || !isPassing(error)) throw error;
      await clock.sleep(PAUSE_MS, stopping);
    }
}

async function authoriseAll(gateway: Gateway, accounts: DemoAccounts): Promise<void> {
  await Promise.all([...gateway.venues.values()].map((venue) => authoriseOn(gateway, venue, accounts)));
  // In sequence: a wallet's approvals share one set of nonces across chains.
  let nonce = BigInt(gateway.clock.now());
  for (const venue of gateway.venues.values()) await approveOn(gateway, venue, accounts, nonce++);
}

async function approveOn(gateway: Gateway, venue: Venue, accounts: DemoAccounts, nonce: bigint): Promise<void> {
  const [trader, agent] = [lower(accounts['hl-trader'].address), lower(accounts['hl-agent'].address)];
  const name = agentNameTag(venue);
  const known = await gateway.store.access.findAgent(venue.definition.slug, agent);
  if (name === null || (known?.trader === trader && known.revokedAt === null)) return;
  const text = await accounts['hl-trader'].signer.signTypedData({
    domain: { name: 'HyperliquidSignTransaction', version: '1', chainId: venue.definition.chainId, verifyingContract: zeroAddress },
    types: { 'HyperliquidTransaction:ApproveAgent': APPROVAL },
    primaryType: 'HyperliquidTransaction:ApproveAgent',
    message: { hyperliquidChain: 'Testnet', agentAddress: agent, agentName: name, nonce },
  });
  const signature = parseSignature(text);
  if (signature === null) throw new Error('the demo trader did not sign its approval');
  const signatureChainId = BigInt(venue.definition.chainId);
  await approveFacadeAgent(gateway, venue, { trader, agent, name, network: 'Testnet', nonce, signatureChainId, signature });
}

async function authoriseOn(gateway: Gateway, venue: Venue, accounts: DemoAccounts): Promise<void> {
  const [trader, agent] = [lower(accounts.trader.address), lower(accounts.agent.address)];
  const known = await gateway.store.access.findAgent(venue.definition.slug, agent);
  if (known?.trader === trader && known.revokedAt === null) return;
  const timestamp = venue.clock.now();
  const message = { agent, name: NAME, ...signedScope(SCOPE), timestamp: BigInt(timestamp) };
  const digest = masterDigest(gateway, venue, 'AgentAuthorization', message);
  const signature = await accounts.trader.signer.sign({ hash: digest });
  await createAgent(gateway, venue, { trader, agent, name: NAME, scope: SCOPE, timestamp, signature, agentSignature: null });
}

const lower = (address: Address): Address => address.toLowerCase() as Address;

const TOKEN_BYTES = 18;

interface SandboxOperator {
  readonly operator: OperatorSettings & { readonly token: () => string };
  /** The token published to local clients; null if the user configured one, which may be in use elsewhere. */
  readonly publicToken: string | null;
}

/** The user of a sandbox is its operator: without a configured token a new one is generated and shown at start. */
export function sandboxOperator(settings: SandboxSettings): SandboxOperator {
  const operator = operatorSettings(settings);
  const made = Buffer.from(systemRandom(TOKEN_BYTES)).toString('base64url');
  return { operator: { ...operator, token: operator.token ?? (() => made) }, publicToken: operator.token === null ? made : null };
}
