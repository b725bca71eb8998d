import type { ChainSlug } from '../../chains/chains.js';
import type { Agent, AgentMode } from '../../domain/agent.js';
import type { Address } from '../../types.js';
import type { TraderFacts } from './exchange.js';
import type { SignedAction } from './relay.js';
import type { Registration } from './access.js';
import type { NonceVerdict } from '../../access/signer-nonces.js';

/** One signed action of the facade to be checked and claimed. */
export interface SignerClaim {
  readonly chain: ChainSlug;
  /** Addresses the signature may belong to, best first. */
  readonly candidates: readonly Address[];
  readonly nonce: bigint;
  /** Epoch ms. */
  readonly now: number;
  readonly count: {
    readonly window: number;
    /** The rate-limit bucket of the signer's trader, shared by all its agents. */
    readonly bucket: string;
    readonly weight: number;
    readonly limit: number;
    /** Orders and changes in the action that count separately, and the trader's limit of them per window. */
    readonly items: number;
    readonly itemLimit: number;
  };
  /** Only for an action that trades. */
  readonly proof?: ActionProof;
}

/** An action whose nonce is already claimed. */
export interface ToKeep extends Pick<SignerClaim, 'chain' | 'candidates' | 'nonce'> {
  readonly proof: ActionProof;
}

/** What was signed, and how the signature was recovered. */
export interface ActionProof {
  /** The body, without unknown keys beside the action. */
  readonly envelope: string;
  /** Epoch ms. */
  readonly receivedAt: number;
  /** How the signature was recovered for each candidate, in their order. */
  readonly readings: readonly Pick<SignedAction, 'actionHash' | 'form' | 'network'>[];
}

export interface SignerVerdict {
  /** The first candidate that is an agent of the facade on this chain, including revoked and expired ones. */
  readonly agent: Agent | null;
  /** The trader's usage in its window, including this action unless its nonce was rejected; null when the agent may not act. */
  readonly used: number | null;
  /** The trader's items in the window, including this action's; 0 where the action has none that count. */
  readonly usedItems: number;
  /** Null when it was not claimed: no agent that may act, or a full window. */
  readonly nonce: NonceVerdict | null;
  /**
   * Set for an action with proof whose nonce was claimed. Null for a trader for whom nothing was ever sent: signing is free, so actions of
   * unknown traders are not stored before their delegation was seen.
   */
  readonly kept: KeptAction | null;
}

/** A stored action with the facts its translation depends on. */
export interface KeptAction {
  readonly action: SignedAction;
  readonly facts: TraderFacts;
  /** The relayer wallet assigned to the trader; null while it has none. */
  readonly wallet: Address | null;
}

/** A known address, on any chain. */
export interface Acquaintance {
  readonly address: Address;
  readonly chain: ChainSlug;
  readonly role: 'agent' | 'trader';
  readonly mode: AgentMode;
  readonly trader: Address;
}

export interface AgentApproval {
  readonly chain: ChainSlug;
  /** The master wallet's own nonce, from the same set as its other actions. */
  readonly nonce: bigint;
  readonly registration: Registration;
  /** The approval as the trader signed it (`approvalProof`), kept with the agent. */
  readonly proof: string;
  /** Nonces of the agent up to this one are invalid for this trader: they are older than the approval. */
  readonly floor: bigint;
  readonly maxNamed: number;
  /** Checked registrations of other traders that do not block this one. */
  readonly passed: readonly { readonly chain: ChainSlug; readonly version: bigint; readonly hasSigned: boolean }[];
}

export interface AgentRemoval {
  readonly chain: ChainSlug;
  readonly trader: Address;
  readonly name: string;
  readonly nonce: bigint;
  /** Epoch ms. */
  readonly at: number;
}

/** Outcomes other than `done` stored nothing and used no nonce. */
export type ApprovalOutcome =
  | { readonly kind: 'done'; readonly agent: Agent }
  | { readonly kind: 'nonce'; readonly verdict: NonceVerdict }
  /** The trader removed this agent before. */
  | { readonly kind: 'used' }
  /** Another trader registered or used the agent since the registrations were checked. */
  | { readonly kind: 'changed' }
  | { readonly kind: 'too-many'; readonly most: number };

/** Agents of the facade and their spent nonces: one set per signer and one floor per trader and agent, across all chains. */
export interface SignerStore {
  /** The first candidate that is an agent of the facade on this chain, including revoked and expired ones. */
  find(chain: ChainSlug, candidates: readonly Address[]): Promise<Agent | null>;
  /** Finds, counts, claims and stores in one statement: of two requests with the same nonce, on any replicas and chains, one gets it. */
  claim(claim: SignerClaim): Promise<SignerVerdict>;
  /** Stores an action that `claim` did not keep; null where none of the candidates is an agent. */
  keep(action: ToKeep): Promise<KeptAction | null>;
  /** When its trader approved the agent of the facade last; null for an address that is none. */
  approvedAt(chain: ChainSlug, agent: Address): Promise<number | null>;
  /** Where these addresses are registered; for error explanations only. */
  acquaintances(addresses: readonly Address[]): Promise<readonly Acquaintance[]>;
  /** Registers an agent; replaces the one of the same name. */
  approve(approval: AgentApproval): Promise<ApprovalOutcome>;
  /** Revokes the agent of that name; none of its nonces up to now can be used for this trader again. */
  remove(removal: AgentRemoval): Promise<NonceVerdict>;
}
