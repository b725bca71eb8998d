import type { ChainSlug } from '../../chains/chains.js';
import type { Agent, AgentMode } from '../../domain/agent.js';
import type { Address } from '../../types.js';
import type { TraderFacts } from './exchange.js';
import type { SignedAction } from './relay.js';
import type { Registration } from './access.js';
import type { NonceVerdict } from '../../access/signer-nonces.js';

/** One action of the facade before the books. */
export interface SignerClaim {
  readonly chain: ChainSlug;
  /** Whom the signature may belong to, best first. */
  readonly candidates: readonly Address[];
  readonly nonce: bigint;
  /** Epoch ms. */
  readonly now: number;
  readonly count: {
    readonly window: number;
    /** Of what the requests of the signer's trader are counted under, whichever of its agents signed. */
    readonly bucket: string;
    readonly weight: number;
    readonly limit: number;
    /** Orders and changes in the action that count by themselves, and how many of them the trader may send in the window. */
    readonly items: number;
    readonly itemLimit: number;
  };
  /** Of an action that trades. */
  readonly proof?: ActionProof;
}

/** An action whose nonce is its own already. */
export interface ToKeep extends Pick<SignerClaim, 'chain' | 'candidates' | 'nonce'> {
  readonly proof: ActionProof;
}

/** What was signed, and how it was found out. */
export interface ActionProof {
  /** The body, without the keys beside the action that have no meaning. */
  readonly envelope: string;
  /** Epoch ms. */
  readonly receivedAt: number;
  /** How the signature was read to be each candidate's, in their order. */
  readonly readings: readonly Pick<SignedAction, 'actionHash' | 'form' | 'network'>[];
}

export interface SignerVerdict {
  /** The first candidate that is an agent of the facade on this chain, as the books have it now, revoked or expired ones included. */
  readonly agent: Agent | null;
  /** What the trader used in its window, this action included unless its nonce was not to be had; null when the agent may not act. */
  readonly used: number | null;
  /** Items of the trader in the window, those of this action included; 0 where the action has none that count. */
  readonly usedItems: number;
  /** Null when it was not claimed: no agent that may act, or a window that is full. */
  readonly nonce: NonceVerdict | null;
  /**
   * Of an action that came with its proof, once the nonce is its own. Null for a trader for whom nothing was ever sent: to sign costs
   * nothing, so what strangers sign is not kept before they are known to have delegated.
   */
  readonly kept: KeptAction | null;
}

/** An action with its proof, and what its translation stands on. */
export interface KeptAction {
  readonly action: SignedAction;
  readonly facts: TraderFacts;
  /** Of the relayer's wallets the one that the trader was given; null while it has none. */
  readonly wallet: Address | null;
}

/** An address as somebody met it before, on whichever chain. */
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
  /** What the agent signs for this trader is dead up to this nonce: it is older than the approval. */
  readonly floor: bigint;
  readonly maxNamed: number;
  /** Registrations of other traders that do not stand in the way, as they were checked. */
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

/** Whatever is not `done` stored nothing, and used no nonce. */
export type ApprovalOutcome =
  | { readonly kind: 'done'; readonly agent: Agent }
  | { readonly kind: 'nonce'; readonly verdict: NonceVerdict }
  /** The trader removed it before. */
  | { readonly kind: 'used' }
  /** Another trader registered or used the agent since the registrations were checked. */
  | { readonly kind: 'changed' }
  | { readonly kind: 'too-many'; readonly most: number };

/** The books of the facade: who may sign, and which nonces are spent: one set per signer and one floor per trader and agent, whatever the chain. */
export interface SignerStore {
  /** The first candidate that is an agent of the facade on this chain, revoked and expired ones included. */
  find(chain: ChainSlug, candidates: readonly Address[]): Promise<Agent | null>;
  /** Finds, counts, claims and keeps in one statement: of two that carry the same nonce, to whichever replicas and chains, one gets it. */
  claim(claim: SignerClaim): Promise<SignerVerdict>;
  /** What `claim` did not keep; null where none of the candidates is an agent. */
  keep(action: ToKeep): Promise<KeptAction | null>;
  /** Where these addresses are known from; for explanations only. */
  acquaintances(addresses: readonly Address[]): Promise<readonly Acquaintance[]>;
  /** Registers an agent in place of the one of the same name, if there is one. */
  approve(approval: AgentApproval): Promise<ApprovalOutcome>;
  /** Revokes the agent of that name; none of its nonces up to now can be used for this trader again. */
  remove(removal: AgentRemoval): Promise<NonceVerdict>;
}
