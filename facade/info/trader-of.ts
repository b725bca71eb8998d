import { isExpired } from '../../core/domain/agent.js';
import type { Gateway, Venue } from '../../core/gateway.js';
import type { Address } from '../../core/ports.js';

/** Bots may ask by the address that signs for them; whoever is no agent now stands for itself. */
export const createTraderLookup =
  ({ store }: Pick<Gateway, 'store'>, { definition, clock }: Venue) =>
  async (user: Address): Promise<Address> => {
    const agent = await store.access.findAgent(definition.slug, user);
    const acts = agent !== null && agent.revokedAt === null && !isExpired(agent.scope, clock.now());
    return acts ? agent.trader : user;
  };
