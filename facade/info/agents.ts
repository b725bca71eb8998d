import { isTrader, traderBehind } from '../../core/access/trader-behind.js';
import { isInForce, type Agent } from '../../core/domain/agent.js';
import type { Gateway, Venue } from '../../core/gateway.js';
import type { Address } from '../../core/ports.js';
import type { InfoContext } from './info-type.js';

/** The end of the year 9999: an authorisation that does not end has no other way to say so. */
const NEVER = 253_402_300_799_999;

/** Those that may sign for the trader here; agents of the native door may not. */
export async function relayedAgents({ store }: Gateway, { definition, clock }: Venue, trader: Address): Promise<Agent[]> {
  const agents = await store.access.listAgents(definition.slug, trader);
  return agents.filter((agent) => agent.mode === 'relayed' && isInForce(agent, clock.now()));
}

/** Agents with a name; an agent without one is the trader's first and is not listed. */
export async function extraAgents(gateway: Gateway, venue: Venue, trader: Address) {
  const agents = await relayedAgents(gateway, venue, trader);
  return agents
    .filter(({ name }) => name !== '')
    .map(({ agent, name, scope }) => ({ address: agent, name, validUntil: scope.expiresAt ?? NEVER }));
}

/** A wallet that holds or has approved something, or was ever seen trading, is a user; so is one that has agents. */
export async function roleOf({ gateway, venue, accounts }: InfoContext, user: Address) {
  const trader = await traderBehind(gateway, venue, user);
  if (trader !== user) return { role: 'agent', data: { user: trader } };
  if (await isTrader(gateway, venue.definition.slug, user)) return { role: 'user' };
  const { spendableUsd, trades } = await accounts.of(venue, user);
  return { role: spendableUsd > 0n || trades.length > 0 ? 'user' : 'missing' };
}
