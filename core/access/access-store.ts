import type { ChainSlug } from '../chains.js';
import type { Agent } from '../domain/agent.js';
import type { Address } from '../ports.js';

/** What the database keeps about agents and API keys. Addresses go in and come out in lower case. */
export interface AccessStore {
  findAgent(chain: ChainSlug, agent: Address): Promise<Agent | null>;
  /** Every agent of a trader, revoked ones included, newest first. */
  listAgents(chain: ChainSlug, trader: Address): Promise<readonly Agent[]>;
}
