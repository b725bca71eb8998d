import type { ChainSlug } from '../chains/chains.js';
import { isInForce } from '../domain/agent.js';
import { fromNode } from '../ports/from-node.js';
import type { Gateway, Venue } from '../gateway.js';
import { activeCollaterals } from '../markets/directory.js';
import type { Address } from '../types.js';

type Books = Pick<Gateway, 'store'>;

/** It has agents of its own, or was seen trading. Nobody else can bring that about. */
export async function isTrader({ store }: Books, chain: ChainSlug, address: Address): Promise<boolean> {
  const [agents, isSeen] = await Promise.all([store.access.listAgents(chain, address), store.facade.history.isKnown(chain, address)]);
  return agents.length > 0 || isSeen;
}

/** How long what the chain says of an address is used again; like the delegate it changes without an event. */
const FACTS_MAX_AGE_MS = 10_000;
const MAX_REMEMBERED = 10_000;

interface Read {
  readonly askedAt: number;
  readonly answer: Promise<boolean>;
}

const reads = new WeakMap<Venue, Map<Address, Read>>();

/** An allowance or a delegate can be set by the address alone; a balance proves nothing, because any other address may have sent it. */
async function readOwnership({ chain, feed }: Venue, address: Address): Promise<boolean> {
  const tokens = activeCollaterals(feed.config()).map((token) => token.address);
  const [delegate, facts] = await fromNode(Promise.all([chain.delegateOf(address), chain.accountFacts(address, tokens)]));
  return delegate !== null || facts.tokens.some((token) => token !== null && token.allowance > 0n);
}

/** Whether the address trades for itself, by what the books and the chain say now. */
export const ownsAccount = async (books: Books, venue: Venue, address: Address): Promise<boolean> =>
  (await isTrader(books, venue.definition.slug, address)) || readOwnership(venue, address);

/** The chain's part of it, at most ten seconds old; false while no node answers, because then the books alone decide. */
function rememberedOwnership(venue: Venue, address: Address): Promise<boolean> {
  const remembered = reads.get(venue) ?? new Map<Address, Read>();
  reads.set(venue, remembered);
  const known = remembered.get(address);
  if (known !== undefined && Math.abs(venue.clock.now() - known.askedAt) < FACTS_MAX_AGE_MS) return known.answer;
  const answer = readOwnership(venue, address).catch(() => {
    remembered.delete(address);
    return false;
  });
  remembered.delete(address);
  remembered.set(address, { askedAt: venue.clock.now(), answer });
  const [oldest] = remembered.keys();
  if (remembered.size > MAX_REMEMBERED && oldest !== undefined) remembered.delete(oldest);
  return answer;
}

/**
 * Whose account is meant by an address: bots may ask by the one that signs for them. Any address can be named as an agent by a stranger,
 * so an address with an allowance, a delegate, agents or trades of its own stands for itself.
 */
export async function traderBehind({ store }: Books, venue: Venue, address: Address): Promise<Address> {
  const { definition, clock } = venue;
  const agent = await store.access.findAgent(definition.slug, address);
  if (agent === null || agent.trader === address || !isInForce(agent, clock.now())) return address;
  const isOwn = (await isTrader({ store }, definition.slug, address)) || (await rememberedOwnership(venue, address));
  return isOwn ? address : agent.trader;
}
