import { createOnce, createSharedReads } from '../caching/shared-reads.js';
import type { ChainSlug } from '../chains/chains.js';
import { isInForce } from '../domain/agent.js';
import { fromNode } from '../ports/chain.js';
import type { Gateway, Venue } from '../gateway.js';
import { activeCollaterals } from '../domain/market.js';
import type { Address } from '../types.js';

type WithStore = Pick<Gateway, 'store'>;

/** The address has its own agents or was seen trading; no other address can cause either. */
export async function isTrader({ store }: WithStore, chain: ChainSlug, address: Address): Promise<boolean> {
  const [agents, isSeen] = await Promise.all([store.access.listAgents(chain, address), store.facade.history.isKnown(chain, address)]);
  return agents.length > 0 || isSeen;
}

/** Cache time of chain reads; like the delegate, these facts change without an event. */
const FACTS_MAX_AGE_MS = 10_000;

const reads = createOnce(({ clock }: Venue) => createSharedReads<Address, boolean>(clock, { maxAgeMs: FACTS_MAX_AGE_MS }));

/** An allowance or a delegate can be set by the address alone; a balance proves nothing, because any other address may have sent it. */
async function readOwnership({ chain, feed }: Venue, address: Address): Promise<boolean> {
  const tokens = activeCollaterals(feed.config()).map((token) => token.address);
  const [delegate, facts] = await fromNode(Promise.all([chain.delegateOf(address), chain.accountFacts(address, tokens)]));
  return delegate !== null || facts.tokens.some((token) => token !== null && token.allowance > 0n);
}

/** Whether the address trades for itself, by store and chain. */
export const ownsAccount = async (gateway: WithStore, venue: Venue, address: Address): Promise<boolean> =>
  (await isTrader(gateway, venue.definition.slug, address)) || readOwnership(venue, address);

/** The cached chain read, at most ten seconds old; false while no node answers, so that the store alone decides. */
const cachedOwnership = (venue: Venue, address: Address): Promise<boolean> =>
  reads(venue)
    .get(address, () => readOwnership(venue, address))
    .catch(() => false);

/**
 * Resolves an address to its trader: bots may use their agent's address. Any trader can register any address as agent, so an address with an
 * allowance, a delegate, agents or trades of its own is its own trader.
 */
export async function traderBehind({ store }: WithStore, venue: Venue, address: Address): Promise<Address> {
  const { definition, clock } = venue;
  const agent = await store.access.findAgent(definition.slug, address);
  if (agent === null || agent.trader === address || !isInForce(agent, clock.now())) return address;
  const isOwn = (await isTrader({ store }, definition.slug, address)) || (await cachedOwnership(venue, address));
  return isOwn ? address : agent.trader;
}
