import type { Venue } from '../../core/gateway.js';
import { operatorRoute } from './operator-route.js';

/** How the relayer is doing, chain by chain and wallet by wallet. */
export const STATUS_ROUTES = [
  operatorRoute({
    method: 'GET',
    path: '/status',
    handle: async ({ gateway }) => ({
      at: gateway.clock.now(),
      version: gateway.version,
      chains: await Promise.all([...gateway.venues.values()].map(describeChain)),
    }),
  }),
];

async function describeChain({ definition, relayer, chain }: Venue): Promise<object> {
  const wallets = relayer?.wallets() ?? [];
  return {
    chain: definition.slug,
    wallets: await Promise.all(
      wallets.map(async (address) => ({
        address,
        balance: await chain.nativeBalance(address).catch(() => null),
        trouble: relayer?.trouble(address) ?? null,
      })),
    ),
  };
}
