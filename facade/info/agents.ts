import { ownsAccount, traderBehind } from '../../core/access/resolve-trader.js';
import { isInForce, type Agent } from '../../core/domain/agent.js';
import type { Gateway, Venue } from '../../core/gateway.js';
import type { Address } from '../../core/types.js';
import type { InfoContext } from './info-type.js';

/** The end of the year 9999: the wire has no other value for an authorisation without expiry. */
const NEVER = 253_402_300_799_999;

/** Agents that may sign for the trader on the facade; agents of the native API may not. */
export async function relayedAgents({ store }: Gateway, { definition, clock }: Venue, trader: Address): Promise<Agent[]> {
  const agents = await store.access.listAgents(definition.slug, trader);
  return agents.filter((agent) => agent.mode === 'relayed' && isInForce(agent, clock.now()));
}

/** Agents with a name; the unnamed agent is the trader's default one and is not listed. */
export async function extraAgents(gateway: Gateway, venue: Venue, trader: Address) {
  const agents = await relayedAgents(gateway, venue, trader);
  return agents
    .filter(({ name }) => name !== '')
    .map(({ agent, name, scope }) => ({ address: agent, name, validUntil: scope.expiresAt ?? NEVER }));
}

/** A wallet with an allowance, a delegate, agents or trades of its own is a user, even if another wallet named it as an agent. */
export async function roleOf({ gateway, venue, accounts }: InfoContext, user: Address) {
  if (await ownsAccount(gateway, venue, user)) return { role: 'user' };
  const { spendableUsd, trades } = await accounts.of(venue, user);
  if (spendableUsd > 0n || trades.length > 0) return { role: 'user' };
  const trader = await traderBehind(gateway, venue, user);
  return trader === user ? { role: 'missing' } : { role: 'agent', data: { user: trader } };
}
