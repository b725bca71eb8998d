import type { ChainSlug } from '../../chains/chains.js';
import type { Agent, AgentMode } from '../../domain/agent.js';
import type { Address, Hex } from '../../types.js';
import type { MasterType } from '../../access/typed-data.js';

/** A verified master message that is to be spent together with what it brings about: both are stored, or neither. */
export interface MasterClaim {
  readonly chain: ChainSlug;
  readonly trader: Address;
  readonly primaryType: MasterType;
  readonly digest: Hex;
  /** Epoch ms. */
  readonly timestamp: number;
  /** What the message is about; messages of one trader about one subject are accepted in the order of their timestamps alone. */
  readonly subject: string;
  /** The agent whose own signature over the digest is spent along with the trader's. */
  readonly cosigner: Address | null;
  /** Epoch ms; from then on the timestamp alone refuses the message. */
  readonly expiresAt: number;
}

export type Registration = Omit<Agent, 'version' | 'revokedAt'>;

/** A registration of an agent on one chain, with what decides whether it stands in another trader's way. */
export interface AgentClaim {
  readonly chain: ChainSlug;
  readonly agent: Agent;
  /** The agent signed an action that was accepted for this trader. */
  readonly hasSigned: boolean;
}

/** Which registration of another trader may be replaced: any, none, or the one that was checked, if it was neither changed nor used since. */
export type Takeover = 'any' | 'none' | { readonly version: bigint };

export interface ApiKeyRecord {
  readonly chain: ChainSlug;
  /** SHA-256 of the key, lower-case hex; the key itself is kept nowhere. */
  readonly hash: string;
  readonly trader: Address;
  readonly label: string;
  /** Epoch ms; null: it does not expire. */
  readonly expiresAt: number | null;
}

/** A key as its trader may see it. */
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

/** How many agents, and how many keys, one trader may have on one chain: to register costs a signature and no gas. */
export const MAX_AGENTS = 20;
export const MAX_API_KEYS = 20;

/**
 * What the database keeps about agents and API keys. Addresses go in and come out in lower case.
 * Whatever takes a claim throws NONCE_REUSED, and stores nothing, when the message was used before or is older than an accepted one.
 */
export interface AccessStore {
  findAgent(chain: ChainSlug, agent: Address): Promise<Agent | null>;
  /** Every registration of the agent, on all chains. */
  claimsOn(agent: Address): Promise<readonly AgentClaim[]>;
  /** The agents of a trader, revoked ones included, newest first; beyond a thousand the oldest are left out. */
  listAgents(chain: ChainSlug, trader: Address): Promise<readonly Agent[]>;
  /**
   * Null, with nothing stored, when the agent belongs to another trader whom `takeover` does not cover. Throws UNSUPPORTED, with nothing
   * stored, when the trader has as many agents in force as it may.
   */
  authoriseAgent(claim: MasterClaim, registration: Registration, takeover: Takeover): Promise<Agent | null>;
  /** Null, with nothing stored, when the agent is not the claim's trader's. */
  revokeAgent(claim: MasterClaim, agent: Address, at: number): Promise<Agent | null>;
  /** Registrations from before that time that were never used and never seen active, oldest first. */
  unusedAgents(chain: ChainSlug, wanted: UnusedAgents): Promise<readonly Agent[]>;
  /** Removes those registrations that are still as they were found. */
  removeUnused(chain: ChainSlug, agents: readonly Pick<Agent, 'agent' | 'version'>[]): Promise<number>;
  /** Notes that registrations were seen active, so that they are not asked about again. */
  noteActive(chain: ChainSlug, agents: readonly Pick<Agent, 'agent' | 'version'>[], at: number): Promise<void>;
  /** Replaces the trader's key of the same label. Throws UNSUPPORTED, with nothing stored, when the trader has as many as it may. */
  saveApiKey(claim: MasterClaim, key: Omit<ApiKeyRecord, 'chain' | 'trader'>, at: number): Promise<void>;
  /** The trader's keys that are not expired, newest first. */
  listApiKeys(chain: ChainSlug, trader: Address, now: number): Promise<readonly ApiKeySummary[]>;
  /** False when the trader has no key of that label; the message is spent all the same. */
  deleteApiKey(claim: MasterClaim, label: string, at: number): Promise<boolean>;
  findApiKey(chain: ChainSlug, hash: string): Promise<ApiKeyRecord | null>;
}
