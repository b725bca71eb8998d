import type { ChainSlug } from '../../chains/chains.js';
import type { Agent, AgentMode } from '../../domain/agent.js';
import type { Address, Hex } from '../../types.js';
import type { MasterType } from '../../access/signature.js';

/** A verified master message that is spent together with its effect: both are stored, or neither. */
export interface MasterClaim {
  readonly chain: ChainSlug;
  readonly trader: Address;
  readonly primaryType: MasterType;
  readonly digest: Hex;
  /** Epoch ms. */
  readonly timestamp: number;
  /** What the message concerns; messages of one trader about one subject must have rising timestamps. */
  readonly subject: string;
  /** The agent whose own signature over the digest is spent along with the trader's. */
  readonly cosigner: Address | null;
  /** Epoch ms after which the timestamp alone rejects the message. */
  readonly expiresAt: number;
}

export type Registration = Omit<Agent, 'version' | 'revokedAt'>;

/** A registration of an agent on one chain, with what decides whether it blocks another trader's registration. */
export interface AgentClaim {
  readonly chain: ChainSlug;
  readonly agent: Agent;
  /** The agent signed an accepted action for this trader. */
  readonly hasSigned: boolean;
}

/** Which registration of another trader may be replaced: any, none, or this version if it is unchanged and unused. */
export type Takeover = 'any' | 'none' | { readonly version: bigint };

export interface ApiKeyRecord {
  readonly chain: ChainSlug;
  /** SHA-256 of the key, lower-case hex; the key itself is never stored. */
  readonly hash: string;
  readonly trader: Address;
  readonly label: string;
  /** Epoch ms; null: never. */
  readonly expiresAt: number | null;
}

/** A key as shown to its trader. */
export interface ApiKeySummary {
  readonly label: string;
  /** Epoch ms. */
  readonly createdAt: number;
  readonly expiresAt: number | null;
}

export interface UnusedAgents {
  /** Epoch ms. */
  readonly before: number;
  readonly modes: readonly AgentMode[];
  readonly limit: number;
}

/** Limits of agents and of keys per trader and chain, because registering costs a signature and no gas. */
export const MAX_AGENTS = 20;
export const MAX_API_KEYS = 20;

/**
 * Agents and API keys. Addresses are in lower case. Methods that take a claim throw NONCE_REUSED and store nothing when the message was
 * used before or is older than an accepted one.
 */
export interface AccessStore {
  findAgent(chain: ChainSlug, agent: Address): Promise<Agent | null>;
  /** Every registration of the agent, on all chains. */
  claimsOn(agent: Address): Promise<readonly AgentClaim[]>;
  /** The agents of a trader, revoked ones included, newest first; beyond a thousand the oldest are left out. */
  listAgents(chain: ChainSlug, trader: Address): Promise<readonly Agent[]>;
  /**
   * Null, with nothing stored, when the agent belongs to another trader that `takeover` does not cover. Throws UNSUPPORTED, with nothing
   * stored, when the trader is at its limit of active agents.
   */
  authoriseAgent(claim: MasterClaim, registration: Registration, takeover: Takeover): Promise<Agent | null>;
  /** Null, with nothing stored, when the agent does not belong to the claim's trader. */
  revokeAgent(claim: MasterClaim, agent: Address, at: number): Promise<Agent | null>;
  /** Registrations before that time that were never used and never seen active, oldest first. */
  unusedAgents(chain: ChainSlug, wanted: UnusedAgents): Promise<readonly Agent[]>;
  /** Removes those registrations that have not changed since. */
  removeUnused(chain: ChainSlug, agents: readonly Pick<Agent, 'agent' | 'version'>[]): Promise<number>;
  /** Marks registrations as seen active, so that they are not checked again. */
  noteActive(chain: ChainSlug, agents: readonly Pick<Agent, 'agent' | 'version'>[], at: number): Promise<void>;
  /** Replaces the trader's key of the same label. Throws UNSUPPORTED, with nothing stored, when the trader is at its limit. */
  saveApiKey(claim: MasterClaim, key: Omit<ApiKeyRecord, 'chain' | 'trader'>, at: number): Promise<void>;
  /** The trader's unexpired keys, newest first. */
  listApiKeys(chain: ChainSlug, trader: Address, now: number): Promise<readonly ApiKeySummary[]>;
  /** False when the trader has no key of that label; the message is spent anyway. */
  deleteApiKey(claim: MasterClaim, label: string, at: number): Promise<boolean>;
  findApiKey(chain: ChainSlug, hash: string): Promise<ApiKeyRecord | null>;
}

/** One authenticated request to be checked against the shared nonce and rate counters. */
export interface AdmissionEntry {
  readonly chain: ChainSlug;
  /** Lower-case address of an agent, or the hash of an API key. */
  readonly credential: string;
  /** Null for API keys. */
  readonly nonce: string | null;
  /** Epoch ms until which the nonce is stored. */
  readonly keepUntil: number;
  readonly isWrite: boolean;
}

export interface AdmissionVerdict {
  /** False: the nonce was already used, and the request was not counted. */
  readonly isFresh: boolean;
  /** Totals of the credential's window over all replicas, including the whole batch. */
  readonly requests: number;
  readonly writes: number;
  /** Version of the agent's row, 0 for an API key; null when there is no such row. */
  readonly version: bigint | null;
}

export interface SubjectCount {
  readonly subject: string;
  readonly requests: number;
}

export interface AdmissionStore {
  /** In one statement: claims nonces, counts requests with a fresh nonce, reads the credentials' versions. A nonce must not appear twice in one call. */
  admit(window: number, entries: readonly AdmissionEntry[]): Promise<readonly AdmissionVerdict[]>;
  /** Frees nonces of requests that a limit refused after the claim; their counts stay. */
  release(entries: readonly AdmissionEntry[]): Promise<void>;
  /** Adds to the counts of a window in one statement and returns the totals over all replicas, in the order given. */
  addCounts(window: number, counts: readonly SubjectCount[]): Promise<readonly number[]>;
  /** Deletes nonces outside every timestamp window, floors below every nonce the clock still accepts, and counts of past windows. */
  prune(now: number): Promise<void>;
}
