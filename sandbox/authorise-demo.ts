import { createAgent } from '../core/access/agents.js';
import { masterDigest } from '../core/access/master-signature.js';
import { signedScope, type ScopeText } from '../core/access/scope-text.js';
import type { Gateway, Venue } from '../core/gateway.js';
import type { Address } from '../core/ports.js';
import type { SandboxAccounts } from './accounts.js';

const NAME = 'demo';
const SCOPE: ScopeText = { markets: 'all', maxLeverage: null, dailySpendCapUsd: null, expiresAt: null, permissions: 'trade' };

/** The demo trader authorises the demo agent on every chain, as any trader would; what a former run left in force stays. */
export async function authoriseDemo(gateway: Gateway, accounts: Pick<SandboxAccounts, 'trader' | 'agent'>): Promise<void> {
  await Promise.all([...gateway.venues.values()].map((venue) => authoriseOn(gateway, venue, accounts)));
}

async function authoriseOn(gateway: Gateway, venue: Venue, accounts: Pick<SandboxAccounts, 'trader' | 'agent'>): Promise<void> {
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
