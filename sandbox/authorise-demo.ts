import { zeroAddress } from 'viem';
import { createAgent, signedScope, type ScopeText } from '../core/access/agents.js';
import { agentNameTag, approveFacadeAgent } from '../core/access/facade-agents.js';
import { masterDigest } from '../core/access/master-signature.js';
import { parseSignature } from '../core/access/signature.js';
import { GatewayError } from '../core/errors.js';
import type { Gateway, Venue } from '../core/gateway.js';
import type { Address } from '../core/types.js';
import type { DemoRole, SandboxAccounts } from './accounts.js';

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
export async function authoriseDemo(gateway: Gateway, accounts: DemoAccounts, stopping: AbortSignal): Promise<void> {
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
