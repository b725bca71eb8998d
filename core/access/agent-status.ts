import { agentStatus, isExpired, type Agent, type AgentStatus, type Scope } from '../domain/agent.js';
import { GatewayError, type TransactionRequest } from '../errors.js';
import type { Venue } from '../gateway.js';
import type { Address } from '../types.js';
import type { AgentCaller } from './caller.js';
import { delegateFor, lastKnownDelegate } from './delegation.js';
import { delegationTx } from './delegation-transactions.js';

/** An agent as everybody may see it. */
export interface AgentView extends Omit<Agent, 'scope' | 'revokedAt' | 'version'> {
  readonly scope: Omit<Scope, 'markets'> & { readonly markets: 'all' | string[] };
  readonly status: AgentStatus;
}

export interface AgentAnswer {
  readonly agent: AgentView;
  /** What the trader has to send before the agent is usable; null when that would change nothing. */
  readonly delegationTx: TransactionRequest | null;
}

interface Standing {
  readonly status: AgentStatus;
  readonly sender: Address | null;
  /** Who holds the trader's slot; null also where the status does not depend on it and nobody was asked. */
  readonly delegate: Address | null;
}

/** Who broadcasts for the agent: itself; for agents of the facade the relayer, and null where none serves. `wallet` is what the books say, where they were just asked. */
export const senderOf = async (
  { relayer }: Pick<Venue, 'relayer'>,
  agent: Pick<Agent, 'agent' | 'trader' | 'mode'>,
  wallet?: Address | null,
): Promise<Address | null> => (agent.mode === 'self' ? agent.agent : (relayer?.walletFor(agent.trader, wallet) ?? null));

/** The chain is asked only where the answer depends on it, so a revocation holds while every node is down. */
export async function standingOf(venue: Venue, agent: Agent): Promise<Standing> {
  const sender = await senderOf(venue, agent);
  const status = agentStatus(agent, sender, null, venue.clock.now());
  if (status !== 'pending_delegation' || sender === null) return { status, sender, delegate: null };
  const delegate = await delegateFor(venue, agent.trader, sender);
  return { status: agentStatus(agent, sender, delegate, venue.clock.now()), sender, delegate };
}

/** The same for a tale of the past: while no node answers, what the last one said has to do. */
export async function toldStatus(venue: Venue, agent: Agent): Promise<AgentStatus> {
  try {
    return (await standingOf(venue, agent)).status;
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'UPSTREAM_UNAVAILABLE') throw error;
    return agentStatus(agent, await senderOf(venue, agent), await lastKnownDelegate(venue, agent.trader), venue.clock.now());
  }
}

export const viewOf = ({ agent, trader, name, scope, mode, createdAt }: Agent, status: AgentStatus): AgentView => ({
  agent,
  trader,
  name,
  scope: { ...scope, markets: scope.markets === 'all' ? 'all' : [...scope.markets] },
  mode,
  status,
  createdAt,
});

export function answerOf({ definition }: Venue, agent: Agent, { status, sender }: Pick<Standing, 'status' | 'sender'>): AgentAnswer {
  const isNeeded = status === 'pending_delegation' && sender !== null;
  return { agent: viewOf(agent, status), delegationTx: isNeeded ? delegationTx(definition, sender) : null };
}

/** Passes agents that may act now; every other one hears its 403, reads included. */
export async function requireActive(venue: Venue, agent: Agent): Promise<void> {
  requireUnrevoked(venue, agent);
  const { status, sender, delegate } = await standingOf(venue, agent);
  if (status === 'pending_delegation') throw notDelegated(venue, agent, delegate, sender);
}

/** What is known of an agent without asking the chain. */
export function requireUnrevoked({ clock }: Pick<Venue, 'clock'>, agent: Agent): void {
  const { agent: address, scope, revokedAt } = agent;
  if (revokedAt !== null) throw new GatewayError('AGENT_REVOKED', { agent: address });
  if (isExpired(scope, clock.now())) throw new GatewayError('AGENT_EXPIRED', { agent: address, expiresAt: scope.expiresAt ?? 0 });
}

/** For the answer to a write that was not rehearsed after all. */
export async function requireDelegate(venue: Venue, { trader, agent, sender }: AgentCaller): Promise<void> {
  if (sender === trader) return;
  const delegate = await delegateFor(venue, trader, sender);
  if (delegate !== sender)
    throw new GatewayError('AGENT_NOT_DELEGATED', { trader, agent, delegate, delegationTx: delegationTx(venue.definition, sender) });
}

/** Also for a write whose simulation says that the delegate is somebody else. */
export function notDelegated(
  { definition }: Venue,
  agent: Agent,
  delegate: Address | null,
  sender: Address | null = agent.mode === 'self' ? agent.agent : null,
): GatewayError {
  if (sender === null) return new GatewayError('CHAIN_READ_ONLY', { chain: definition.slug });
  const { agent: address, trader } = agent;
  return new GatewayError('AGENT_NOT_DELEGATED', { trader, agent: address, delegate, delegationTx: delegationTx(definition, sender) });
}
