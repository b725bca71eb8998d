import { bytesToHex, encodePacked, keccak256 } from 'viem/utils';
import { HAS_UNSEEN, type Agent, type Scope } from '../domain/agent.js';
import { GatewayError, type TransactionRequest } from '../errors.js';
import { fromNode } from '../ports/chain.js';
import type { Gateway, Venue } from '../gateway.js';
import { activeCollaterals } from '../domain/market.js';
import type { Address } from '../types.js';
import { givenRules } from '../domain/relay/guardrails.js';
import { answerOf, CLAIM_TRIES, readAgentState, standsInTheWay } from './agent-status.js';
import { judgeAfterLoss, waitAfterLoss } from './after-loss.js';
import { freshDelegate } from './delegation.js';
import type { AgentApproval, ApprovalOutcome } from '../ports/stores/signers.js';
import type { RecoverableSignature } from './signature.js';
import { approvalFloor, judgeByClock, type NonceVerdict } from './signer-nonces.js';
import { ownsAccount } from './resolve-trader.js';

/** An `approveAgent` as the master wallet signed it in Hyperliquid's format. Addresses in lower case. */
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
  /** It could be a replay of an approval made for Hyperliquid. */
  | { readonly kind: 'not-for-us'; readonly tag: string }
  | { readonly kind: 'name-too-long'; readonly longest: number }
  /** It has characters that a reader does not see. */
  | { readonly kind: 'name-unreadable' }
  | { readonly kind: 'expired' }
  | { readonly kind: 'no-account' }
  /** The operator does not allow this trader, and the trader has nothing open to close. */
  | { readonly kind: 'not-allowed' }
  | { readonly kind: 'used' }
  | { readonly kind: 'too-many'; readonly most: number }
  | { readonly kind: 'nonce'; readonly verdict: NonceVerdict };

const ZERO_ADDRESS: Address = '0x0000000000000000000000000000000000000000';
const LONGEST_NAME = 16;
const MAX_NAMED_AGENTS = 3;
const EVERYTHING: Omit<Scope, 'expiresAt'> = { markets: 'all', maxLeverage: null, dailySpendCapUsd: null, permissions: 'trade' };

/**
 * The required prefix of an agent's name: nothing else in an approval binds it to this deployment and chain, and approvals made for Hyperliquid
 * are public. Null without a relayer.
 */
export const agentNameTag = (venue: Pick<Venue, 'relayer' | 'definition'>): string | null => tagsOf(venue)[0] ?? null;

/** The tags of all relayer wallets, the published one first, so that approvals stay valid while a wallet is replaced. */
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
  const repeat = judgeAfterLoss(gateway.store.continuity.lastLoss(), approval.nonce, 'facade', now);
  if (repeat?.kind === 'wait') throw waitAfterLoss(repeat.ms);
  if (repeat !== null) return { kind: 'nonce', verdict: { kind: 'too-low', least: BigInt(repeat.floor) + 1n } };
  if (approval.agent === ZERO_ADDRESS) return remove(gateway, venue, { ...approval, name }, now);
  if (HAS_UNSEEN.test(name)) return { kind: 'name-unreadable' };
  if (expiresAt !== null && expiresAt <= now) return { kind: 'expired' };
  return register(gateway, venue, { ...approval, name }, { scope: { ...EVERYTHING, expiresAt }, proof: approvalProof(approval) });
}

async function isForUs(gateway: Gateway, venue: Venue, approval: FacadeApproval): Promise<boolean> {
  const { name, network, agent } = approval;
  if (tagsOf(venue).some((tag) => name.startsWith(tag))) return true;
  if (venue.definition.testnet && network === 'Testnet') return true;
  return agent === ZERO_ADDRESS && TAGGED.test(name) && hasAgentNamed(gateway, venue, approval);
}

/**
 * An agent with a tag in its name was approved here, possibly with a relayer wallet that is gone; its removal must always be accepted. A
 * removal of a name without a tag could be a replay of one made for Hyperliquid and would stop a bot.
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
  if ((await gateway.store.rules.accessOf(venue.definition.slug, trader, given)) === 'may-not') return { kind: 'not-allowed' };
  if (!(await hasAccount(venue, trader))) return { kind: 'no-account' };
  // A trader's own wallet must not become another trader's agent: its requests would be resolved to that trader's account.
  if (agent !== trader && (await ownsAccount(gateway, venue, agent))) return { kind: 'used' };
  // Read before anything is stored: if the node fails, no registration is left behind.
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

/** Facade actions name neither chain nor trader, so the agent's registrations on all chains count. */
async function store(gateway: Gateway, approval: Omit<AgentApproval, 'passed'>): Promise<Exclude<ApprovalOutcome, { kind: 'changed' }>> {
  const { chain, registration } = approval;
  const { agent, trader } = registration;
  for (let tries = 0; tries < CLAIM_TRIES; tries += 1) {
    const claims = agent === trader ? [] : await gateway.store.access.claimsOn(agent);
    const others = claims.filter((claim) => claim.agent.trader !== trader);
    // Renewing the trader's own active facade agent needs no further check. A native registration was not checked on other chains.
    const isRenewal = claims.some(
      ({ chain: of, agent: own }) => of === chain && own.trader === trader && own.mode === 'relayed' && own.revokedAt === null,
    );
    const blocking = isRenewal ? [] : await Promise.all(others.map((claim) => standsInTheWay(gateway, claim)));
    if (blocking.includes(true)) return { kind: 'used' };
    const passed = others.map(({ chain: of, agent: { version }, hasSigned }) => ({ chain: of, version, hasSigned }));
    const outcome = await gateway.store.signers.approve({ ...approval, passed });
    if (outcome.kind !== 'changed') return outcome;
  }
  throw new GatewayError('NOT_READY', { reason: 'others are registering the same agent' });
}

async function approved(venue: Venue, agent: Agent): Promise<FacadeApprovalOutcome> {
  return { kind: 'approved', delegationTx: answerOf(venue, agent, await readAgentState(venue, agent)).delegationTx };
}

async function remove({ store }: Gateway, venue: Venue, approval: FacadeApproval, at: number): Promise<FacadeApprovalOutcome> {
  const { trader, name, nonce } = approval;
  // The nonce is stored permanently, so an empty account without agents must not use one. A trader with an agent can always remove it.
  const agents = await store.access.listAgents(venue.definition.slug, trader);
  if (agents.length === 0 && !(await hasAccount(venue, trader))) return { kind: 'no-account' };
  const verdict = await store.signers.remove({ chain: venue.definition.slug, trader, name, nonce, at });
  return verdict.kind === 'taken' ? { kind: 'removed' } : { kind: 'nonce', verdict };
}

/**
 * A signature over other bytes recovers to a random address. Such an address owns nothing, and must not become the trader of an agent, which
 * would then be blocked for its real trader.
 */
async function hasAccount(venue: Venue, trader: Address): Promise<boolean> {
  const tokens = activeCollaterals(venue.feed.config()).map(({ address }) => address);
  const [wei, facts] = await fromNode(Promise.all([venue.chain.nativeBalance(trader), venue.chain.accountFacts(trader, tokens)]));
  return wei > 0n || facts.tokens.some((token) => token !== null && (token.balance > 0n || token.allowance > 0n));
}

/** Splits `bot valid_until 1800000000000` into name and expiry. */
function readName(signed: string): { name: string; expiresAt: number | null } {
  const [, name, until] = /^(.*?) ?valid_until (\d{1,15})$/s.exec(signed) ?? [];
  return name === undefined || until === undefined ? { name: signed, expiresAt: null } : { name, expiresAt: Number(until) };
}

/** The expiry in a signed name; null = none. */
export const approvalEnd = (name: string): number | null => readName(name).expiresAt;

/** What a trader signed to approve an agent of the facade. */
interface SignedApproval {
  readonly signatureChainId: bigint;
  readonly network: 'Mainnet' | 'Testnet';
  readonly agent: Address;
  /** As signed, with its ` valid_until` if it has one. */
  readonly name: string;
  readonly nonce: bigint;
  readonly signature: RecoverableSignature;
}

/** The stored form of an approval: only the signed fields, so that its size does not depend on the request body. */
export function approvalProof({ signatureChainId, network, agent, name, nonce, signature }: SignedApproval): string {
  const { compact, yParity } = signature;
  const action = [
    `"type":"approveAgent","signatureChainId":"0x${signatureChainId.toString(16)}","hyperliquidChain":"${network}"`,
    `"agentAddress":"${agent}","agentName":${JSON.stringify(name)},"nonce":${nonce}`,
  ].join(',');
  const [r, s] = [bytesToHex(compact.subarray(0, 32)), bytesToHex(compact.subarray(32))];
  return `{"action":{${action}},"nonce":${nonce},"signature":{"r":"${r}","s":"${s}","v":${27 + yParity}}}`;
}
