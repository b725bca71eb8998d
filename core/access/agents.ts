import type { ChainSlug } from '../chains/chains.js';
import { agentStatus, type Agent } from '../domain/agent.js';
import { GatewayError, type TransactionRequest } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import { requireServed } from '../trading/require-served.js';
import type { Address, Hex } from '../types.js';
import type { MasterClaim, Registration, Takeover } from '../ports/stores/access.js';
import { CLAIM_TRIES, standsInTheWay } from './agent-claims.js';
import { answerOf, readAgentState, viewOf, type AgentAnswer, type AgentView } from './agent-status.js';
import { freshDelegate } from './delegation.js';
import { revocationTx } from './delegation-transactions.js';
import { verifyMaster } from './master-signature.js';
import { readScope, signedScope, type ScopeText } from './scope-text.js';

export interface AuthorizationRequest {
  /** The client's network address; absent for internal calls. */
  readonly from?: string;
  readonly trader: Address;
  readonly agent: Address;
  readonly name: string;
  readonly scope: ScopeText;
  readonly timestamp: number;
  readonly signature: Hex;
  /** The agent's own consent, over the same digest; it takes precedence over every other claim on the agent. */
  readonly agentSignature: Hex | null;
}

export interface RevocationRequest {
  /** The client's network address; absent for internal calls. */
  readonly from?: string;
  readonly trader: Address;
  readonly agent: Address;
  readonly timestamp: number;
  readonly signature: Hex;
}

const subjectOf = (agent: Address): string => `agent:${agent}`;

export async function createAgent(gateway: Gateway, venue: Venue, request: AuthorizationRequest): Promise<AgentAnswer> {
  const { from, trader, agent, name, timestamp, signature, agentSignature } = request;
  const scope = readScope(venue, request.scope);
  const claim = await verifyMaster(gateway, venue, {
    ...(from === undefined ? {} : { from }),
    trader,
    timestamp,
    signature,
    primaryType: 'AgentAuthorization',
    message: { agent, name, ...signedScope(request.scope), timestamp: BigInt(timestamp) },
    subject: subjectOf(agent),
    cosignature: agentSignature === null ? null : { agent, signature: agentSignature },
  });
  // Read before anything is stored: if the node fails, no registration is left behind.
  const delegate = agent === trader ? agent : await freshDelegate(venue, trader);
  // If the Diamond does not serve delegation, the delegation transaction would always fail.
  if (delegate !== agent && venue.state.facts !== null) requireServed(venue, ['setTradingDelegate']);
  const isConsented = agentSignature !== null || agent === trader;
  const registration: Registration = { agent, trader, name, scope, mode: 'self', createdAt: venue.clock.now() };
  const saved = await authorise(gateway, claim, registration, isConsented);
  // No chain read after this point: a stored registration is always returned.
  return answerOf(venue, saved, { status: agentStatus(saved, agent, delegate, venue.clock.now()), sender: agent });
}

async function authorise(gateway: Gateway, claim: MasterClaim, registration: Registration, isConsented: boolean): Promise<Agent> {
  for (let tries = 0; tries < CLAIM_TRIES; tries += 1) {
    const takeover: Takeover = isConsented ? 'any' : await takeoverOf(gateway, claim.chain, registration);
    const saved = await gateway.store.access.authoriseAgent(claim, registration, takeover);
    if (saved !== null) return saved;
  }
  throw new GatewayError('NOT_READY', { reason: 'others are registering the same agent' });
}

async function takeoverOf(gateway: Gateway, chain: ChainSlug, { agent, trader }: Registration): Promise<Takeover> {
  const known = (await gateway.store.access.claimsOn(agent)).find((claim) => claim.chain === chain);
  if (known === undefined || known.agent.trader === trader) return 'none';
  if (await standsInTheWay(gateway, known)) throw new GatewayError('TRADER_MISMATCH', { address: trader });
  return { version: known.agent.version };
}

export async function getAgent({ store }: Gateway, venue: Venue, address: Address): Promise<AgentAnswer> {
  const agent = await store.access.findAgent(venue.definition.slug, address);
  if (agent === null) throw new GatewayError('AGENT_NOT_FOUND', { agent: address });
  return answerOf(venue, agent, await readAgentState(venue, agent));
}

/** Every agent the trader authorised and no other trader took over, newest first. */
export async function listAgents({ store }: Gateway, venue: Venue, trader: Address): Promise<AgentView[]> {
  const agents = await store.access.listAgents(venue.definition.slug, trader);
  return Promise.all(agents.map(async (agent) => viewOf(agent, (await readAgentState(venue, agent)).status)));
}

export async function revokeAgent(
  gateway: Gateway,
  venue: Venue,
  { from, trader, agent, timestamp, signature }: RevocationRequest,
): Promise<{ revocationTx: TransactionRequest | null }> {
  const claim = await verifyMaster(gateway, venue, {
    ...(from === undefined ? {} : { from }),
    trader,
    timestamp,
    signature,
    primaryType: 'AgentRevocation',
    message: { agent, timestamp: BigInt(timestamp) },
    subject: subjectOf(agent),
  });
  const { access } = gateway.store;
  if ((await access.findAgent(claim.chain, agent)) === null) throw new GatewayError('AGENT_NOT_FOUND', { agent });
  const revoked = await access.revokeAgent(claim, agent, venue.clock.now());
  if (revoked === null) throw new GatewayError('TRADER_MISMATCH', { address: trader });
  return { revocationTx: (await holdsSlot(gateway, venue, revoked)) ? revocationTx(venue.definition) : null };
}

/**
 * Whether the trader should remove the delegate on chain. The agent is already revoked; if the node does not answer, the transaction is
 * offered, because it can only remove rights.
 */
async function holdsSlot({ store }: Gateway, venue: Venue, revoked: Agent): Promise<boolean> {
  if (revoked.agent === revoked.trader) return false;
  if (revoked.mode === 'relayed') {
    const others = await store.access.listAgents(venue.definition.slug, revoked.trader);
    return !others.some(({ mode, revokedAt }) => mode === 'relayed' && revokedAt === null);
  }
  try {
    return (await freshDelegate(venue, revoked.trader)) === revoked.agent;
  } catch {
    return true;
  }
}
