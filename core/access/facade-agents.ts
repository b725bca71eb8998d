import { encodePacked, keccak256 } from 'viem/utils';
import type { Agent, Scope } from '../domain/agent.js';
import { GatewayError, type TransactionRequest } from '../errors.js';
import { fromNode } from '../ports/from-node.js';
import type { Gateway, Venue } from '../gateway.js';
import { activeCollaterals } from '../markets/directory.js';
import type { Address } from '../types.js';
import { givenRules } from '../config/rules.js';
import { CLAIM_TRIES, standsInTheWay } from './agent-claims.js';
import { answerOf, standingOf } from './agent-status.js';
import { approvalProof } from './approval-proof.js';
import { freshDelegate } from './delegation.js';
import type { AgentApproval, ApprovalOutcome } from '../ports/stores/signers.js';
import type { RecoverableSignature } from './signature.js';
import { approvalFloor, judgeByClock, type NonceVerdict } from './signer-nonces.js';
import { ownsAccount } from './trader-behind.js';

/** An approval as the master wallet signed it in Hyperliquid's words. Addresses in lower case. */
export interface FacadeApproval {
  readonly trader: Address;
  /** The zero address removes the agent of that name. */
  readonly agent: Address;
  /** As signed, with its ` valid_until` if it has one. */
  readonly name: string;
  readonly network: 'Mainnet' | 'Testnet';
  readonly nonce: bigint;
  readonly signatureChainId: bigint;
  readonly signature: RecoverableSignature;
}

export type FacadeApprovalOutcome =
  | { readonly kind: 'approved'; readonly delegationTx: TransactionRequest | null }
  | { readonly kind: 'removed' }
  /** It could be a copy of one that was made for Hyperliquid. */
  | { readonly kind: 'not-for-us'; readonly tag: string }
  | { readonly kind: 'name-too-long'; readonly longest: number }
  | { readonly kind: 'expired' }
  | { readonly kind: 'no-account' }
  /** The operator does not let this trader trade, and it has nothing to get out of. */
  | { readonly kind: 'not-allowed' }
  | { readonly kind: 'used' }
  | { readonly kind: 'too-many'; readonly most: number }
  | { readonly kind: 'nonce'; readonly verdict: NonceVerdict };

const NOBODY: Address = '0x0000000000000000000000000000000000000000';
const LONGEST_NAME = 16;
const MAX_NAMED_AGENTS = 3;
const EVERYTHING: Omit<Scope, 'expiresAt'> = { markets: 'all', maxLeverage: null, dailySpendCapUsd: null, permissions: 'trade' };

/**
 * What the name of an agent has to begin with: nothing else in an approval says that it was made for this deployment and this chain, and
 * those made for Hyperliquid are public. Null where no relayer serves.
 */
export const agentNameTag = (venue: Pick<Venue, 'relayer' | 'definition'>): string | null => tagsOf(venue)[0] ?? null;

/** Those of all wallets, the published one first: what was signed with one of them stays good while the wallet gives way to another. */
const tagsOf = ({ relayer, definition }: Pick<Venue, 'relayer' | 'definition'>): readonly string[] =>
  (relayer?.wallets() ?? []).map(
    (wallet) => `gw${keccak256(encodePacked(['uint256', 'address'], [BigInt(definition.chainId), wallet])).slice(2, 8)}`,
  );

const TAGGED = /^gw[0-9a-f]{6}/;

export async function approveFacadeAgent(gateway: Gateway, venue: Venue, approval: FacadeApproval): Promise<FacadeApprovalOutcome> {
  const [tag] = tagsOf(venue);
  if (tag === undefined) throw new GatewayError('CHAIN_READ_ONLY', { chain: venue.definition.slug });
  const { name, expiresAt } = readName(approval.name);
  if (!(await isForUs(gateway, venue, { ...approval, name }))) return { kind: 'not-for-us', tag };
  if (name.length > LONGEST_NAME) return { kind: 'name-too-long', longest: LONGEST_NAME };
  const now = venue.clock.now();
  const untimely = judgeByClock(approval.nonce, now);
  if (untimely !== null) return { kind: 'nonce', verdict: untimely };
  if (approval.agent === NOBODY) return remove(gateway, venue, { ...approval, name }, now);
  if (expiresAt !== null && expiresAt <= now) return { kind: 'expired' };
  return register(gateway, venue, { ...approval, name }, { scope: { ...EVERYTHING, expiresAt }, proof: approvalProof(approval) });
}

async function isForUs(gateway: Gateway, venue: Venue, approval: FacadeApproval): Promise<boolean> {
  const { name, network, agent } = approval;
  if (tagsOf(venue).some((tag) => name.startsWith(tag))) return true;
  if (venue.definition.testnet && network === 'Testnet') return true;
  return agent === NOBODY && TAGGED.test(name) && hasAgentNamed(gateway, venue, approval);
}

/**
 * An agent with a tag in its name was approved here, by a wallet that may be gone since: whoever takes that very name away means us, and
 * must always be able to. Names without a tag are also those of Hyperliquid, and a copy of their removal would stop a bot.
 */
async function hasAgentNamed({ store }: Gateway, { definition }: Venue, { trader, name }: FacadeApproval): Promise<boolean> {
  const agents = await store.access.listAgents(definition.slug, trader);
  return agents.some((agent) => agent.mode === 'relayed' && agent.revokedAt === null && agent.name === name);
}

async function register(
  gateway: Gateway,
  venue: Venue,
  approval: FacadeApproval,
  { scope, proof }: { readonly scope: Scope; readonly proof: string },
): Promise<FacadeApprovalOutcome> {
  const { trader, agent, name, nonce } = approval;
  const given = givenRules(gateway.facade.rules, trader);
  if ((await gateway.store.rules.standingOf(venue.definition.slug, trader, given)) === 'may-not') return { kind: 'not-allowed' };
  if (!(await hasAccount(venue, trader))) return { kind: 'no-account' };
  // What a trader's wallet signs and asks would mean the account of the trader who named it.
  if (agent !== trader && (await ownsAccount(gateway, venue, agent))) return { kind: 'used' };
  // Asked before anything is stored: an answer we could not complete must not leave a registration behind.
  await freshDelegate(venue, trader);
  const now = venue.clock.now();
  const outcome = await store(gateway, {
    chain: venue.definition.slug,
    nonce,
    registration: { agent, trader, name, scope, mode: 'relayed', createdAt: now },
    proof,
    floor: approvalFloor({ nonce, isSelf: agent === trader }, now),
    maxNamed: MAX_NAMED_AGENTS,
  });
  return outcome.kind === 'done' ? approved(venue, outcome.agent) : outcome;
}

/** What an agent signs for the facade names neither chain nor trader, so its registrations on all chains count. */
async function store(gateway: Gateway, approval: Omit<AgentApproval, 'passed'>): Promise<Exclude<ApprovalOutcome, { kind: 'changed' }>> {
  const { chain, registration } = approval;
  const { agent, trader } = registration;
  for (let tries = 0; tries < CLAIM_TRIES; tries += 1) {
    const claims = agent === trader ? [] : await gateway.store.access.claimsOn(agent);
    const others = claims.filter((claim) => claim.agent.trader !== trader);
    // A trader who renews the agent that serves it here takes nothing from another. A native registration was not checked on other chains.
    const isRenewal = claims.some(
      ({ chain: of, agent: own }) => of === chain && own.trader === trader && own.mode === 'relayed' && own.revokedAt === null,
    );
    const inTheWay = isRenewal ? [] : await Promise.all(others.map((claim) => standsInTheWay(gateway, claim)));
    if (inTheWay.includes(true)) return { kind: 'used' };
    const passed = others.map(({ chain: of, agent: { version }, hasSigned }) => ({ chain: of, version, hasSigned }));
    const outcome = await gateway.store.signers.approve({ ...approval, passed });
    if (outcome.kind !== 'changed') return outcome;
  }
  throw new GatewayError('NOT_READY', { reason: 'others are registering the same agent' });
}

async function approved(venue: Venue, agent: Agent): Promise<FacadeApprovalOutcome> {
  return { kind: 'approved', delegationTx: answerOf(venue, agent, await standingOf(venue, agent)).delegationTx };
}

async function remove({ store }: Gateway, venue: Venue, approval: FacadeApproval, at: number): Promise<FacadeApprovalOutcome> {
  const { trader, name, nonce } = approval;
  // The nonce is kept for good, so a key that cost nothing and has no agent must not spend one. A trader with an agent can always remove it.
  const agents = await store.access.listAgents(venue.definition.slug, trader);
  if (agents.length === 0 && !(await hasAccount(venue, trader))) return { kind: 'no-account' };
  const verdict = await store.signers.remove({ chain: venue.definition.slug, trader, name, nonce, at });
  return verdict.kind === 'taken' ? { kind: 'removed' } : { kind: 'nonce', verdict };
}

/**
 * A signature that was made over other bytes recovers to an address that nobody has. Such an address owns nothing, and must not become
 * the trader of an agent that is then lost for its real one.
 */
async function hasAccount(venue: Venue, trader: Address): Promise<boolean> {
  const tokens = activeCollaterals(venue.feed.config()).map(({ address }) => address);
  const [wei, facts] = await fromNode(Promise.all([venue.chain.nativeBalance(trader), venue.chain.accountFacts(trader, tokens)]));
  return wei > 0n || facts.tokens.some((token) => token !== null && (token.balance > 0n || token.allowance > 0n));
}

/** `bot valid_until 1800000000000` → the name proper, and when the approval ends. */
function readName(signed: string): { name: string; expiresAt: number | null } {
  const [, name, until] = /^(.*?) ?valid_until (\d{1,15})$/s.exec(signed) ?? [];
  return name === undefined || until === undefined ? { name: signed, expiresAt: null } : { name, expiresAt: Number(until) };
}

/** When an approval ends by the name that was signed; null = never. */
export const approvalEnd = (name: string): number | null => readName(name).expiresAt;
