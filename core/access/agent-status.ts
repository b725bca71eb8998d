import { agentStatus, isExpired, type Agent, type AgentStatus, type Scope } from '../domain/agent.js';
import { GatewayError, type TransactionRequest } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Address } from '../types.js';
import type { AgentCaller } from './caller.js';
import { delegateFor, delegationTx, forgetDelegate, lastKnownDelegate } from './delegation.js';
import type { AgentClaim } from '../ports/stores/access.js';

/** The public view of an agent. */
export interface AgentView extends Omit<Agent, 'scope' | 'revokedAt' | 'version'> {
  readonly scope: Omit<Scope, 'markets'> & { readonly markets: 'all' | string[] };
  readonly status: AgentStatus;
}

export interface AgentAnswer {
  readonly agent: AgentView;
  /** The transaction the trader must send before the agent can trade; null when none is needed. */
  readonly delegationTx: TransactionRequest | null;
}

interface AgentState {
  readonly status: AgentStatus;
  readonly sender: Address | null;
  /** The trader's delegate on chain; also null where the status does not depend on it and the chain was not read. */
  readonly delegate: Address | null;
}

/** The address that broadcasts for the agent: itself, or the relayer for facade agents; null without a relayer. `wallet` is the stored relayer wallet if it was just read. */
export const senderOf = async (
  { relayer }: Pick<Venue, 'relayer'>,
  agent: Pick<Agent, 'agent' | 'trader' | 'mode'>,
  wallet?: Address | null,
): Promise<Address | null> => (agent.mode === 'self' ? agent.agent : (relayer?.walletFor(agent.trader, wallet) ?? null));

/** The chain is read only where the status depends on it, so that a revocation is effective while every node is down. */
export async function readAgentState(venue: Venue, agent: Agent): Promise<AgentState> {
  const sender = await senderOf(venue, agent);
  const status = agentStatus(agent, sender, null, venue.clock.now());
  if (status !== 'pending_delegation' || sender === null) return { status, sender, delegate: null };
  const delegate = await delegateFor(venue, agent.trader, sender);
  return { status: agentStatus(agent, sender, delegate, venue.clock.now()), sender, delegate };
}

/** The same for journal events: while no node answers, the last known delegate is used. */
export async function statusOrLastKnown(venue: Venue, agent: Agent): Promise<AgentStatus> {
  try {
    return (await readAgentState(venue, agent)).status;
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

export function answerOf({ definition }: Venue, agent: Agent, { status, sender }: Pick<AgentState, 'status' | 'sender'>): AgentAnswer {
  const isNeeded = status === 'pending_delegation' && sender !== null;
  return { agent: viewOf(agent, status), delegationTx: isNeeded ? delegationTx(definition, sender) : null };
}

/** Throws a 403 for agents that are not active, for reads too. */
export async function requireActive(venue: Venue, agent: Agent): Promise<void> {
  requireUnrevoked(venue, agent);
  const { status, sender, delegate } = await readAgentState(venue, agent);
  if (status === 'pending_delegation') throw notDelegated(venue, agent, delegate, sender);
}

/** The checks that need no chain read. */
export function requireUnrevoked({ clock }: Pick<Venue, 'clock'>, agent: Agent): void {
  const { agent: address, scope, revokedAt } = agent;
  if (revokedAt !== null) throw new GatewayError('AGENT_REVOKED', { agent: address });
  if (isExpired(scope, clock.now())) throw new GatewayError('AGENT_EXPIRED', { agent: address, expiresAt: scope.expiresAt ?? 0 });
}

/** For a write that was answered without a simulation. */
export async function requireDelegate(venue: Venue, { trader, agent, sender }: AgentCaller): Promise<void> {
  if (sender === trader) return;
  const delegate = await delegateFor(venue, trader, sender);
  if (delegate !== sender)
    throw new GatewayError('AGENT_NOT_DELEGATED', { trader, agent, delegate, delegationTx: delegationTx(venue.definition, sender) });
}

/** Also for a write whose simulation reports another delegate. */
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

/** Tries of a claim on an agent whose registration changes concurrently. */
export const CLAIM_TRIES = 5;

/**
 * Whether a registration blocks another trader from registering the agent: only while it is active on its chain (checked with a fresh read),
 * or once the agent signed an accepted action for it. Registering needs no consent of the agent, so a registration alone blocks no one.
 */
export async function standsInTheWay({ venues }: Pick<Gateway, 'venues'>, { chain, agent, hasSigned }: AgentClaim): Promise<boolean> {
  if (hasSigned) return true;
  const venue = venues.get(chain);
  // A chain that is not served here has no active agents.
  if (venue === undefined) return false;
  forgetDelegate(venue, agent.trader);
  return (await readAgentState(venue, agent)).status === 'active';
}

/** Also for facade agents, for which the relayer is the sender. */
export async function callerOf(venue: Venue, agent: Agent, wallet?: Address | null): Promise<AgentCaller> {
  const sender = await senderOf(venue, agent, wallet);
  if (sender === null) throw new GatewayError('CHAIN_READ_ONLY', { chain: venue.definition.slug });
  return { via: 'agent', trader: agent.trader, agent: agent.agent, sender, mode: agent.mode, scope: agent.scope };
}
