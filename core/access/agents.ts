import type { ChainSlug } from '../chains/chains.js';
import { AGENT_MODES, agentStatus, type Agent, type Permission, type Scope } from '../domain/agent.js';
import { GatewayError, type TransactionRequest } from '../errors.js';
import { type Gateway, type Venue, requireServed } from '../gateway.js';
import type { Address, Cancel, Hex } from '../types.js';
import type { MasterClaim, Registration, Takeover } from '../ports/stores/access.js';
import { answerOf, CLAIM_TRIES, readAgentState, standsInTheWay, viewOf, type AgentAnswer, type AgentView } from './agent-status.js';
import { freshDelegate, revocationTx } from './delegation.js';
import { verifyMaster } from './master-signature.js';
import { parseDecimal, type Decimal } from '../domain/decimal.js';
import { directoryOf } from '../domain/market.js';

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

/** A scope as written in the request, which is what the master wallet signed. */
export interface ScopeText {
  readonly markets: 'all' | readonly string[];
  readonly maxLeverage: string | null;
  readonly dailySpendCapUsd: string | null;
  readonly expiresAt: number | null;
  readonly permissions: Permission;
}

/** The signed form: an absent bound is an empty text, all markets a star, no expiry zero. */
export const signedScope = ({ markets, maxLeverage, dailySpendCapUsd, expiresAt, permissions }: ScopeText) => ({
  markets: markets === 'all' ? '*' : markets.join(','),
  maxLeverage: maxLeverage ?? '',
  dailySpendCapUsd: dailySpendCapUsd ?? '',
  expiresAt: BigInt(expiresAt ?? 0),
  permissions,
});

/** The parsed scope: canonical decimals, and markets by their canonical symbols. */
const readScope = (venue: Venue, { markets, maxLeverage, dailySpendCapUsd, expiresAt, permissions }: ScopeText): Scope => ({
  markets: markets === 'all' ? 'all' : readMarkets(venue, markets),
  maxLeverage: bound(maxLeverage),
  dailySpendCapUsd: bound(dailySpendCapUsd),
  expiresAt,
  permissions,
});

const bound = (text: string | null): Decimal | null => (text === null ? null : parseDecimal(text));

/** A misspelt market would forbid the market it was meant to allow, so unknown names are rejected. */
function readMarkets(venue: Venue, markets: readonly string[]): readonly string[] {
  if (markets.length === 0) return [];
  const { bySymbol } = directoryOf(venue.feed.config());
  const symbols = markets.map((text) => text.toUpperCase().replace('-', '/'));
  const issues = symbols.flatMap((symbol, index) =>
    bySymbol.has(symbol) ? [] : [{ path: `scope.markets.${index}`, message: 'names no market of this chain' }],
  );
  if (issues.length > 0) throw new GatewayError('VALIDATION_ERROR', { issues });
  return [...new Set(symbols)];
}

const CHECK_EVERY_MS = 60_000;
/** A registration that did not become active within this time is removed; its trader can register the agent again at any time. */
const UNUSED_KEPT_MS = 7 * 86_400_000;
/** Each check may cost an RPC call, so the number per round is bounded. */
const MAX_PER_ROUND = 500;
const BATCH_SIZE = 20;

/**
 * Removes registrations that never became active; runs on every replica, row updates make that safe. The chain is read only once a
 * registration is old enough, and one that is found active is not checked again.
 */
export function removeUnusedAgents(gateway: Gateway, venue: Venue): Cancel {
  let isBusy = false;
  return venue.clock.every(CHECK_EVERY_MS, () => {
    if (isBusy) return;
    isBusy = true;
    removeUnused(gateway, venue)
      .catch((error: unknown) => venue.log.warn('agents.not-removed', { error }))
      .finally(() => (isBusy = false));
  });
}

export async function removeUnused({ store }: Gateway, venue: Venue): Promise<void> {
  const { slug } = venue.definition;
  const now = venue.clock.now();
  // Without a relayer all facade agents are inactive, so they must not be judged as unused.
  const modes = venue.relayer === null ? (['self'] as const) : AGENT_MODES;
  const found = await store.access.unusedAgents(slug, { before: now - UNUSED_KEPT_MS, modes, limit: MAX_PER_ROUND });
  for (let at = 0; at < found.length; at += BATCH_SIZE) {
    const agents = found.slice(at, at + BATCH_SIZE);
    const verdicts = await Promise.all(agents.map((agent) => isActive(venue, agent)));
    const active = agents.filter((_agent, index) => verdicts[index]);
    const unused = agents.filter((_agent, index) => !verdicts[index]);
    if (active.length > 0) await store.access.noteActive(slug, active, now);
    const removed = unused.length > 0 ? await store.access.removeUnused(slug, unused) : 0;
    if (removed > 0) venue.log.info('agents.removed', { count: removed });
  }
}

const isActive = async (venue: Venue, agent: Agent): Promise<boolean> => (await readAgentState(venue, agent)).status === 'active';
