import { isInForce } from '../domain/agent.js';
import type { ChainSlug } from '../chains.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Address } from '../ports.js';

type Books = Pick<Gateway, 'store'>;

/** It has agents of its own, or was seen trading. Nobody else can bring that about. */
export async function isTrader({ store }: Books, chain: ChainSlug, address: Address): Promise<boolean> {
  const [agents, isSeen] = await Promise.all([store.access.listAgents(chain, address), store.facade.history.isKnown(chain, address)]);
  return agents.length > 0 || isSeen;
}

/**
 * Whose account is meant by an address: bots may ask by the one that signs for them. Anybody can name any address as his agent, so whoever
 * is a trader stands for itself all the same: else a stranger could put his account in the place of another's.
 */
export async function traderBehind({ store }: Books, { definition, clock }: Venue, address: Address): Promise<Address> {
  const { slug } = definition;
  const agent = await store.access.findAgent(slug, address);
  if (agent === null || agent.trader === address || !isInForce(agent, clock.now())) return address;
  return (await isTrader({ store }, slug, address)) ? address : agent.trader;
}
